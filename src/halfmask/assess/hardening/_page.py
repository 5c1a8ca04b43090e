"""What a page shows of models with and without defences: tables, pictures, verdicts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask.assess._risk import percent
from halfmask.assess.attacks import EVERYONE, explain_verdicts
from halfmask.assess.hardening._pictures import DASHES, Drawn, line_chart
from halfmask.release import PicturesBlock, TableBlock, TextBlock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.assess._arrays import Floats
    from halfmask.assess.hardening._assessed import AssessedModel
    from halfmask.assess.robustness import AttackerBudget
    from halfmask.release.page import AnyBlock

_NONE: Final = "—"
#: Costs are drawn up to this quantile of the found ones, at so many places.
_DRAWN, _PLACES = 0.9, 49
#: What an attacker knows, as a sentence says it.
_KNOWS: Final = {"model": "knows the model", "labels": "asks the model for labels alone"}
_TOTAL: Final = {
    "greatest": "the greatest cost of a column", "sum": "the sum of the costs of columns",
    "columns": "the number of changed columns",
}  # fmt: skip


def compared(models: Sequence[AssessedModel], scored_by: str) -> TableBlock:
    """Return the table of all models side by side."""
    rows = []
    for it in models:
        costs = it.costs
        found = (None, None) if costs is None else (costs.share_flipped, costs.share_proven)
        survived = [it.certified[n] if n < len(it.certified) else 0.0 for n in (1, 5, 10)]
        rows.append(
            [
                it.name,
                f"{it.score:.3f}",
                _NONE if it is models[0] else f"{models[0].score - it.score:.3f}",
                *(_NONE if share is None else percent(round(share, 4)) for share in found),
                _NONE if costs is None or costs.median is None else f"{costs.median:.3g}",
                " / ".join(f"{share:.3f}" for share in survived) if it.certified else _NONE,
            ]
        )
    return TableBlock(
        title="Models",
        columns=(
            *("model", scored_by, "clean cost", "rows that flip", "proven not to flip"),
            *("median cost to flip", "certified at 1 / 5 / 10 hostile rows"),
        ),
        rows=rows,
        caption="Rows that flip: of those predicted right, by a change within the budget. Proven "
        "not to flip: by no such change. Certified: the share that stays predicted right, whatever "
        "so many hostile training rows hold.",
    )


def evasion(models: Sequence[AssessedModel], budget: AttackerBudget) -> Iterator[AnyBlock]:
    """Yield what the attacker may change, what it costs to flip rows, and which columns do it."""
    free = [name for name, it in budget.columns.items() if it.change != "no"]
    said = f"The attacker {_KNOWS[budget.knows]}, and may change {len(free)} columns. A change "
    yield TextBlock("", [f"{said}costs {_TOTAL[budget.norm]}, at most {budget.most:.3g}."])
    known = {it.name: it.costs for it in models if it.costs is not None}
    found = np.concatenate([np.zeros(1), *(it.found for it in known.values())])
    most = max(2 * budget.most, float(np.quantile(found[np.isfinite(found)], _DRAWN)))
    at = np.linspace(0, most, _PLACES)
    pictures = []
    for place, (name, costs) in enumerate(known.items()):
        series = "after" if place else "before"
        lines = [Drawn("found", _up_to(costs.found, at), series)]
        if not costs.exact.all() and not np.isnan(costs.certified).all():
            lines.append(Drawn("possible", _up_to(costs.certified, at), series, "2 4"))
        chart = line_chart(
            lines,
            name=f"costs-{place}",
            title=f"Cost to flip, {name}",
            across="cost of the change",
            label="{:.2g}".format,
            ticks=(0.0, most / 2, most),
            marked=budget.most,
        )
        pictures.append((name, chart, ""))
    if pictures:
        sentence = (
            "The share of rows that a change of at most this cost flips. Found: by the attack. "
            "Possible: no attack flips more, proven."
        )
        yield PicturesBlock("Cost to flip", sentence, pictures, series=("", ""))
        changed = {name: costs.shares_changed for name, costs in known.items()}
        yield _side_by_side("Changed columns", "of the rows that flip", changed)
    parts = {it.name: it.flipped_by_part for it in models}
    yield _side_by_side("Rows that flip, by class and group", "of the rows of", parts)


def _up_to(costs: Floats, at: Floats) -> list[tuple[float, float]]:
    """Return the share of costs up to each place; NaN, nothing proven, is a cost of 0."""
    shares = (np.nan_to_num(costs, posinf=np.inf)[:, None] <= at).mean(axis=0)
    return list(zip(at.tolist(), shares.tolist(), strict=True))


def _side_by_side(
    title: str, head: str, shares: Mapping[str, Mapping[str, float]], caption: str = ""
) -> TableBlock:
    """Return a table of shares, a column for each model."""
    names = dict.fromkeys(name for each in shares.values() for name in each)
    rows = [
        [name, *(percent(round(it[name], 4)) if name in it else _NONE for it in shares.values())]
        for name in names
    ]
    return TableBlock(title=title, columns=(head, *shares), rows=rows, caption=caption)


def poisoning(models: Sequence[AssessedModel]) -> Iterator[AnyBlock]:
    """Yield what hostile training rows do, and how many of them are survived."""
    kinds = dict.fromkeys(kind for it in models for kind in it.curves)
    pictures = []
    for kind in kinds:
        lines = [
            Drawn(it.name, it.curves[kind], "after" if place else "before", DASHES[place % len(DASHES)])
            for place, it in enumerate(models)
            if kind in it.curves
        ]
        most = max(x for it in lines for x, _ in it.points)
        chart = line_chart(
            lines,
            name="-".join(kind.replace(":", "").split()),
            title=kind,
            across="hostile rows of all training rows",
            label=percent,
            ticks=(0.0, most / 2, most),
        )
        pictures.append((kind, chart, ""))
    for it in models:
        if it.certified:
            points = [(float(n), share) for n, share in enumerate(it.certified)]
            chart = line_chart(
                [Drawn(it.name, points, "after")],
                name="certified",
                title="Certified accuracy",
                across="hostile rows",
                label="{:.0f}".format,
                ticks=(0.0, *points[-1][:1]),
            )
            pictures.append(("Certified accuracy", chart, ""))
    sentence = "What is left of each model by the share of hostile training rows."
    if pictures:
        yield PicturesBlock("Over the share of hostile rows", sentence, pictures, series=("", ""))
    shares = {
        it.name: {
            f"{kind}, {percent(x)} hostile": share
            for kind, curve in it.curves.items()
            for x, share in curve
        }
        for it in models
    }
    yield _side_by_side("The same in numbers", "attack and measure", shares)


def verdicts(models: Sequence[AssessedModel]) -> TableBlock:
    """Return a table of all findings about everyone."""
    rows, found = [], []
    for model in models:
        for each in model.attacks.findings:
            outcome, plain = each.outcome, each.positive_control
            if outcome.group == EVERYONE:
                found.append(each)
                shares = [outcome.success, outcome.reference, plain and plain.success]
                is_there = not each.failure and outcome.trials
                said = [f"{it.value:.3f}" if it and is_there else _NONE for it in shares]
                rows.append([model.name, outcome.attack, outcome.measure, *said, each.verdict])
    return TableBlock(
        title="Verdicts",
        columns=("model", "attack", "measure", "attacked", "control", "plain model", "verdict"),
        rows=rows,
        caption=" ".join(explain_verdicts(found)),
    )


def suspicious(rows: Sequence[int], blocks: Sequence[tuple[int, int, float]]) -> Iterator[AnyBlock]:
    """Yield the most suspicious training rows, and blocks of rows, by number from 0."""
    if rows:
        said = f"Rows {', '.join(f'{row:,}' for row in rows)} have labels unlike their neighbours'."
        yield TextBlock("Suspicious rows", [said, "Rows are numbered from 0."])
    yield TableBlock(
        title="Suspicious blocks of rows",
        columns=("rows", "loss on held-out rows that it adds"),
        rows=[[f"{first:,} to {last:,}", f"{lost:+.4f}"] for first, last, lost in blocks],
        caption="A model was trained without each block. A block that adds much is suspicious.",
    )
