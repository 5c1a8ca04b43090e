"""Regressions on a release of Adult: which estimate has intervals that cover the raw coefficient.

Samples of Adult are released as classes. Four regressions are run on the original rows, and on the
release by four estimates: midpoints of ranges; both ends of ranges, with the interval around both;
one value drawn at random from each cell; and `impute_release` with `combine_estimates`. A 95 %
interval should cover the coefficient of the original rows (it is wide enough for the population, so
nearly always) and, as often as that of the original rows, the coefficient of all of Adult.

Seeds from 900 were held back until the method was chosen; `--dev` runs the others. `--quick` runs
one sample of each policy.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import norm

import halfmask as hm
import workloads
from bars import Bar, report, say

Floats = NDArray[np.float64]
NUMBERS = ("age", "education-num", "hours-per-week")
NAMES = (*NUMBERS, "sex", "marital-status", "race", "occupation", "income")
HELD_BACK, DEVELOPED = 900, 100
#: Above this share of missing information the page says not to use an estimate.
USABLE = 0.8
FAR = float(norm.ppf(0.975))


@dataclass(frozen=True, kw_only=True)
class Release:
    """A policy: its quasi-identifiers, k, the rows of a sample, and its method."""

    name: str
    quasi_identifiers: tuple[str, ...]
    k: int
    n_rows: int
    method: str = 'name = "mondrian"'

    def policy(self) -> hm.Policy:
        text = "halfmask = 1\n[columns]\n"
        for name in NAMES:
            role = "quasi_identifier" if name in self.quasi_identifiers else "insensitive"
            kind = "numeric" if name in NUMBERS else "categorical"
            text += f'{name} = {{ role = "{role}", kind = "{kind}" }}\n'
        text += f'[[guarantees]]\nmodel = "k-anonymity"\nk = {self.k}\n[method]\n{self.method}\n'
        return hm.Policy.from_toml(text)


SIX = ("age", "education-num", "hours-per-week", "sex", "marital-status", "race")
GUIDED = 'name = "guided"\nsplit_targets = ["income"]'
RELEASES = (
    Release(name="3 columns, k = 10", quasi_identifiers=SIX[:3], k=10, n_rows=6000),
    Release(name="3 columns, k = 50", quasi_identifiers=SIX[:3], k=50, n_rows=6000),
    Release(name="6 columns, k = 5", quasi_identifiers=SIX, k=5, n_rows=6000),
    Release(name="6 columns, k = 10", quasi_identifiers=SIX, k=10, n_rows=6000),
    Release(
        name="6 columns, k = 10, guided", quasi_identifiers=SIX, k=10, n_rows=6000, method=GUIDED
    ),
    Release(name="6 columns, k = 50", quasi_identifiers=SIX, k=50, n_rows=6000),
)
#: Number of a column, or whether it has a value: one way for each estimate.
Number = Callable[[str], Floats]
Has = Callable[[str, str], Floats]


def regressions(number: Number, has: Has) -> Iterator[tuple[str, Floats, list[Floats]]]:
    """Yield the outcome of each regression and what explains it; the last one was held back."""
    age, study, hours = map(number, NUMBERS)
    woman, married = has("sex", "Female"), has("marital-status", "Married-civ-spouse")
    rich, white = has("income", ">50K"), has("race", "White")
    yield "hours", hours, [age, study, woman, married]
    yield "income", rich, [age, study, hours, woman, married]
    yield "education", study, [age, woman, white, rich]
    yield "age", age, [study, hours, woman, rich]


def fitted(outcome: Floats, explaining: list[Floats]) -> tuple[Floats, Floats]:
    """Return coefficients of least squares and their variances, whatever the errors (HC1)."""
    rows = np.stack([np.ones(len(outcome)), *explaining], axis=1)
    inner = np.linalg.inv(rows.T @ rows)
    found = inner @ rows.T @ outcome
    left = (outcome - rows @ found)[:, None] * rows
    variances = inner @ (left.T @ left) @ inner * len(rows) / (len(rows) - rows.shape[1])
    return found[1:], np.diag(variances)[1:]


def all_fitted(number: Number, has: Has) -> dict[str, tuple[Floats, Floats]]:
    return {name: fitted(y, x) for name, y, x in regressions(number, has)}


def of_table(table: pl.DataFrame) -> dict[str, tuple[Floats, Floats]]:
    return all_fitted(
        lambda name: table[name].to_numpy().astype(float),
        lambda name, value: (table[name] == value).to_numpy().astype(float),
    )


def of_ranges(rows: pl.DataFrame, place: float) -> dict[str, tuple[Floats, Floats]]:
    """Fit with one place of each range, 0 to 1, and the share of a set that a value has."""

    def number(name: str) -> Floats:
        if name in rows.columns:
            return rows[name].to_numpy().astype(float)
        low, high = (rows[name + end].to_numpy().astype(float) for end in ("_from", "_to"))
        return np.asarray(low + place * (high - low))

    def has(name: str, value: str) -> Floats:
        if rows[name].dtype == pl.String:
            return (rows[name] == value).to_numpy().astype(float)
        share = rows[name].list.contains(value).cast(pl.Float64) / rows[name].list.len()
        return share.to_numpy()

    return all_fitted(number, has)


def drawn_alone(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Draw each cell by itself, all values of it alike."""
    made = {}
    for name in NAMES:
        if name not in rows.columns:
            low, high = rows[f"{name}_from"].to_numpy(), rows[f"{name}_to"].to_numpy()
            made[name] = rng.integers(low, high + 1)
        elif rows[name].dtype == pl.String:
            made[name] = rows[name].to_numpy()
        else:
            made[name] = np.array([rng.choice(it) for it in rows[name].to_list()])
    return pl.DataFrame(made)


