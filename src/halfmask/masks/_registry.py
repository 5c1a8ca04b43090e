"""The masks by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from halfmask.masks import geo
from halfmask.masks._correlated_noise import CorrelatedNoise
from halfmask.masks._data_shuffling import DataShuffling
from halfmask.masks._dates import CoarsenedDates
from halfmask.masks._format_preserving import FormatPreserving
from halfmask.masks._km_anonymity import KmAnonymity
from halfmask.masks._local_suppression import LocalSuppression
from halfmask.masks._microaggregation import Microaggregation
from halfmask.masks._noise import RandomNoise
from halfmask.masks._ordinal_tails import OrdinalTailCoding
from halfmask.masks._pram import Pram, StratifiedPram
from halfmask.masks._random_rounding import RandomRounding
from halfmask.masks._rank_swapping import RankSwapping
from halfmask.masks._record_swapping import TargetedRecordSwapping
from halfmask.masks._redaction import Redaction
from halfmask.masks._reversible_tokens import ReversibleTokens
from halfmask.masks._round import Rounding
from halfmask.masks._sampling import SimpleSampling, StratifiedSampling
from halfmask.masks._shifted_dates import ShiftedDates
from halfmask.masks._substitutes import Substitutes
from halfmask.masks._tails import TailCoding
from halfmask.masks._token import KeyedTokens
from halfmask.masks.text.redaction import TextRedaction

if TYPE_CHECKING:
    from halfmask.masks._mask import Mask
    from halfmask.masks._masked_table import AnyTableMask

#: Each mask of one column by its name; a new one is a file next to ``_round.py`` and a line here.
MASKS: Final[dict[str, type[Mask]]] = {
    RandomNoise.name: RandomNoise,
    Pram.name: Pram,
    Rounding.name: Rounding,
    TailCoding.name: TailCoding,
    KeyedTokens.name: KeyedTokens,
    RandomRounding.name: RandomRounding,
    OrdinalTailCoding.name: OrdinalTailCoding,
    CoarsenedDates.name: CoarsenedDates,
    Redaction.name: Redaction,
    ReversibleTokens.name: ReversibleTokens,
    FormatPreserving.name: FormatPreserving,
    Substitutes.name: Substitutes,
}

#: Masks of several columns and masks of rows, by name: ``[[masks]]`` of a policy.
TABLE_MASKS: Final[dict[str, type[AnyTableMask]]] = {
    Microaggregation.name: Microaggregation,
    RankSwapping.name: RankSwapping,
    ShiftedDates.name: ShiftedDates,
    StratifiedPram.name: StratifiedPram,
    TargetedRecordSwapping.name: TargetedRecordSwapping,
    TextRedaction.name: TextRedaction,
    DataShuffling.name: DataShuffling,
    CorrelatedNoise.name: CorrelatedNoise,
    geo.Donut.name: geo.Donut,
    geo.GaussianPoints.name: geo.GaussianPoints,
    geo.PlanarLaplace.name: geo.PlanarLaplace,
    geo.AffinePoints.name: geo.AffinePoints,
    geo.GridCentres.name: geo.GridCentres,
    geo.LocationSwap.name: geo.LocationSwap,
    geo.VoronoiEdges.name: geo.VoronoiEdges,
    geo.StreetNodes.name: geo.StreetNodes,
    LocalSuppression.name: LocalSuppression,
    KmAnonymity.name: KmAnonymity,
    SimpleSampling.name: SimpleSampling,
    StratifiedSampling.name: StratifiedSampling,
    geo.TrimmedEnds.name: geo.TrimmedEnds,
}
