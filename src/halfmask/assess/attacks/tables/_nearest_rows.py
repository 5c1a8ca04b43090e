"""Linkability and inference: what the released rows nearest to a person disclose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, Outcome, residual_details
from halfmask.assess.attacks._inputs import check_columns, several
from halfmask.assess.attacks._rows import some_rows
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._links import (
    Comparison,
    known_people,
    lacking_control,
    matched_columns,
    nearest,
    nearest_few,
    quasi_identifiers_of,
    secrets_of,
    shared_columns,
)

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks.tables._links import Known
    from halfmask.assess.attacks.tables._matching import Matched


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkability(DeclaredAttack, name="tables/linkability", target=TableTarget):
    """Link two parts of a person's row through the nearest released rows.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most, of the original and of the control each.
    n_neighbours
        How many nearest released rows of each part are looked at: the attack succeeds if the two
        parts share one. Ties are broken at random, for each part separately.
    parts
        The columns of the two parts, disjoint; ``None``: quasi-identifiers and the other columns
        are dealt to both in turn.

    Notes
    -----
    The second of the three risks of the Article 29 Working Party, as Giomi et al., "A unified
    framework for quantifying privacy risk in synthetic data" (PoPETs 2023), section 4.2, measure
    it; distances are Gower's. The baseline is two random draws that meet.
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})
    n_neighbours: int = field(default=10, metadata={"ge": 1})
    parts: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        DeclaredAttack.__post_init__(self)
        owner = "Linkability"
        if self.parts is None:
            return
        parts = tuple(
            several(part, parameter="parts", owner=owner, of="columns")
            for part in several(self.parts, parameter="parts", owner=owner, of="two lists")
        )
        if len(parts) != 2 or set(parts[0]).intersection(parts[1]):
            raise ParameterError(
                "The 'parts' parameter of Linkability must be two disjoint sets of columns."
            )
        object.__setattr__(self, "parts", parts)

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what is missing: a control table, or columns."""
        if len(shared_columns(target)) < 2:
            return "two columns that the original and the released table share"
        return lacking_control(target)

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        if target.control is None:
            raise ParameterError("Linkability needs a control table.")
        names = self._parts(target)
        sides = [Comparison(columns=matched_columns(target, part)) for part in names]
        rng = np.random.default_rng(random_state)
        arms = []
        for people in (target.original, target.control):
            chosen = people[some_rows(people.height, self.n_attacks, rng)]
            linked = self._linked(sides, chosen, rng)
            arms.append(SuccessCount(int(linked.sum()), len(linked)))
        success, control = arms
        return self._make_outcome(
            f"share linked among {self.n_neighbours} nearest",
            success,
            control,
            needed=(100, "people"),
            details={
                "by_chance": _by_chance(self.n_neighbours, target.released.height),
                **residual_details(success, control),
            },
        )

    def _parts(self, target: TableTarget) -> tuple[tuple[str, ...], tuple[str, ...]]:
        shared = shared_columns(target)
        if self.parts is not None:
            named = sorted(set(self.parts[0] + self.parts[1]))
            check_columns(named, shared, where="the released table")
            return self.parts
        known = quasi_identifiers_of(target)
        in_turn = (*known, *(name for name in shared if name not in known))
        return in_turn[::2], in_turn[1::2]

    def _linked(
        self, sides: list[Comparison], people: pl.DataFrame, rng: np.random.Generator
    ) -> Bools:
        """Return for each person whether the two parts share a released row."""
        found = np.zeros(people.height, dtype=np.bool_)
        known: list[Known] = [known_people(side.columns, people) for side in sides]
        both = zip(sides[0].blocks(known[0]), sides[1].blocks(known[1]), strict=True)
        for (some, first), (_, second) in both:
            ours = nearest_few(first, self.n_neighbours, rng)
            theirs = nearest_few(second, self.n_neighbours, rng)
            found[some] = (ours[:, :, None] == theirs[:, None, :]).any(axis=(1, 2))
        return found


def _by_chance(n: int, n_rows: int) -> float:
    """Return the probability that two random draws of n of the rows share one."""
    from scipy.stats import hypergeom  # noqa: PLC0415 # scipy loads late

    n = min(n, n_rows)
    return float(1 - hypergeom(n_rows, n, n).pmf(0)) if n else 0.0


#: How many released rows are guessed from the others to learn which distance is near enough.
MAX_TRIED = 2000
#: A row this near is used whatever the reach.
NO_DISTANCE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference(DeclaredAttack, name="tables/inference", target=TableTarget):
    """Take a person's secret from the released rows nearest to what is known.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most, of the original and of the control each.
    tolerance
        By how many standard deviations of the secret a guessed number may miss, in [0, inf).

    Notes
    -----
    The third of the three risks of the Article 29 Working Party, as Giomi et al., "A unified
    framework for quantifying privacy risk in synthetic data" (PoPETs 2023), section 4.3, measure
    it; distances are Gower's over the quasi-identifiers. Among tied rows the most frequent secret
    is guessed, which is better than a random one. The baseline is the secret that most released
    rows have. The paper's tolerance is a share of the value, which means nothing for a date or a
    zero: here it is a share of the column's deviation.

    **Near enough.** If little leaks, the nearest row mostly belongs to another person, and its
    secret is a worse guess than the most frequent one. So a second attacker guesses the nearest
    row's secret only up to a distance, and the most frequent secret beyond. The distance is chosen
    on the release alone: each of 2,000 released rows, without its secret, is guessed from all
    others. It is the distance with the most correct guesses, or, since a person's own row is nearer
    than another's, the largest that isn't worse by more than a standard error. Rows at distance 0
    are always used. The attacker with the higher excess is reported; the accuracy of each is in the
    details (``always_nearest``, ``near_enough``).

    **Edge cases.** A released set or range is guessed by its first category or its middle; a cell
    without information is no guess. People without a secret aren't attacked.
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})
    tolerance: float = field(default=0.05, metadata={"ge": 0, "le": 1e9})

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what is missing: secrets, known columns or a control table."""
        secrets, known = secrets_of(target), quasi_identifiers_of(target)
        if not secrets:
            return "secrets that were released"
        if any(not set(known) - {secret} for secret in secrets):
            return "quasi_identifiers that were released"
        return lacking_control(target, (*known, *secrets))

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        return tuple(
            self._outcome(target, secret, np.random.default_rng([random_state, place]))
            for place, secret in enumerate(secrets_of(target))
        )

    def _outcome(self, target: TableTarget, secret: str, rng: np.random.Generator) -> Outcome:
        if target.control is None:
            raise ParameterError("Inference needs a control table.")
        names = tuple(name for name in quasi_identifiers_of(target) if name != secret)
        comparison = Comparison(columns=matched_columns(target, names), silence="average")
        (secret_column,) = matched_columns(target, (secret,))
        offers = _Offers.of(secret_column, self.tolerance)
        groups = []
        for people in (target.original, target.control):
            with_secret = people.filter(people[secret].is_not_null())
            groups.append(with_secret[some_rows(with_secret.height, self.n_attacks, rng)])
        reach, usual = _reach(offers, comparison, rng), offers.usual()
        rights: list[dict[str, Bools]] = []
        for people in groups:
            truth = secret_column.known(people[secret])
            nearest_guess, far = offers.guesses(
                comparison, known_people(comparison.columns, people)
            )
            near_enough = np.where(far <= reach, nearest_guess, usual)
            rights.append(
                {
                    "always_nearest": offers.right(nearest_guess, truth),
                    "near_enough": offers.right(near_enough, truth),
                    "usual": offers.right(np.full(len(truth), usual), truth),
                }
            )
        return self._worst(secret, *rights)

    def _worst(self, secret: str, original: dict[str, Bools], control: dict[str, Bools]) -> Outcome:
        """Return the outcome of the attacker with the higher excess."""
        right, of_control = (
            {way: SuccessCount(int(each.sum()), len(each)) for way, each in of.items()}
            for of in (original, control)
        )
        ways = ("always_nearest", "near_enough")
        outcomes = [
            self._make_outcome(
                f"share of right guesses of {secret}",
                right[way],
                of_control[way],
                needed=(100, "people with the secret"),
                column=secret,
                baseline=right["usual"],
                details={
                    **residual_details(right[way], of_control[way]),
                    **{each: right[each].value for each in ways},
                },
            )
            for way in ways
        ]
        return max(outcomes, key=lambda outcome: outcome.excess.value)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Offers:
    """The guess of each released row for the secret."""

    codes: Ints
    values: Floats
    n_codes: int
    within: float

    @classmethod
    def of(cls, secret_column: Matched, tolerance: float) -> _Offers:
        cells, values = secret_column.cells, secret_column.cells.taken
        if secret_column.is_number:
            within = tolerance * secret_column.deviation
            # Bins as wide as the tolerance: values in one bin are guessed together.
            binned = np.floor(values / (2 * within)) if within else values
        else:
            within = 0.0
            binned = values
        distinct, codes = np.unique(binned[~cells.silent], return_inverse=True)
        numbered = np.full(len(cells), -1, dtype=np.int64)
        numbered[~cells.silent] = codes
        return cls(codes=numbered, values=values, n_codes=len(distinct), within=within)

    def usual(self) -> float:
        """Return the guess without any knowledge of the person."""
        coded = np.flatnonzero(self.codes >= 0)
        if not len(coded):
            return np.nan
        return float(self._most(np.zeros(len(coded), dtype=np.int64), coded, 1)[0])

    def guesses(
        self, comparison: Comparison, known: Known, *, excluded: Ints | None = None
    ) -> tuple[Floats, Floats]:
        """Return the guess for each person, NaN for none, and how far its rows are.

        With ``excluded``, each is a released row of this number, which isn't used for the guess.
        """
        n_people = len(known[comparison.columns[0].name])
        guessed, far = np.full(n_people, np.nan), np.full(n_people, np.inf)
        for some, distances in comparison.blocks(known):
            # A row without the secret is of no use, however near.
            distances[:, self.codes < 0] = np.inf
            if excluded is not None:
                distances[np.arange(len(distances)), excluded[some]] = np.inf
            person, row = np.nonzero(nearest(distances) & np.isfinite(distances))
            guessed[some] = self._most(person, row, len(distances))
            far[some] = distances.min(axis=1)
        return guessed, far

    def right(self, guesses: Floats, truth: Floats) -> Bools:
        """Return which guesses are right; none is wrong."""
        slack = 1e-9 * max(1.0, self.within)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(guesses - truth) <= self.within + slack)

    def _most(self, person: Ints, row: Ints, n_people: int) -> Floats:
        """Return the mean of the code that most of each person's rows have; NaN without rows."""
        n_codes = max(1, self.n_codes)
        pair = person * n_codes + self.codes[row]
        pairs, place, counts = np.unique(pair, return_inverse=True, return_counts=True)
        means = np.bincount(place, weights=self.values[row]) / counts if len(row) else np.empty(0)
        # By person, the most frequent first; of those as frequent the lowest code.
        order = np.lexsort((pairs, -counts, pairs // n_codes))
        whose, first = np.unique((pairs // n_codes)[order], return_index=True)
        guessed = np.full(n_people, np.nan)
        guessed[whose] = means[order][first]
        return guessed


def _reach(offers: _Offers, comparison: Comparison, rng: np.random.Generator) -> float:
    """Return up to which distance the nearest row's secret is a better guess than the usual one."""
    coded = np.flatnonzero(offers.codes >= 0)
    rows = coded[some_rows(len(coded), MAX_TRIED, rng)]
    known = {column.name: column.as_known()[rows] for column in comparison.columns}
    guesses, far = offers.guesses(comparison, known, excluded=rows)
    by_nearest = offers.right(guesses, offers.values[rows])
    by_usual = offers.right(np.full(len(rows), offers.usual()), offers.values[rows])
    # A row that is alone with a secret is guessed from none.
    tried = np.isfinite(far)
    return farthest_worthwhile(far[tried], by_nearest[tried], by_usual[tried])


def farthest_worthwhile(far: Floats, by_nearest: Bools, by_usual: Bools) -> float:
    """Return the largest distance up to which the nearest row is no worse a guess.

    Notes
    -----
    The largest whose number of right guesses is within a standard error of the best one's, the
    error being that of a sum of as many coins as there are guesses with one right attacker.
    Infinite where the farthest row is among them; no less than what counts as no distance.
    """
    order = np.argsort(far, kind="stable")
    gain = by_nearest[order].astype(np.int64) - by_usual[order]
    gains = np.concatenate([[0], np.cumsum(gain)])
    differing = np.concatenate([[0], np.cumsum(np.abs(gain))])
    # Rows that are as far go together: a distance ends behind the last of them.
    ends = np.flatnonzero(np.diff(far[order], append=np.inf) > 0) + 1
    ends = np.concatenate([[0], ends])
    best = int(ends[np.argmax(gains[ends])])
    worse = gains[best] - gains[ends]
    allowed = np.sqrt(np.maximum(differing[ends] - differing[best], 0))
    last = int(ends[worse <= allowed][-1])
    if last == len(far):
        return np.inf
    return max(NO_DISTANCE, float(far[order][last - 1])) if last else NO_DISTANCE
