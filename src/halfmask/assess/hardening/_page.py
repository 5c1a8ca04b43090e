"""What a page shows of models with and without defences: tables, pictures, verdicts."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from halfmask.assess._risk import listed, percent
from halfmask.assess.attacks import EVERYONE, explain_verdicts
from halfmask.plots.svg import Chart, ChartLine, Word
from halfmask.release import PicturesBlock, TableBlock, TextBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halfmask.assess._arrays import Floats
    from halfmask.assess.attacks import AttackReport
    from halfmask.assess.robustness import AttackerBudget, CostToFlip
    from halfmask.plots.svg import Anchor, Series
    from halfmask.release.page import AnyBlock

#: Points of a curve: a number across, and a share.
Points: TypeAlias = "tuple[tuple[float, float], ...]"
_NONE: Final = "—"
#: Costs are drawn up to this quantile of the found ones, at so many places.
_DRAWN, _PLACES = 0.9, 49
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 320, 212, 36.0, 212.0, 22.0, 170.0
#: Names of lines are at least so far from each other.
_APART: Final = 13.0
#: The plain model, and defences: of one colour, with dashes of their own.
_LOOKS: Final[tuple[tuple[Series, str], ...]] = (
    ("before", ""),
    ("after", ""),
    ("after", "7 4"),
    ("after", "2 4"),
)
_KNOWS: Final = {"model": "knows the model", "labels": "asks the model for labels alone"}
_BOUNDS: Final = {
    "greatest": "no column's change costs more than {:.3g}",
    "sum": "all changes of a row cost {:.3g} at most",
    "columns": "at most {:.0f} columns of a row change",
}
_WAYS: Final = {"up": " (only up)", "down": " (only down)", "any": ""}


def evasion(
    costs: Mapping[str, CostToFlip],
    parts: Mapping[str, Mapping[str, float]],
    budget: AttackerBudget,
) -> list[AnyBlock]:
    """Return what it costs to flip rows of each model, which columns do it, and whose rows flip."""
    free = [f"{n}{_WAYS[it.change]}" for n, it in budget.columns.items() if it.change != "no"]
    said = f"The attacker {_KNOWS[budget.knows]}, and may change {listed(free)}, so that "
    found = np.concatenate([np.zeros(1), *(it.found for it in costs.values())])
    most = max(2 * budget.most, float(np.quantile(found[np.isfinite(found)], _DRAWN)))
    pictures = []
    for place, (name, it) in enumerate(costs.items()):
        series, _ = _LOOKS[min(place, 1)]
        lines = {"found": _Line(_up_to(it.found, most), series)}
        if not it.exact.all() and not np.isnan(it.certified).all():
            lines["possible"] = _Line(_up_to(it.certified, most), series, "2 4")
        across = ("cost of the change", "{:.2g}".format)
        chart = _line_chart(f"costs-{place}", lines, across, marked=budget.most)
        pictures.append((name, chart, chart.description))
    sentence = "The share of rows that flip by cost. Possible: no attack can flip more, proven."
    changed = {name: it.shares_changed for name, it in costs.items()}
    return [
        TextBlock("", [f"{said}{_BOUNDS[budget.norm].format(budget.most)}."]),
        PicturesBlock("Cost to flip", sentence, pictures, series=("", "")),
        _side_by_side("Changed columns, of the rows that flip", "column", changed),
        _side_by_side("Rows that flip, by class and group", "rows", parts),
    ]


def _up_to(costs: Floats, most: float) -> Points:
    """Return the share of costs up to each place; NaN, nothing proven, is a cost of 0."""
    at = np.linspace(0, most, _PLACES)
    shares = (np.nan_to_num(costs, posinf=np.inf)[:, None] <= at).mean(axis=0)
    return tuple(zip(at.tolist(), shares.tolist(), strict=True))


def _side_by_side(title: str, head: str, shares: Mapping[str, Mapping[str, float]]) -> TableBlock:
    """Return a table of shares, a column for each model."""
    names = dict.fromkeys(name for each in shares.values() for name in each)
    rows = [
        [name, *(percent(round(it[name], 4)) if name in it else _NONE for it in shares.values())]
        for name in names
    ]
    return TableBlock(title=title, columns=(head, *shares), rows=rows)


def poisoning(
    curves: Mapping[str, Mapping[str, Points]], certified: Mapping[str, Sequence[float]]
) -> list[AnyBlock]:
    """Return what hostile training rows do, and how many of them are survived."""
    pictures = []
    for place, kind in enumerate(dict.fromkeys(name for it in curves.values() for name in it)):
        looks = zip(curves.items(), _LOOKS, strict=False)
        lines = {name: _Line(of[kind], *look) for (name, of), look in looks if kind in of}
        chart = _line_chart(f"poison-{place}", lines, ("share of hostile rows", percent))
        pictures.append((kind.replace("-", " "), chart, chart.description))
    for name, shares in certified.items():
        lines = {name: _Line(tuple((float(n), it) for n, it in enumerate(shares)), "after")}
        chart = _line_chart("certified", lines, ("hostile rows", "{:.0f}".format))
        pictures.append(("certified accuracy", chart, chart.description))
    sentence = "Certified accuracy: rows that stay predicted right, whatever hostile rows hold."
    return [PicturesBlock("Over hostile rows", sentence, pictures, series=("", ""))]


def verdicts(reports: Mapping[str, AttackReport]) -> TableBlock:
    """Return a table of all findings about everyone."""
    rows, found = [], []
    for name, report in reports.items():
        for each in (it for it in report.findings if it.outcome.group == EVERYONE):
            outcome, plain = each.outcome, each.positive_control
            arms = (outcome.success, outcome.reference, plain and plain.success)
            is_there = not each.failure and outcome.trials
            shares = [f"{arm.value:.3f}" if arm and is_there else _NONE for arm in arms]
            rows.append([name, outcome.attack, outcome.measure, *shares, each.verdict, each.why])
            found.append(each)
    return TableBlock(
        title="Verdicts",
        columns=("model", "attack", "measure", "attacked", "control", "plain", "verdict", "why"),
        rows=rows,
        caption=" ".join(explain_verdicts(found)),
    )


class _Line(NamedTuple):
    points: Points
    series: Series
    dashes: str = ""


def _line_chart(
    name: str,
    lines: Mapping[str, _Line],
    across: tuple[str, Callable[[float], str]],
    *,
    marked: float | None = None,
) -> Chart:
    """Draw shares over a number, each line with its name at its end; a budget is marked."""
    (axis, label), points = across, [it for line in lines.values() for it in line.points]
    shares, most = [share for _, share in points], max(x for x, _ in points) or 1.0
    low = 0.0 if marked else floor(min(shares) * 10) / 10
    high = 1.0 if marked else max(ceil(max(shares) * 10) / 10, low + 0.1)

    def at(x: float, share: float) -> tuple[float, float]:
        up = (share - low) / (high - low)
        return _LEFT + (_RIGHT - _LEFT) * x / most, _BOTTOM - (_BOTTOM - _TOP) * up

    curves, words = [], [_word(axis, (_LEFT + _RIGHT) / 2, _HEIGHT - 6, "middle")]
    for share in (low, (low + high) / 2, high):
        curves.append(ChartLine(series="rule", points=(at(0.0, share), at(most, share))))
        words.append(_word(f"{share:.0%}", _LEFT - 6, at(0.0, share)[1] + 4, "end"))
    words += [_word(label(x), at(x, low)[0], _BOTTOM + 16, "middle") for x in (0.0, most / 2, most)]
    if marked is not None:
        rule = at(marked, low), at(marked, high)
        curves.append(ChartLine(series="rule", points=rule, dashes="3"))
        words.append(_word("budget", rule[0][0], _TOP - 6, "middle"))
    y, said = -_APART, []
    for each, (path, series, dashes) in sorted(lines.items(), key=lambda it: -it[1].points[-1][1]):
        curves.append(ChartLine(series=series, points=tuple(at(*it) for it in path), dashes=dashes))
        y = max(y + _APART, at(*path[-1])[1] + 4)
        words.append(_word(each, _RIGHT + 26, y, "start", strong=True))
        sample = ((_RIGHT + 5, y - 4), (_RIGHT + 21, y - 4))
        curves.append(ChartLine(series=series, points=sample, dashes=dashes))
        shown = ", ".join(f"{share:.1%} at {label(x)}" for x, share in path[:: len(path) // 6 + 1])
        said.append(f"{each.capitalize()}: {shown}.")
    return Chart(
        name=name,
        title=f"{', '.join(lines)} over {axis}",
        description="\n".join(said),
        width=_WIDTH,
        height=_HEIGHT,
        bars=(),
        words=tuple(words),
        baseline=None,
        outline="",
        rows=(),
        curves=tuple(curves),
    )


def _word(text: str, x: float, y: float, anchor: Anchor, *, strong: bool = False) -> Word:
    return Word(text=text, x=round(x, 1), y=round(y, 1), anchor=anchor, strong=strong)
