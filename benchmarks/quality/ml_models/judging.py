"""The bars of issue 3 that this benchmark measures."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from bars import Bar
from ml_models import hour, membership
from ml_models.grid import Cell, Grid
from ml_models.methods import OUR_METHODS, OURS
from ml_models.plan import BAR_KS, KS, RAW
from ml_models.tables import findings_of

if TYPE_CHECKING:
    from ml_models.intervals import Mean
    from ml_models.store import Store
    from ml_models.tables import Table

PEERS = ("toolkit", "toolkit-qi")
AHEAD = 0.01
MOST_LOST = {100: 0.008, 1000: 0.025}
MOST_EXCESS = 0.03
MOST_TPR = 0.005
NEAR = {"adult": 0.02, "nursery": 0.03}
#: What an attack on a tree reaches that doesn't look at `social`: the prior alone.
GUESSED = "; guessing `other` for all, and so a tree that doesn't look at `social`, reaches .667"


def bars(grid: Grid, store: Store, first: Table, second: Table) -> list[Bar]:
    """Return every bar; those that weren't measured say why."""
    return [
        _k_holds(grid),
        *_beside_the_toolkit(grid),
        *_beside_raw(grid),
        *_near_the_paper(first, "table 1"),
        *_near_the_paper(second, "table 2"),
        *_resisted(store),
        hour.bar(store),
    ]


def _k_holds(grid: Grid) -> Bar:
    outputs = [
        (cell, line)
        for cell, lines in grid.lines.items()
        if cell.method in OUR_METHODS
        for line in lines.values()
    ]
    below = sum(line["smallest_class"] < cell.k for cell, line in outputs)
    return Bar(
        name="outputs of ours with a class below k, by the verifier",
        value=float(below) if outputs else None,
        goal=0,
        side="at most",
        why=f"of {len(outputs)} outputs" if outputs else "no outputs",
    )


def _peer_difference(grid: Grid, data: str, qi: str, model: str, k: int) -> Mean | None:
    """Return how far ours is ahead of the toolkit, the better of its two ways, seed by seed."""
    ours = Cell(data, qi, model, OURS, k)
    found = [grid.difference(ours, Cell(data, qi, model, peer, k)) for peer in PEERS]
    there = [each for each in found if each is not None]
    return min(there, key=lambda each: each.mean) if there else None


def _beside_the_toolkit(grid: Grid) -> list[Bar]:
    found = {
        (*scene, k): ahead
        for scene in grid.scenes()
        for k in KS
        if (ahead := _peer_difference(grid, *scene, k)) is not None
    }
    worst = min(found, key=lambda each: found[each].mean, default=None)
    behind = [" ".join(map(str, each)) for each, ahead in found.items() if ahead.mean < 0]
    surely = [ahead for ahead in found.values() if ahead.high is not None and ahead.high < 0]
    result = [
        Bar(
            name="test accuracy above ai-privacy-toolkit's: the least over data, model and k",
            value=None if worst is None else found[worst].mean,
            goal=0,
            side="at least",
            why=f"{len(found)} cells, surely behind (95 % over seeds) in {len(surely)}, behind in "
            f"{len(behind)}: {', '.join(behind)}"
            if found
            else "the toolkit wasn't run",
        )
    ]
    for qi in ("10", "12"):
        over_k = [found.get(("adult", qi, "nn", k)) for k in BAR_KS]
        known = [each.mean for each in over_k if each is not None]
        complete = len(known) == len(BAR_KS)
        result.append(
            Bar(
                name=f"adult {qi} QI nn: mean over k of test accuracy above ai-privacy-toolkit's",
                value=fmean(known) if complete else None,
                goal=AHEAD,
                side="at least",
                why="" if complete else f"{len(known)} of {len(BAR_KS)} k measured",
            )
        )
    return result


def _beside_raw(grid: Grid) -> list[Bar]:
    result = []
    for qi in ("10", "12"):
        for k, most in MOST_LOST.items():
            raw = Cell("adult", qi, "nn", RAW, 0)
            lost = grid.difference(raw, Cell("adult", qi, "nn", OURS, k))
            result.append(
                Bar(
                    name=f"adult {qi} QI nn k={k}: test accuracy lost against raw",
                    value=None if lost is None else lost.mean,
                    goal=most,
                    side="at most",
                    why="not measured" if lost is None else f"{lost.seeds} seeds",
                )
            )
    return result


def _near_the_paper(table: Table, title: str) -> list[Bar]:
    """Say how far each row's attack accuracy is from the paper's, where the data are the same."""
    result = []
    for row in table:
        paper, ours = row["paper"], row["ours"]
        if paper["data"] not in NEAR or paper["method"].startswith("dp "):
            continue  # Lending Club is another vintage, the private models other programs
        attack = ours["attack"] if ours else None
        result.append(
            Bar(
                name=f"{title}, {row['row']}: attack accuracy, away from the paper's",
                value=None if attack is None else abs(attack["mean"] - paper["attack"]),
                goal=NEAR[paper["data"]],
                side="at most",
                why="not measured"
                if attack is None
                else f"ours {attack['mean']:.3f}, the paper's {paper['attack']:.2f}"
                + (GUESSED if paper["data"] == "nursery" else ""),
            )
        )
    return result


def _resisted(store: Store) -> list[Bar]:
    """Say what the attacks reach at most against ours, and at least against the raw model."""
    lines = [(k, line) for k, line in store.lines.items() if k.kind in membership.KINDS]
    lines = [(key, line) for key, line in lines if "failed" not in line]
    ours = [line for key, line in lines if key.method in OUR_METHODS]
    raw = [line for key, line in lines if key.method == RAW]
    tprs = _all(ours, "", "0.1 % FPR, original")
    return [
        _bar(
            "membership: worst upper 95 % bound of attack minus control, ours",
            [each["excess_high"] for each in _all(ours, "", "accuracy, original")],
            MOST_EXCESS,
            "ours weren't attacked",
        ),
        _bar(
            "membership: worst TPR at 0.1 % FPR, ours",
            [each["value"] for each in tprs],
            MOST_TPR,
            "no attack measured it",
        ),
        _raw_is_broken(raw),
    ]


def _all(lines: list[dict[str, Any]], attack: str, measure: str) -> list[dict[str, Any]]:
    return [finding for line in lines for finding in findings_of(line, attack, measure)]


def _bar(name: str, values: list[float], goal: float, why_not: str) -> Bar:
    return Bar(
        name=name,
        value=max(values, default=None),
        goal=goal,
        side="at most",
        why=f"{len(values)} findings" if values else why_not,
    )


def _raw_is_broken(raw: list[dict[str, Any]]) -> Bar:
    """Say by how many attacks each raw model is broken: the least over models."""
    found = [_all([line], "", "accuracy, original") for line in raw]
    shares = [max((each["excess"] for each in of_one), default=0.0) for of_one in found]
    return Bar(
        name="membership: excess of the best attack on a raw model, the least over models",
        value=min(shares, default=None),
        goal=MOST_EXCESS,
        side="at least",
        why=f"{len(raw)} raw models" if raw else "no raw model was attacked",
    )
