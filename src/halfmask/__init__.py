"""halfmask: let others learn from data that they must not see.

Start with :func:`describe`, which proposes a policy; :func:`protect`, which makes a release by it;
and :func:`verify`, which counts again what the release claims. :class:`Anonymizer` is the same
protection as a scikit-learn estimator, :class:`AnonymizedEstimator` trains a model on anonymized
people, and :func:`attack` tells what an intruder still learns.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask._errors import (
        BudgetError,
        ColumnNotFoundError,
        ColumnWarning,
        DataError,
        DivergenceError,
        EngineError,
        GuaranteeNotMetError,
        HalfmaskError,
        HierarchyError,
        IntegrityError,
        KeyMismatchError,
        NoiseWarning,
        ParameterError,
        PolicyError,
        ReleaseError,
        SchemaError,
        TrainerError,
        VaultError,
        VerificationError,
    )
    from halfmask.anonymize import (
        Anonymizer,
        Centroid,
        FullDomain,
        Guided,
        Level,
        Mdav,
        Mondrian,
        Ranges,
        Representative,
    )
    from halfmask.assess.attacks import (
        AttackReport,
        CrosstabTarget,
        EncodingTarget,
        ModelTarget,
        PlacesTarget,
        TableTarget,
        attack,
    )
    from halfmask.book import ReleaseBook
    from halfmask.crosstabs import crosstab
    from halfmask.data import Hierarchy, Schema, read_hierarchy
    from halfmask.description import describe
    from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit
    from halfmask.dp.queries import PrivateTable, query_sql
    from halfmask.encode import Codec
    from halfmask.guarantees import (
        AlphaKAnonymity,
        AverageJournalistRisk,
        AverageRisk,
        BasicBetaLikeness,
        DeltaDisclosurePrivacy,
        DeltaPresence,
        DistinctLDiversity,
        EnhancedBetaLikeness,
        EntropyLDiversity,
        EstimatedKMap,
        JournalistRecordsAtRisk,
        KAnonymity,
        KMap,
        LargestJournalistRisk,
        LargestRisk,
        MarketerThreshold,
        PopulationUniques,
        ProfitabilityJournalist,
        ProfitabilityJournalistNoAttack,
        ProfitabilityProsecutor,
        ProfitabilityProsecutorNoAttack,
        RecordsAtRisk,
        RecursiveCLDiversity,
        SampleUniques,
        TCloseness,
        measure,
    )
    from halfmask.hashing import KeyedHasher
    from halfmask.microdata import (
        Exploration,
        Policy,
        Release,
        explore,
        mask,
        protect,
        protect_to,
        synthesize,
    )
    from halfmask.minimize import Minimizer
    from halfmask.release import export_release, read_release
    from halfmask.synth import Synthesizer
    from halfmask.training import AnonymizedEstimator, accuracy_by_k
    from halfmask.vault import KeyFile, Keyring, Passphrase, Secret, Vault
    from halfmask.verifier import verify

__version__ = "0.2.0"

_ROOMS = {
    "AlphaKAnonymity": "guarantees",
    "AnonymizedEstimator": "training",
    "Anonymizer": "anonymize",
    "AverageRisk": "guarantees",
    "AttackReport": "assess.attacks",
    "BasicBetaLikeness": "guarantees",
    "BudgetError": "_errors",
    "Centroid": "anonymize",
    "Codec": "encode",
    "ColumnNotFoundError": "_errors",
    "ColumnWarning": "_errors",
    "CrosstabTarget": "assess.attacks",
    "DataError": "_errors",
    "DeltaDisclosurePrivacy": "guarantees",
    "DistinctLDiversity": "guarantees",
    "DivergenceError": "_errors",
    "EngineError": "_errors",
    "EncodingTarget": "assess.attacks",
    "EnhancedBetaLikeness": "guarantees",
    "EntropyLDiversity": "guarantees",
    "Exploration": "microdata",
    "GuaranteeNotMetError": "_errors",
    "FullDomain": "anonymize",
    "Guided": "anonymize",
    "HalfmaskError": "_errors",
    "Hierarchy": "data",
    "HierarchyError": "_errors",
    "IntegrityError": "_errors",
    "KAnonymity": "guarantees",
    "KeyFile": "vault",
    "KeyMismatchError": "_errors",
    "KeyedHasher": "hashing",
    "Keyring": "vault",
    "KMap": "guarantees",
    "MarketerThreshold": "guarantees",
    "JournalistRecordsAtRisk": "guarantees",
    "AverageJournalistRisk": "guarantees",
    "LargestJournalistRisk": "guarantees",
    "DeltaPresence": "guarantees",
    "EstimatedKMap": "guarantees",
    "LargestRisk": "guarantees",
    "Level": "anonymize",
    "Mdav": "anonymize",
    "Minimizer": "minimize",
    "ModelTarget": "assess.attacks",
    "Mondrian": "anonymize",
    "NoiseWarning": "_errors",
    "ParameterError": "_errors",
    "Passphrase": "vault",
    "PlacesTarget": "assess.attacks",
    "Policy": "microdata",
    "PolicyError": "_errors",
    "Ranges": "anonymize",
    "PopulationUniques": "guarantees",
    "PrivacyLedger": "dp.ledger",
    "PrivacyUnit": "dp.ledger",
    "PrivateTable": "dp.queries",
    "ProfitabilityJournalist": "guarantees",
    "ProfitabilityJournalistNoAttack": "guarantees",
    "ProfitabilityProsecutor": "guarantees",
    "ProfitabilityProsecutorNoAttack": "guarantees",
    "RecordsAtRisk": "guarantees",
    "RecursiveCLDiversity": "guarantees",
    "SampleUniques": "guarantees",
    "Release": "microdata",
    "ReleaseBook": "book",
    "ReleaseError": "_errors",
    "Representative": "anonymize",
    "Schema": "data",
    "SchemaError": "_errors",
    "Secret": "vault",
    "Synthesizer": "synth",
    "TCloseness": "guarantees",
    "TableTarget": "assess.attacks",
    "TrainerError": "_errors",
    "Vault": "vault",
    "VaultError": "_errors",
    "VerificationError": "_errors",
    "accuracy_by_k": "training",
    "attack": "assess.attacks",
    "crosstab": "crosstabs",
    "describe": "description",
    "explore": "microdata",
    "export_release": "release",
    "mask": "microdata",
    "measure": "guarantees",
    "protect": "microdata",
    "protect_to": "microdata",
    "query_sql": "dp.queries",
    "read_hierarchy": "data",
    "read_release": "release",
    "synthesize": "microdata",
    "verify": "verifier",
}

__all__ = [
    "AlphaKAnonymity",
    "AnonymizedEstimator",
    "Anonymizer",
    "AttackReport",
    "AverageJournalistRisk",
    "AverageRisk",
    "BasicBetaLikeness",
    "BudgetError",
    "Centroid",
    "Codec",
    "ColumnNotFoundError",
    "ColumnWarning",
    "CrosstabTarget",
    "DataError",
    "DeltaDisclosurePrivacy",
    "DeltaPresence",
    "DistinctLDiversity",
    "DivergenceError",
    "EncodingTarget",
    "EngineError",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "EstimatedKMap",
    "Exploration",
    "FullDomain",
    "GuaranteeNotMetError",
    "Guided",
    "HalfmaskError",
    "Hierarchy",
    "HierarchyError",
    "IntegrityError",
    "JournalistRecordsAtRisk",
    "KAnonymity",
    "KMap",
    "KeyFile",
    "KeyMismatchError",
    "KeyedHasher",
    "Keyring",
    "LargestJournalistRisk",
    "LargestRisk",
    "Level",
    "MarketerThreshold",
    "Mdav",
    "Minimizer",
    "ModelTarget",
    "Mondrian",
    "NoiseWarning",
    "ParameterError",
    "Passphrase",
    "PlacesTarget",
    "Policy",
    "PolicyError",
    "PopulationUniques",
    "PrivacyLedger",
    "PrivacyUnit",
    "PrivateTable",
    "ProfitabilityJournalist",
    "ProfitabilityJournalistNoAttack",
    "ProfitabilityProsecutor",
    "ProfitabilityProsecutorNoAttack",
    "Ranges",
    "RecordsAtRisk",
    "RecursiveCLDiversity",
    "Release",
    "ReleaseBook",
    "ReleaseError",
    "Representative",
    "SampleUniques",
    "Schema",
    "SchemaError",
    "Secret",
    "Synthesizer",
    "TCloseness",
    "TableTarget",
    "TrainerError",
    "Vault",
    "VaultError",
    "VerificationError",
    "__version__",
    "accuracy_by_k",
    "attack",
    "crosstab",
    "describe",
    "explore",
    "export_release",
    "mask",
    "measure",
    "protect",
    "protect_to",
    "query_sql",
    "read_hierarchy",
    "read_release",
    "synthesize",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import a public name from its room when it is first asked for: `--help` must not pay."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'halfmask' has no attribute {name!r}")
    try:
        found = getattr(importlib.import_module(f"halfmask.{_ROOMS[name]}"), name)
        return globals().setdefault(name, found)  # the next time it is there
    except ModuleNotFoundError as error:
        from halfmask._foreign import missing  # noqa: PLC0415 # only where an import fails

        raise missing(error) or error from None


def __dir__() -> list[str]:
    return sorted(__all__)
