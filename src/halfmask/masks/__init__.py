"""Masks: one column, one technique, in front of everything.

Start with :func:`mask_table`: it returns the table as it will be released, so that classes, claims,
risk and the verifier all see what is written. A mask (:class:`Rounding`, :class:`TailCoding`,
:class:`KeyedTokens`, :class:`RandomNoise`, :class:`Pram`) is a value of a policy; fitted to a
column it becomes a :class:`MaskPlan`. Random draws are keyed by column and row number: each pass
over the table sees the same. A :class:`TableMask` changes several columns together, a
:class:`RowMask` drops rows. :class:`Masker` is the same as a scikit-learn estimator.

Pseudonyms (:class:`KeyedTokens`, :class:`ReversibleTokens`, :class:`FormatPreserving`,
:class:`Substitutes`, :class:`ShiftedDates`) have a
domain and a scope, so that tables join; :func:`reverse_masks` turns reversible ones back. So have
masks of points (:class:`Donut`, :class:`PlanarLaplace`): a home has one masked place.

A new technique is one file next to ``_round.py`` and one line in ``_registry.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.masks._correlated_noise import CorrelatedNoise
from halfmask.masks._data_shuffling import DataShuffling
from halfmask.masks._dates import CoarsenedDates
from halfmask.masks._ff1 import Ff1
from halfmask.masks._format_preserving import FormatPreserving
from halfmask.masks._km_anonymity import KmAnonymity
from halfmask.masks._local_suppression import LocalSuppression
from halfmask.masks._mask import ClaimingMask, Mask, MaskPlan, MaskTraits, ReadColumns
from halfmask.masks._mask import map_names as map_names
from halfmask.masks._mask import traits_of as traits_of
from halfmask.masks._masked import MaskedReader as MaskedReader
from halfmask.masks._masked_table import AnyTableMask, mask_table
from halfmask.masks._masked_table import MaskedTable as MaskedTable
from halfmask.masks._masked_table import check_claimed_once as check_claimed_once
from halfmask.masks._microaggregation import Microaggregation
from halfmask.masks._noise import RandomNoise
from halfmask.masks._ordinal_tails import OrdinalTailCoding
from halfmask.masks._pram import Pram, StratifiedPram
from halfmask.masks._random_rounding import RandomRounding
from halfmask.masks._rank_swapping import RankSwapping
from halfmask.masks._record_swapping import TargetedRecordSwapping
from halfmask.masks._redaction import Redaction
from halfmask.masks._registry import MASKS, TABLE_MASKS
from halfmask.masks._reversal import is_reversible, reverse_masks
from halfmask.masks._reversible_tokens import ReversibleTokens
from halfmask.masks._round import Rounding
from halfmask.masks._row_draws import Law, fractions, noise, row_fractions
from halfmask.masks._sampling import SimpleSampling, StratifiedSampling
from halfmask.masks._shifted_dates import ShiftedDates
from halfmask.masks._substitutes import Substitutes
from halfmask.masks._table_mask import (
    HeldColumns,
    RowMask,
    RowMaskPlan,
    TableMask,
    TableMaskPlan,
)
from halfmask.masks._tails import TailCoding
from halfmask.masks._token import KeyedTokens
from halfmask.masks._value_counts import ValueCounts
from halfmask.masks.geo import (
    AffinePoints,
    Donut,
    GaussianPoints,
    GridCentres,
    LocationSwap,
    PlanarLaplace,
    StreetNodes,
    TrimmedEnds,
    VoronoiEdges,
)
from halfmask.masks.pseudonym import Pseudonym, pseudonym_key
from halfmask.masks.text import TextRedaction

if TYPE_CHECKING:
    from halfmask.masks._masker import Masker

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "MASKS",
    "TABLE_MASKS",
    "AffinePoints",
    "AnyTableMask",
    "ClaimingMask",
    "CoarsenedDates",
    "CorrelatedNoise",
    "DataShuffling",
    "Donut",
    "Ff1",
    "FormatPreserving",
    "GaussianPoints",
    "GridCentres",
    "HeldColumns",
    "KeyedTokens",
    "KmAnonymity",
    "Law",
    "LocalSuppression",
    "LocationSwap",
    "Mask",
    "MaskPlan",
    "MaskTraits",
    "Masker",
    "Microaggregation",
    "OrdinalTailCoding",
    "PlanarLaplace",
    "Pram",
    "Pseudonym",
    "RandomNoise",
    "RandomRounding",
    "RankSwapping",
    "ReadColumns",
    "Redaction",
    "ReversibleTokens",
    "Rounding",
    "RowMask",
    "RowMaskPlan",
    "ShiftedDates",
    "SimpleSampling",
    "StratifiedPram",
    "StratifiedSampling",
    "StreetNodes",
    "Substitutes",
    "TableMask",
    "TableMaskPlan",
    "TailCoding",
    "TargetedRecordSwapping",
    "TextRedaction",
    "TrimmedEnds",
    "ValueCounts",
    "VoronoiEdges",
    "fractions",
    "is_reversible",
    "mask_table",
    "noise",
    "pseudonym_key",
    "reverse_masks",
    "row_fractions",
]


def __getattr__(name: str) -> object:
    """Import the estimator when it is first asked for: a policy has no use for scikit-learn."""
    if name != "Masker":
        raise AttributeError(f"module 'halfmask.masks' has no attribute {name!r}")
    from halfmask.masks._masker import Masker  # noqa: PLC0415 # as it says

    return Masker


def __dir__() -> list[str]:
    return sorted(__all__)