def estimates(folder: str, rng: np.random.Generator, m: int) -> dict[str, dict[str, Floats]]:
    """Return the intervals of each estimate for each regression, and shares of missing."""
    rows = hm.read_release(folder)
    found: dict[str, dict[str, Floats]] = defaultdict(dict)
    middle, low, high = (of_ranges(rows, place) for place in (0.5, 0.0, 1.0))
    alone = [of_table(drawn_alone(rows, rng)) for _ in range(m)]
    ours = [of_table(it) for it in hm.impute_release(folder, m=m, random_state=1)]
    for name, (value, variance) in middle.items():
        found["midpoint"][name] = around(value, variance)
        both = np.stack([around(*low[name]), around(*high[name])])
        found["both ends"][name] = np.stack(
            [both[:, :, 0].min(0), both[:, :, 1].max(0), both.mean((0, 2))], axis=1
        )
        for called, several in (("drawn alone", alone), ("impute_release", ours)):
            joint = hm.combine_estimates(
                [it[name][0] for it in several],
                [it[name][1] for it in several],
                kind="imputed",
            )
            found[called][name] = np.column_stack([*joint.interval(0.95), joint.estimate])
            if called == "impute_release":
                found["missing"][name] = joint.missing_information
    return found


def around(value: Floats, variance: Floats) -> Floats:
    far = FAR * np.sqrt(variance)
    return np.stack([value - far, value + far, value], axis=1)


@dataclass
class Tally:
    """For each coefficient: whether it is covered, and how far the estimate is off."""

    raw: list[bool]
    population: list[bool]
    errors: list[float]
    widths: list[float]


