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
        ColumnNotFoundError,
        ColumnWarning,
        DataError,
        DivergenceError,
        GuaranteeNotMetError,
        HalfmaskError,
        HierarchyError,
        IntegrityError,
        KeyMismatchError,
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
        Hilbert,
        Level,
        Mdav,
        Mondrian,
        Ranges,
        Representative,
        RPlusTree,
    )
    from halfmask.assess.attacks import (
        AttackReport,
        EncodingTarget,
        ModelTarget,
        TableTarget,
        attack,
    )
    from halfmask.data import Hierarchy, Schema, describe, read_hierarchy
    from halfmask.encode import Codec
    from halfmask.guarantees import (
        AlphaKAnonymity,
        AverageRisk,
        BasicBetaLikeness,
        DeltaDisclosurePrivacy,
        DistinctLDiversity,
        EnhancedBetaLikeness,
        EntropyLDiversity,
        KAnonymity,
        KMap,
        LargestRisk,
        PopulationUniques,
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
        MaskedRelease,
        Policy,
        Release,
        SyntheticRelease,
        explore,
        mask,
        protect,
        protect_to,
        synthesize,
    )
    from halfmask.minimize import Minimizer
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
    "Centroid": "anonymize",
    "Codec": "encode",
    "ColumnNotFoundError": "_errors",
    "ColumnWarning": "_errors",
    "DataError": "_errors",
    "DeltaDisclosurePrivacy": "guarantees",
    "DistinctLDiversity": "guarantees",
    "DivergenceError": "_errors",
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
    "Hilbert": "anonymize",
    "IntegrityError": "_errors",
    "KAnonymity": "guarantees",
    "KeyFile": "vault",
    "KeyMismatchError": "_errors",
    "KeyedHasher": "hashing",
    "Keyring": "vault",
    "KMap": "guarantees",
    "LargestRisk": "guarantees",
    "Level": "anonymize",
    "MaskedRelease": "microdata",
    "Mdav": "anonymize",
    "Minimizer": "minimize",
    "ModelTarget": "assess.attacks",
    "Mondrian": "anonymize",
    "ParameterError": "_errors",
    "Passphrase": "vault",
    "Policy": "microdata",
    "PolicyError": "_errors",
    "RPlusTree": "anonymize",
    "Ranges": "anonymize",
    "PopulationUniques": "guarantees",
    "ProfitabilityProsecutor": "guarantees",
    "ProfitabilityProsecutorNoAttack": "guarantees",
    "RecordsAtRisk": "guarantees",
    "RecursiveCLDiversity": "guarantees",
    "SampleUniques": "guarantees",
    "Release": "microdata",
    "ReleaseError": "_errors",
    "Representative": "anonymize",
    "Schema": "data",
    "SchemaError": "_errors",
    "Secret": "vault",
    "SyntheticRelease": "microdata",
    "Synthesizer": "synth",
    "TCloseness": "guarantees",
    "TableTarget": "assess.attacks",
    "TrainerError": "_errors",
    "Vault": "vault",
    "VaultError": "_errors",
    "VerificationError": "_errors",
    "accuracy_by_k": "training",
    "attack": "assess.attacks",
    "describe": "data",
    "explore": "microdata",
    "mask": "microdata",
    "measure": "guarantees",
    "protect": "microdata",
    "protect_to": "microdata",
    "read_hierarchy": "data",
    "synthesize": "microdata",
    "verify": "verifier",
}

__all__ = [
    "AlphaKAnonymity",
    "AnonymizedEstimator",
    "Anonymizer",
    "AttackReport",
    "AverageRisk",
    "BasicBetaLikeness",
    "Centroid",
    "Codec",
    "ColumnNotFoundError",
    "ColumnWarning",
    "DataError",
    "DeltaDisclosurePrivacy",
    "DistinctLDiversity",
    "DivergenceError",
    "EncodingTarget",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "Exploration",
    "FullDomain",
    "GuaranteeNotMetError",
    "Guided",
    "HalfmaskError",
    "Hierarchy",
    "HierarchyError",
    "Hilbert",
    "IntegrityError",
    "KAnonymity",
    "KMap",
    "KeyFile",
    "KeyMismatchError",
    "KeyedHasher",
    "Keyring",
    "LargestRisk",
    "Level",
    "MaskedRelease",
    "Mdav",
    "Minimizer",
    "ModelTarget",
    "Mondrian",
    "ParameterError",
    "Passphrase",
    "Policy",
    "PolicyError",
    "PopulationUniques",
    "ProfitabilityProsecutor",
    "ProfitabilityProsecutorNoAttack",
    "RPlusTree",
    "Ranges",
    "RecordsAtRisk",
    "RecursiveCLDiversity",
    "Release",
    "ReleaseError",
    "Representative",
    "SampleUniques",
    "Schema",
    "SchemaError",
    "Secret",
    "Synthesizer",
    "SyntheticRelease",
    "TCloseness",
    "TableTarget",
    "TrainerError",
    "Vault",
    "VaultError",
    "VerificationError",
    "__version__",
    "accuracy_by_k",
    "attack",
    "describe",
    "explore",
    "mask",
    "measure",
    "protect",
    "protect_to",
    "read_hierarchy",
    "synthesize",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import a public name from its room when it is first asked for: `--help` must not pay."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'halfmask' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"halfmask.{_ROOMS[name]}"), name)
    except ModuleNotFoundError as error:
        from halfmask._optional import missing  # noqa: PLC0415 # only where an import fails

        raise missing(error) or error from None


def __dir__() -> list[str]:
    return sorted(__all__)
