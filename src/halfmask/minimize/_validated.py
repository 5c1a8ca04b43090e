"""The coarsest step of a search that held-out validation rows confirm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import GuaranteeNotMetError
from halfmask.minimize._generalizations import (
    FeatureGeneralization,
    Generalizations,
    Part,
    Plain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from halfmask.minimize._feature import Feature
    from halfmask.minimize._score import PredictionScore
    from halfmask.minimize._search import SearchStep


BY_LEVEL, BY_STEP = 40, 40  # how many steps of a search are tested: by their score, by their number


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedStep:
    """The step that was taken, its score on the validation rows and the lower bound."""

    step: SearchStep
    value: float
    bound: float
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValidationRows:
    """Held-out rows: they took no part in the search."""

    ask: Callable[[NDArray[np.int64]], NDArray[np.float64]]
    codes: NDArray[np.int64]
    truth: NDArray[np.float64]
    own: NDArray[np.float64]
    score: PredictionScore

    def evaluate(self, step: SearchStep, *, error: float) -> ValidatedStep:
        """Return the score with the maps of a step, and its lower bound."""
        changed = self.codes.copy()
        for column, target in step.targets.items():
            changed[column] = target[changed[column]]
        return self._scored(step, self.ask(changed), error)

    def unchanged(self, step: SearchStep, *, error: float) -> ValidatedStep:
        """Return the same for the raw rows."""
        return self._scored(step, self.own, error)

    def _scored(
        self, step: SearchStep, answers: NDArray[np.float64], error: float
    ) -> ValidatedStep:
        return ValidatedStep(
            step=step,
            value=self.score.of(self.truth, answers),
            bound=self.score.bound(self.truth, answers, error=error),
            rows=len(self.truth),
        )


def last_valid_step(
    path: Sequence[SearchStep], rows: ValidationRows, *, target: float, error: float, certain: bool
) -> ValidatedStep:
    """Return the last step whose lower bound reaches the target, tested one after the other."""
    kept = rows.unchanged(path[0], error=error)
    if certain:
        kept = ValidatedStep(step=path[0], value=1.0, bound=1.0, rows=kept.rows)
    elif kept.bound < target:
        raise GuaranteeNotMetError(
            f"The model misses the target_accuracy of {target:g} on unchanged rows: it reaches "
            f"{kept.value:.4f}, at least {kept.bound:.4f} by {kept.rows} rows.",
            hint="Lower target_accuracy, or give more rows if only the bound misses it.",
        )
    for number in stations([step.score for step in path]):
        found = rows.evaluate(path[number], error=error)
        if found.bound < target:
            break
        kept = found
    return kept


def stations(scores: Sequence[float]) -> list[int]:
    """Return the steps to test, in order, by what the search knows: more where it loses.

    Examples
    --------
    >>> stations([1.0, 1.0, 1.0, 0.99])
    [1, 2, 3]
    """
    last = len(scores) - 1
    lowest = np.minimum.accumulate(scores)
    levels = np.linspace(lowest[0], lowest[-1], BY_LEVEL + 1)
    by_level = np.searchsorted(-lowest, -levels + 1e-12, side="right") - 1
    by_step = np.linspace(0, last, BY_STEP + 1).round().astype(int)
    chosen: list[int] = np.unique(np.concatenate([by_level, by_step])).tolist()
    return [number for number in chosen if 0 < number <= last]


def min_rows(target: float, error: float) -> int | None:
    """Return how many rows must all agree to confirm a share of ``target``; None for 1.

    Examples
    --------
    >>> min_rows(0.98, 0.05)
    149
    """
    if target >= 1:
        return None
    return max(1, math.ceil(math.log(error) / math.log(target))) if target > 0 else 1


MISSING = "missing"


def explain(feature: Feature, target: NDArray[np.int64]) -> FeatureGeneralization:
    """Return the answers that a map offers for a feature."""
    before, after = feature.bits(feature.identity), feature.bits(target)
    name = feature.coding.column.name
    groups = np.unique(target)
    if not (target != feature.identity).any():
        return FeatureGeneralization(
            name=name, asked="unchanged", parts=(), ncp=0.0, bits_before=before, bits_after=before
        )
    if len(groups) == 1:
        stays = _plain(feature, int(groups[0]))
        part = Part(label="not needed", representative=stays, share=1.0)
        return FeatureGeneralization(
            name=name,
            asked="not needed",
            parts=(part,),
            ncp=1.0,
            bits_before=before,
            bits_after=0.0,
        )
    parts = _ranges(feature, target) if feature.coding.ordered else _groups(feature, target)
    return FeatureGeneralization(
        name=name,
        asked="ranges" if feature.coding.ordered else "groups",
        parts=tuple(parts),
        ncp=feature.ncp(target),
        bits_before=before,
        bits_after=after,
    )


def _plain(feature: Feature, code: int) -> Plain:
    """Return a code's value as JSON has it."""
    if code >= feature.coding.n_values:
        return None
    value = feature.coding.values[code]
    if isinstance(value, bool | int | float | str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _share(feature: Feature, members: NDArray[np.int64]) -> float:
    return float(feature.counts[members].sum() / feature.counts.sum())


def _ranges(feature: Feature, target: NDArray[np.int64]) -> list[Part]:
    n = feature.coding.n_values
    starts = np.flatnonzero(np.append(True, target[1:n] != target[: n - 1]))
    ends = np.append(starts[1:], n)
    parts = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        low = _plain(feature, start) if start > 0 else None
        high = _plain(feature, end) if end < n else None
        parts.append(
            Part(
                label=_range_label(low, high, last=_plain(feature, end - 1)),
                representative=_plain(feature, int(target[start])),
                share=_share(feature, np.arange(start, end)),
                low=low,
                high=high,
            )
        )
    if feature.coding.missing:
        members = np.array([n])
        parts.append(Part(label=MISSING, representative=None, share=_share(feature, members)))
    return parts


def _range_label(low: Plain, high: Plain, *, last: Plain) -> str:
    if low is None:
        return "any" if high is None else f"below {high}"
    if high is None:
        return f"{low} or more"
    if isinstance(low, int) and isinstance(high, int):
        return f"{low} to {high - 1}" if high - 1 > low else str(low)
    return str(low) if low == last and not isinstance(low, float) else f"{low} to below {high}"


def _groups(feature: Feature, target: NDArray[np.int64]) -> list[Part]:
    parts = []
    hierarchy = feature.coding.hierarchy
    for group in dict.fromkeys(target.tolist()):
        members = np.flatnonzero(target == group)
        values = tuple(_plain(feature, int(code)) for code in members)
        label = ", ".join(MISSING if value is None else str(value) for value in values)
        if hierarchy is not None and members[-1] < feature.coding.n_values:
            label = hierarchy.node(int(members[0]), int(members[-1]))[1]
        parts.append(
            Part(
                label=label,
                representative=_plain(feature, group),
                share=_share(feature, members),
                values=values,
            )
        )
    return parts


def sentence(
    found: Generalizations,
    validated: ValidatedStep,
    *,
    target: float,
    confidence: float,
    share: bool,
) -> str:
    """Describe the result and its confidence, without a value of a row."""
    needless, kept = len(found.not_needed), len(found.unchanged)
    before = sum(feature.bits_before for feature in found)
    after = sum(feature.bits_after for feature in found)
    summary = (
        f"Of {len(found)} features {needless} aren't needed, "
        f"{len(found) - needless - kept} may be coarser and {kept} stay unchanged: "
        f"{after:.1f} of {before:.1f} bits a person, information loss (NCP) {found.ncp:.3f}. "
    )
    if kept < len(found):
        return summary + (
            f"On {validated.rows} rows that took no part in the search the score is "
            f"{validated.value:.4f}, at least {validated.bound:.4f} with {confidence:.0%} "
            f"confidence; the target was {target:g}."
        )
    least = min_rows(target, 1 - confidence) if share else None
    if least is not None and validated.rows < least:
        return summary + (
            f"It takes {least} validation rows at least to be sure of a share of {target:g}; "
            f"there are {validated.rows}."
        )
    return summary + "Nothing coarser was sure to keep the target."
