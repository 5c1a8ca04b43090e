"""The bars of issue 3 that this benchmark measures."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from bars import Bar
from ml_models import hour, verdicts
from ml_models.beside import beside_the_toolkit, by_family, counted
from ml_models.grid import Cell, Grid
from ml_models.methods import OUR_METHODS, OURS
from ml_models.plan import BAR_KS, RAW

if TYPE_CHECKING:
    from ml_models.beside import Difference
    from ml_models.store import Store
    from ml_models.tables import Table

#: Of our methods those that others devised; the rest are guided by a model.
CLASSIC = ("workload-aware", "mondrian")
GUIDED = tuple(name for name in OUR_METHODS if name not in CLASSIC)
AHEAD = 0.01
MOST_LOST = {100: 0.008, 1000: 0.025}
NEAR = {"adult": 0.02, "nursery": 0.03}


def bars(grid: Grid, store: Store, first: Table, second: Table) -> list[Bar]:
    """Return every bar; those that weren't measured say why."""
    return [
        _k_holds(grid),
        *_beside_the_toolkit(grid),
        *_beside_raw(grid),
        *_near_the_paper(first, "table 1"),
        *_near_the_paper(second, "table 2"),
        *verdicts.bars(store),
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
    guided = sum(cell.method in GUIDED for cell, _ in outputs)
    return Bar(
        name="outputs of ours with a class below k, by the verifier",
        value=float(below) if outputs else None,
        goal=0,
        side="at most",
        why=f"of {len(outputs)} outputs, all by halfmask's code: {guided} guided by a model, "
        f"{len(outputs) - guided} of methods that others devised ({', '.join(CLASSIC)})"
        if outputs
        else "no outputs",
    )


def _beside_the_toolkit(grid: Grid) -> list[Bar]:
    """Say where ours is behind the better of the toolkit's two ways, and how far it is ahead."""
    found = beside_the_toolkit(grid)
    least = Bar(
        name="test accuracy above ai-privacy-toolkit's: the least over data, model and k",
        value=min((each.ahead.mean for each in found), default=None),
        goal=0,
        side="at least",
        why=_where_behind(found) if found else "the toolkit wasn't run",
    )
    return [least, *(_mean_over_k(found, qi) for qi in ("10", "12"))]


def _where_behind(found: list[Difference]) -> str:
    families = [f"{family}: {_told(counts)}" for family, counts in by_family(found).items()]
    behind = ", ".join(each.name for each in found if each.behind)
    return "; ".join(
        [
            f"{_told(counted(found))} (sure by 95 % over seeds, each by itself)",
            *families,
            *([f"behind: {behind}"] if behind else []),
        ]
    )


def _told(counts: dict[str, Any]) -> str:
    return (
        f"behind in {counts['behind']} of {counts['cells']}, surely in {counts['surely_behind']}, "
        f"surely ahead in {counts['surely_ahead']}, the least {counts['least']:+.4f} "
        f"({counts['least_at']})"
    )


def _mean_over_k(found: list[Difference], qi: str) -> Bar:
    by_k = {each.cell.k: each for each in found if each.cell.place == ("adult", qi, "nn")}
    known = [by_k[k].ahead.mean for k in BAR_KS if k in by_k]
    complete = len(known) == len(BAR_KS)
    return Bar(
        name=f"adult {qi} QI nn: mean over k of test accuracy above ai-privacy-toolkit's",
        value=fmean(known) if complete else None,
        goal=AHEAD,
        side="at least",
        why="" if complete else f"{len(known)} of {len(BAR_KS)} k measured",
    )


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
                else f"ours {attack['mean']:.3f}, the paper's {paper['attack']:.2f}",
            )
        )
    return result
