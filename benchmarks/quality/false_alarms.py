"""How often attacks break what tells nothing: models of other people, releases of other people.

    python benchmarks/quality/false_alarms.py            # minutes: 100 draws of each kind
    python benchmarks/quality/false_alarms.py --quick    # under a minute: 8 draws

In each draw all people are drawn anew from one population. The model that is attacked learned from
others than the members whom it is asked about, and the release was made of others than the original
that it is held against. Nothing is told, so that each excess is 0 in truth. The bounds of a
report's excesses are taken with 5 % shared among all findings: in one draw of twenty one of them
may lie above 0, in one of twenty below. The bars are that no more do, but for the error of so many
draws, among findings with as many people as their measure needs. A third bar is of those that
`attack` calls `broken`; it says so of fewer people, too, and these count.

By trained rows the baseline is one model of other people, whose luck no bound holds: it has bars of
its own. What other bounds say of too few people is told beside, to show why these are not shown.

A last bar has power: bounds of ten times the error are counted in the same draws, and must be wrong
so often that the bars above would be missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np
import polars as pl
from scipy.stats import beta
from sklearn.ensemble import RandomForestClassifier

from bars import Bar, report, say
from halfmask.assess.attacks import AttackReport, Finding, ModelTarget, TableTarget, attack
from halfmask.assess.attacks.membership import BlackBox, Gap, Lira, Rmia, Yeom

DRAWS, QUICK_DRAWS = 100, 8
PEOPLE = 2_500
#: All of them: those of too few people, too.
MEASURES = ["accuracy", "AUC", "TPR"]
TREES = 10
SHADOWS = 6
#: What a report promises of all its findings together.
ERROR = 0.05
#: Bounds that promise this many times less must be found out.
LOOSER = 10
#: How sure the share of draws must be too large before its bar is missed.
CONFIDENCE = 0.95
TABLES = (
    "tables/singling-out-univariate",
    "tables/singling-out-multivariate",
    "tables/linkability",
    "tables/inference",
)
QUASI_IDENTIFIERS = ("age", "district", "weight")


def learned(rows: np.ndarray, labels: np.ndarray, seed: int) -> RandomForestClassifier:
    """Train a model of rows as they are after protection."""
    forest = RandomForestClassifier(TREES, min_samples_leaf=5, random_state=seed)
    return forest.fit(np.round(rows), labels)


def crowd(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw people and labels that no row tells for sure."""
    rows = rng.normal(size=(PEOPLE, 6))
    return rows, (rows[:, 0] + rows[:, 1] + 1.5 * rng.normal(size=PEOPLE) > 0).astype(int)


def asked_of_a_model(seed: int, *, by_trained_rows: bool) -> AttackReport:
    """Attack a model about members from whom it has learned nothing."""
    rng = np.random.default_rng(seed)
    (members, truth), (others, their_truth), elsewhere = crowd(rng), crowd(rng), crowd(rng)
    given = {
        "members": members,
        "member_labels": truth,
        "non_members": others,
        "non_member_labels": their_truth,
    }
    if by_trained_rows:
        given |= {"trained_rows": np.round(members)}
    target = ModelTarget(model=learned(*elsewhere, seed), train=learned, **given)
    attacks = [BlackBox(), Gap(), Yeom(), Lira(n_shadows=SHADOWS), Rmia(n_shadows=SHADOWS)]
    return attack(target, attacks=attacks, measures=MEASURES, random_state=seed)


