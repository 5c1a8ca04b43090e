"""Guarantees by the names that a policy and a manifest call them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError, PolicyError
from halfmask.guarantees._alpha_k_anonymity import AlphaKAnonymity
from halfmask.guarantees._beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
from halfmask.guarantees._delta_disclosure_privacy import DeltaDisclosurePrivacy
from halfmask.guarantees._delta_presence import DeltaPresence
from halfmask.guarantees._distinct_l_diversity import DistinctLDiversity
from halfmask.guarantees._entropy_l_diversity import EntropyLDiversity
from halfmask.guarantees._k_anonymity import KAnonymity
from halfmask.guarantees._k_map import EstimatedKMap, KMap
from halfmask.guarantees._lkc_privacy import LKCPrivacy
from halfmask.guarantees._population_risks import (
    AverageJournalistRisk,
    JournalistRecordsAtRisk,
    LargestJournalistRisk,
    MarketerThreshold,
)
from halfmask.guarantees._population_uniques import PopulationUniques
from halfmask.guarantees._profitability import (
    ProfitabilityJournalist,
    ProfitabilityJournalistNoAttack,
    ProfitabilityProsecutor,
    ProfitabilityProsecutorNoAttack,
)
from halfmask.guarantees._prosecutor_risks import (
    AverageRisk,
    LargestRisk,
    RecordsAtRisk,
    SampleUniques,
)
from halfmask.guarantees._recursive_cl_diversity import RecursiveCLDiversity
from halfmask.guarantees._subset_k_anonymity import SubsetKAnonymity
from halfmask.guarantees._t_closeness import TCloseness

if TYPE_CHECKING:
    from halfmask.guarantees._guarantee import Guarantee

_MODELS: tuple[type[Guarantee], ...] = (
    KAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveCLDiversity,
    TCloseness,
    AlphaKAnonymity,
    DeltaDisclosurePrivacy,
    BasicBetaLikeness,
    EnhancedBetaLikeness,
    LargestRisk,
    AverageRisk,
    SampleUniques,
    RecordsAtRisk,
    PopulationUniques,
    KMap,
    ProfitabilityProsecutor,
    ProfitabilityProsecutorNoAttack,
    EstimatedKMap,
    DeltaPresence,
    LargestJournalistRisk,
    AverageJournalistRisk,
    JournalistRecordsAtRisk,
    MarketerThreshold,
    ProfitabilityJournalist,
    ProfitabilityJournalistNoAttack,
    SubsetKAnonymity,
    LKCPrivacy,
)

_known: dict[str, type[Guarantee]] = {model.model: model for model in _MODELS}

GUARANTEES: Mapping[str, type[Guarantee]] = MappingProxyType(_known)
"""Every guarantee by the name of its model."""


def register_guarantee(model: type[Guarantee]) -> type[Guarantee]:
    """Register a privacy model under its name, so that a policy can use it.

    To verify releases with this model, also register a check: see
    ``halfmask.verifier.tables.register_check``.

    Parameters
    ----------
    model
        The class. You can use this function as its decorator.

    Raises
    ------
    ParameterError
        When another class has the name, or the class lacks a required attribute.
    """
    unsaid = [name for name in ("model", "sentence", "bounded") if not hasattr(model, name)]
    if unsaid:
        raise ParameterError(f"The guarantee {model.__name__} doesn't say its {_listed(unsaid)}.")
    if _known.setdefault(model.model, model) is not model:
        raise ParameterError(f"There is a guarantee {model.model!r} already.")
    return model


def guarantee_from(model: str, parameters: Mapping[str, object]) -> Guarantee:
    """Build a guarantee from its name and parameters in a policy.

    Parameters
    ----------
    model
        The name of the model, such as ``"k-anonymity"``; see :data:`GUARANTEES`.
    parameters
        Its parameters, including the column: ``{"l": 3, "column": "occupation"}``.

    Raises
    ------
    PolicyError
        When the model is unknown, or a parameter is missing or unknown.
    ParameterError
        When a parameter is out of range.

    Examples
    --------
    >>> guarantee_from("distinct-l-diversity", {"l": 3, "column": "occupation"})
    DistinctLDiversity(l=3, column='occupation')
    >>> guarantee_from("k-anonimity", {"k": 10})
    Traceback (most recent call last):
    ...
    halfmask._errors.PolicyError: There is no guarantee 'k-anonimity'.
    <BLANKLINE>
    Hint: Did you mean 'k-anonymity'?
    """
    if model not in GUARANTEES:
        raise PolicyError(f"There is no guarantee {model!r}.", hint=_nearest([model], GUARANTEES))
    kind = GUARANTEES[model]
    known = [entry for entry in fields(kind) if entry.init]
    names = [entry.name for entry in known]
    unknown = [name for name in parameters if name not in names]
    if unknown:
        raise PolicyError(
            f"The guarantee {model!r} has no parameter {_listed(unknown)}.",
            hint=_nearest(unknown, names),
        )
    missing = [
        entry.name for entry in known if entry.default is MISSING and entry.name not in parameters
    ]
    if missing:
        raise PolicyError(
            f"The guarantee {model!r} lacks {_listed(missing)}.",
            hint=f"It takes {_listed(names)}.",
        )
    return kind(**parameters)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _nearest(wrong: Iterable[str], known: Iterable[str]) -> str:
    choices = list(known)
    near = [close for name in wrong for close in difflib.get_close_matches(name, choices, n=1)]
    return f"Did you mean {_listed(near)}?" if near else f"There are {_listed(choices)}."