def measured(
    release: Release, seeds: range, m: int, tallies: dict[tuple[str, str, str], Tally]
) -> None:
    adult = pl.read_csv(workloads.ADULT_CSV).select(NAMES)
    truth = of_table(adult)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        sample = adult[rng.integers(0, adult.height, release.n_rows).tolist()]
        raw = of_table(sample)
        with tempfile.TemporaryDirectory() as folder:
            hm.protect(sample, release.policy()).write(f"{folder}/out")
            found = estimates(f"{folder}/out", rng, m)
        found["original"] = {name: around(*it) for name, it in raw.items()}
        for called in ("original", "midpoint", "both ends", "drawn alone", "impute_release"):
            for name, intervals in found[called].items():
                for at, (low, high, value) in enumerate(intervals):
                    usable = found["missing"][name][at] <= USABLE
                    key = (release.name, called, "usable" if usable else "not usable")
                    tally = tallies.setdefault(key, Tally([], [], [], []))
                    own, error = raw[name][0][at], np.sqrt(raw[name][1][at])
                    tally.raw.append(bool(low <= own <= high))
                    tally.population.append(bool(low <= truth[name][0][at] <= high))
                    tally.errors.append(float(abs(value - own) / error))
                    tally.widths.append(float((high - low) / (2 * FAR * error)))
        say(f"{release.name}, seed {seed}: done")


def show(tallies: dict[tuple[str, str, str], Tally]) -> None:
    say(
        "release; estimate; missing information; coefficients; covers raw; covers population; "
        "median error and width in raw standard errors"
    )
    for (release, called, usable), it in tallies.items():
        say(
            f"{release}; {called}; {usable}; {len(it.raw)}; {np.mean(it.raw):.3f}; "
            f"{np.mean(it.population):.3f}; {np.median(it.errors):.2f}; {np.median(it.widths):.2f}"
        )


def share(tallies: dict[tuple[str, str, str], Tally], called: str, what: str) -> float:
    """Return the share that an estimate covers, over all usable coefficients."""
    found = [getattr(it, what) for key, it in tallies.items() if key[1:] == (called, "usable")]
    return float(np.mean([one for each in found for one in each]))


def show_whole() -> None:
    """Show the coefficients of all of Adult, of six columns and k = 10."""
    adult = pl.read_csv(workloads.ADULT_CSV).select(NAMES)
    release = next(it for it in RELEASES if it.name == "6 columns, k = 10")
    with tempfile.TemporaryDirectory() as folder:
        hm.protect(adult, release.policy()).write(f"{folder}/out")
        found = estimates(f"{folder}/out", np.random.default_rng(HELD_BACK), 10)
    found["original"] = {name: around(*it) for name, it in of_table(adult).items()}
    for called in ("original", "midpoint", "both ends", "drawn alone", "impute_release"):
        for name, intervals in found[called].items():
            said = "  ".join(
                f"{value:.4g} [{low:.4g}, {high:.4g}]" for low, high, value in intervals
            )
            say(f"{name}; {called}: {said}")
    say(f"missing information: { {k: v.round(2).tolist() for k, v in found['missing'].items()} }")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one sample of each policy")
    parser.add_argument("--dev", action="store_true", help="the seeds the method was chosen on")
    parser.add_argument("--samples", type=int, default=5, help="samples of each policy")
    parser.add_argument("--only", default="", help="policies whose name has this")
    parser.add_argument("--whole", action="store_true", help="all of Adult once, its coefficients")
    asked = parser.parse_args()
    if asked.whole:
        show_whole()
        return
    first = DEVELOPED if asked.dev else HELD_BACK
    seeds = range(first, first + (1 if asked.quick else asked.samples))
    tallies: dict[tuple[str, str, str], Tally] = {}
    for release in RELEASES:
        if asked.only in release.name:
            measured(release, seeds, 10, tallies)
    show(tallies)
    ours = share(tallies, "impute_release", "raw")
    population = share(tallies, "impute_release", "population")
    report(
        [
            Bar(
                name="raw coefficients covered, impute_release",
                value=ours,
                goal=0.95,
                side="at least",
            ),
            Bar(
                name="population coefficients covered, impute_release less original",
                value=population - share(tallies, "original", "population"),
                goal=-0.05,
                side="at least",
            ),
            Bar(
                name="raw coefficients covered, impute_release less midpoint",
                value=ours - share(tallies, "midpoint", "raw"),
                goal=0.15,
                side="at least",
            ),
        ]
    )


if __name__ == "__main__":
    main()