def people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Draw people of a table, of whom some columns say something of others."""
    age, district = rng.integers(18, 90, n), rng.integers(0, 5, n)
    told = (age > 50).astype(int) + 2 * (district > 2)
    ill = np.where(rng.random(n) < 0.4, told, rng.integers(0, 4, n))
    return pl.DataFrame(
        {
            "age": age,
            "district": district,
            "weight": rng.normal(70, 12, n).round(0),
            "ill": np.array(list("abcd"))[ill],
            "sex": rng.choice(["m", "f"], n),
            "income": np.exp(rng.normal(10, 1, n) + age / 50).round(0),
        }
    )


def asked_of_a_table(seed: int, *, control: int) -> AttackReport:
    """Attack a release of other people than the original that it is held against."""
    rng = np.random.default_rng(seed)
    original, kept_out = people(rng, PEOPLE), people(rng, control)
    target = TableTarget(
        released=people(rng, PEOPLE),
        original=original,
        control=kept_out,
        quasi_identifiers=QUASI_IDENTIFIERS,
        secrets=("ill", "sex", "income"),
    )
    return attack(target, attacks=TABLES, measures=["share"], random_state=seed)


#: Each kind of draw, by what is said of it.
KINDS: dict[str, Callable[[int], AttackReport]] = {
    "a model of other people, by original rows": lambda seed: asked_of_a_model(
        seed, by_trained_rows=False
    ),
    "a model of other people, by trained rows": lambda seed: asked_of_a_model(
        seed, by_trained_rows=True
    ),
    "a release of other people": lambda seed: asked_of_a_table(seed, control=PEOPLE),
    "a release of other people, control a fifth as large": lambda seed: asked_of_a_table(
        seed, control=PEOPLE // 5
    ),
}
#: What a bound may be of nothing.
HOWS = ("above 0", "below 0", "beyond its tolerance")


def has_few(finding: Finding) -> bool:
    """Return whether it is of fewer people than its measure needs."""
    return finding.outcome.trials < max(finding.outcome.needed, 1)


def mistaken(
    found: AttackReport, *, few: bool = False, looser: int = 1
) -> Iterator[tuple[str, str]]:
    """Yield what bounds say of nothing, of findings with too few people or with enough."""
    for finding in found.findings:
        outcome = finding.outcome
        if finding.failure or not outcome.trials:
            continue
        low, high = outcome.excess.bounds(looser * ERROR / len(found.findings))
        # what may be `broken`, of few people, too, is counted among those with enough
        judged = not (has_few(finding) and outcome.of_one_model)
        counts = has_few(finding) is few
        beyond = finding.verdict == "broken" and (judged is not few)
        said = (counts and low > 0, counts and high < 0, beyond)
        for how in (how for how, is_so in zip(HOWS, said, strict=True) if is_so):
            yield how, f"{outcome.attack}, {outcome.measure}"


def least_share(hits: int, draws: int) -> float:
    """Return the lower bound of a share, after Clopper and Pearson."""
    return 0.0 if hits == 0 else float(beta.ppf(1 - CONFIDENCE, hits, draws - hits + 1))


def bars_of(kind: str, draws: int, loosely: Counter[str]) -> list[Bar]:
    """Attack as often as is asked, and return what came of it; count looser bounds, too."""
    started, hits = time.perf_counter(), Counter[str]()
    which: dict[bool, Counter[tuple[str, str]]] = {False: Counter(), True: Counter()}
    told = 0
    for seed in range(draws):
        found = KINDS[kind](seed)
        told += sum(not has_few(finding) for finding in found.findings)
        for few, counts in which.items():
            counts.update(set(mistaken(found, few=few)))
        hits.update({how for how, _ in mistaken(found)})
        loosely.update({how for how, _ in mistaken(found, looser=LOOSER)})
        if (seed + 1) % max(draws // 5, 1) == 0:
            say(f"{kind}: {seed + 1} of {draws} draws, {time.perf_counter() - started:.0f} s")
    for few, counts in which.items():
        for (how, name), times in counts.most_common(5):
            say(f"    {how} in {times} of {draws}{' (too few people)' if few else ''}: {name}")
    if not told:
        raise RuntimeError(f"every finding has too few people: {kind}")
    return [
        Bar(
            name=f"{kind}: share of draws with a bound {how}, at the least",
            value=least_share(hits[how], draws),
            goal=ERROR,
            side="at most",
            why=f"{hits[how]} of {draws} draws, {told} findings with enough people",
        )
        for how in HOWS
    ]


def power(loosely: Counter[str], draws: int) -> Bar:
    """Return the bar of bounds that are too loose: of those above 0 and below 0 the fewer."""
    least = min(loosely["above 0"], loosely["below 0"])
    return Bar(
        name=f"power: the same share of bounds of {LOOSER} times the error, above 0 and below",
        value=least_share(least, draws),
        goal=ERROR,
        side="at least",
        why=f"{least} of {draws} draws",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--draws", type=int, default=None)
    parser.add_argument("--only", nargs="*", default=[], help="words of a kind's name")
    arguments = parser.parse_args()
    draws = arguments.draws or (QUICK_DRAWS if arguments.quick else DRAWS)
    kinds = [kind for kind in KINDS if all(word in kind for word in arguments.only)]
    loosely = Counter[str]()
    bars = [bar for kind in kinds for bar in bars_of(kind, draws, loosely)]
    report([*bars, power(loosely, draws * len(kinds))])


if __name__ == "__main__":
    main()
