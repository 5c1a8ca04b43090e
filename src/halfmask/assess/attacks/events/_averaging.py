"""Averaging: noise that is drawn again for each repeat of a value averages out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._arms import Certain, Expected, Resampled
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._events_target import EventsTarget
from halfmask.assess.attacks._rows import with_rows
from halfmask.assess.attacks.events._traces import floats, merged_codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._attack import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaging(DeclaredAttack, name="events/averaging", target=EventsTarget):
    """Recover a repeated number by the mean of its noisy released values.

    Parameters
    ----------
    repeats
        How many rows of one person, or of one item, must have the number.
    within
        How near counts as read: this share of the spread between the quartiles of the true values,
        above 0.
    n_groups
        How many repeated values are drawn at most.
    n_resamples
        How many bootstrap resamples bound the error that is taken off.

    Notes
    -----
    Cassa, Wieland and Mandl, "Re-identification of home addresses from spatial locations anonymized
    by Gaussian skew" (IJHG 2008): ten noisy copies of a place average out to a third of the error.
    Rows are grouped by what was released: pseudonym, items, or both. Groups count in which the true
    number never changes; the worst of all groupings and columns is reported. Two
    measures:

    - *values read by their mean*: the share of groups whose mean lies `within`. Control: the same
      means compared with another group's value. Baseline: one value for all, the median of the true
      ones;
    - *error taken off by averaging*: 1 - (mean error of the means) / (mean error of one draw), 0
      where noise is keyed per entity and 1 - 1/sqrt(n) where n draws are independent. Without noise
      it isn't measured, and the first measure is the positive control.
    """

    repeats: int = field(default=4, metadata={"ge": 2})
    within: float = field(default=0.05, metadata={"gt": 0, "le": 1e9})
    n_groups: int = field(default=2000, metadata={"ge": 1})
    n_resamples: int = field(default=400, metadata={"ge": 1})

    def missing_inputs(self, target: EventsTarget) -> str:
        """Return what is missing: released numbers, or what joins their repeats."""
        if not any(target.released_name(name) for name in target.numbers):
            return "released numbers"
        if not _groupings(target):
            return "a pseudonym or items that join repeats of a number"
        return (
            ""
            if any(True for _ in self._repeated(target))
            else (f"numbers that stay the same over {self.repeats} rows")
        )

    def _measure(self, target: EventsTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        found = [repeated.drawn(self.n_groups, rng) for repeated in self._repeated(target)]
        read = [self._read(each, rng) for each in found]
        less = [it for it in (self._less(each, rng) for each in found) if it is not None]
        outcomes = [max(read, key=_worse)] if read else []
        return (*outcomes, *([max(less, key=_worse)] if less else []))

    def _repeated(self, target: EventsTarget) -> Iterator[Repeated]:
        owners = target.owner_of_row
        for columns in _groupings(target):
            group = merged_codes([(target.released, columns)])[0]
            for name in target.numbers:
                left = target.released_name(name)
                if left:
                    true, seen = floats([target.original[name], target.released[left]])
                    made = Repeated.of(group, seen, true[owners], self.repeats)
                    if len(made.truth):
                        yield made

    def _read(self, these: Repeated, rng: np.random.Generator) -> Outcome:
        near = self.within * these.spread
        means = these.means

        def share(guess: Floats, truth: Floats) -> Expected:
            return Expected(float((np.abs(guess - truth) <= near).sum()), len(truth))

        n = len(these.truth)
        other = these.truth[(np.arange(n) + rng.integers(1, max(2, n))) % n]
        return self._make_outcome(
            "values read by their mean",
            share(means, these.truth),
            share(means, other),
            needed=(100, "repeated values"),
            baseline=share(np.full(n, np.median(these.truth)), these.truth),
            details={
                "read off one draw": share(these.one_draw, these.truth).value,
                "repeats, median": float(np.median(these.counts)),
            },
        )

    def _less(self, these: Repeated, rng: np.random.Generator) -> Outcome | None:
        alone, together = np.abs(these.one_draw - these.truth), np.abs(these.means - these.truth)
        # A mean of equal numbers differs from them by its rounding.
        together[together <= 1e-9 * np.abs(these.truth)] = 0.0
        if not alone.sum() > 1e-9 * np.abs(these.truth).sum():
            return None
        n = len(alone)
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=self.n_resamples).astype(np.float64)
        whole = drawn @ alone
        some = whole > 0
        replicates = 1 - (drawn @ together)[some] / whole[some]
        value = 1 - float(together.sum() / alone.sum())
        return self._make_outcome(
            "error taken off by averaging",
            Resampled.of(value, replicates, n),
            needed=(100, "repeated values"),
            baseline=Certain(0.0),
            control_measure="values read by their mean",
            details={
                "error of one draw": float(alone.mean()),
                "error of the mean": float(together.mean()),
                "repeats, median": float(np.median(these.counts)),
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repeated:
    """Numbers that stay the same over the rows of a group."""

    truth: Floats
    means: Floats
    one_draw: Floats
    counts: Ints
    spread: float

    @classmethod
    def of(cls, group: Ints, released: Floats, true: Floats, repeats: int) -> Repeated:
        """Keep groups of so many rows in which the true number never changes."""
        kept = (
            pl.DataFrame({"group": group, "released": released, "true": true})
            .filter(pl.col("released").is_finite() & pl.col("true").is_finite())
            .group_by("group", maintain_order=True)
            .agg(
                pl.col("true").first(),
                (pl.col("true").max() - pl.col("true").min()).alias("change"),
                pl.col("released").mean(),
                pl.col("released").first().alias("one"),
                pl.len().alias("n"),
            )
            .filter((pl.col("change") == 0) & (pl.col("n") >= repeats))
        )
        truth = kept["true"].to_numpy()
        spread = 0.0
        if len(truth):
            low, high = np.quantile(truth, [0.25, 0.75])
            spread = float(high - low) or float(np.std(truth))
        return cls(
            truth=truth, means=kept["released"].to_numpy(), one_draw=kept["one"].to_numpy(),
            counts=kept["n"].to_numpy(), spread=spread,
        )  # fmt: skip

    def drawn(self, most: int, rng: np.random.Generator) -> Repeated:
        """Return so many of the groups at most."""
        return with_rows(self, rng.permutation(len(self.truth))[:most])


def _worse(outcome: Outcome) -> tuple[bool, float]:
    """Return whether there are groups enough, and the excess that is sure."""
    return outcome.trials >= outcome.needed, outcome.excess.bounds(0.05)[0]


def _groupings(target: EventsTarget) -> list[list[str]]:
    """Return the released columns by which repeats may be joined."""
    items = [target.released_name(name) for name in target.items if target.released_name(name)]
    pseudonym = [target.pseudonym] if target.pseudonym else []
    both = [pseudonym + items] if pseudonym and items else []
    return [them for them in (pseudonym, items, *both) if them]
