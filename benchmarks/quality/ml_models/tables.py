"""Tables 1 and 2 beside the paper's, and the accuracies behind its figures, as JSON and text."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ml_models.attributes import PAPERS
from ml_models.beside import one_training_lines, with_one_training
from ml_models.grid import Cell, Grid
from ml_models.intervals import Mean
from ml_models.plan import KS, RAW
from ml_models.printed import TABLE_1, TABLE_2
from ml_models.running import measured
from ml_models.verdicts import (
    COLUMNS,
    MEASURES,
    VERDICTS,
    counted,
    findings_of,
    in_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ml_models.facts import Facts
    from ml_models.grid import Place
    from ml_models.printed import Printed
    from ml_models.store import Store
    from ml_models.verdicts import Finding

Table = list[dict[str, Any]]


NOTES_1 = (
    "",
    "The attack is the black box of the paper's figure 6, by the rows of members as they were, on",
    "people from whom it didn't learn; precision as if members and others were as many.",
    "Rows with k are `guided` for forests, `guided-centroid` (one training) for the large network.",
    "The large network learns in steps of 0.001 (the paper: 0.0001), and the private network is",
    "NN(100). The loans are of another vintage than the paper's.",
)
NOTES_VERDICTS = (
    "How many seeds the library calls `broken`, `resisted` or `INVALID`, by rows as they were:",
    "`resisted` if the upper bound of attack minus control is at most .03 (for true positives .01",
    "and .004), else `broken`. Where the same attack has too little power on the raw model, with a",
    "lower bound below .05 (.017 and .0067), nothing follows, `INVALID`, unless the lower bound on",
    "the attacked model is beyond the tolerance: then it is `broken`, as some raw models are.",
)
NOTES_2 = (
    "",
    "The attack is the black box that the paper's authors published with their notebooks, as far",
    "as that can be had: a network learns `social` of half the members' other columns and of the",
    "class that the tree predicts, in 200 epochs, and guesses it of the other half. The row k=100",
    "is by the paper's own method, the next one by ours, beside the same numbers. Precision and",
    "recall are of `problematic`. Always guessing `other` is right in two of three.",
)
NOTES_ALL = (
    "How often attacks are right: about members, about strangers, and without the tree, by the",
    "other columns and the label (a forest; the published network without the label). Only what is",
    "right more often than both others tells of members. The paper's method grew its tree on the",
    "strangers, so that in its column they aren't quite strangers.",
)


def table_1(store: Store) -> Table:
    """Membership inference: our numbers and the paper's, row by row."""
    return _table(store, "membership", TABLE_1)


def table_2(store: Store) -> Table:
    """Attribute inference of `social`: our numbers and the paper's, row by row."""
    return _table(store, "attribute", TABLE_2)


def _table(store: Store, kind: str, rows: Sequence[Printed]) -> Table:
    table = []
    for row in rows:
        fields = {"data": row.data, "model": row.model, "method": row.method, "k": row.k}
        lines = list(measured(store, kind=kind, **fields).values())
        table.append({"row": row.label, "paper": asdict(row), "ours": _ours(lines)})
    return table


def _ours(lines: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the means of a row over seeds, and every finding's mean and verdicts."""
    if not lines:
        return None

    def mean(of: Callable[[dict[str, Any]], float | None]) -> dict[str, Any] | None:
        values = [value for line in lines if (value := of(line)) is not None]
        return Mean.of(values).as_json() if values else None

    return {
        "seeds": len(lines),
        "of_seeds": sorted(line["seed"] for line in lines),
        "train": mean(lambda line: line.get("train")),
        "test": mean(lambda line: line.get("test")),
        "attack": mean(lambda line: _first(line, "value")),
        "precision": mean(lambda line: _first(line, "precision")),
        "recall": mean(lambda line: _first(line, "recall")),
        "findings": _over_seeds(lines),
    }


def _first(line: dict[str, Any], name: str) -> float | None:
    """Return a number of the paper's attack, by the members' original rows."""
    by_measure = findings_of(line, PAPERS, name if name != "value" else "accu")
    if by_measure:
        only = by_measure[0]
        # bounds of 0 and 1 rest on no trials: nobody was guessed to be positive
        return None if (only["low"], only["high"]) == (0.0, 1.0) else float(only["value"])
    found = findings_of(line, "membership/black_box", "balanced accuracy, original")
    if not found:
        return None
    value = found[0]["value"] if name == "value" else found[0]["details"].get(name)
    return None if value is None else float(value)


def _over_seeds(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    by_name: dict[tuple[str, str, str], list[Finding]] = {}
    for line in lines:
        for each in line["findings"]:
            by_name.setdefault((each["attack"], each["measure"], each["group"]), []).append(each)
    return [
        {
            "attack": attack,
            "measure": measure,
            "group": group,
            "value": _mean_of(found, "value"),
            "control": _mean_of(found, "control"),
            "baseline": _mean_of(found, "baseline"),
            "excess": _mean_of(found, "excess"),
            "excess_high_mean": sum(each["excess_high"] for each in found) / len(found),
            "excess_high_worst": max(each["excess_high"] for each in found),
            "verdicts": counted(found),
            "why_invalid": sorted({each["why_invalid"] for each in found} - {""}),
        }
        for (attack, measure, group), found in by_name.items()
    ]


def _mean_of(findings: list[Finding], number: str) -> dict[str, Any] | None:
    """Return a mean of seeds where anything was tried; None where nothing was, or there is none.

    Who guesses nobody to be positive has no precision.
    """
    values = [each[number] for each in findings if each["trials"] and each[number] is not None]
    return Mean.of(values).as_json() if values else None


def tables_as_markdown(grid: Grid, first: Table, second: Table, facts: Facts) -> str:
    """Write all tables as Markdown."""
    parts = ["## Table 1: membership inference\n", *_attack_lines(first), *NOTES_1]
    parts += [*_majority_lines(first, facts), "\n### Verdicts on table 1\n"]
    for columns in COLUMNS:
        parts += [*_verdict_lines(first, columns), ""]
    parts += NOTES_VERDICTS
    parts += ["\n## Table 2: attribute inference of `social`\n", *_attack_lines(second), *NOTES_2]
    parts += [*_majority_lines(second, facts), "\n### All attacks on `social`\n"]
    parts += [*_inference_lines(second), "", *NOTES_ALL]
    for place in grid.scenes():
        parts += [f"\n## Test accuracy: {facts.heading(place, grid.seeds(place))}\n"]
        parts += _accuracy_lines(grid, place, facts)
    at_once = with_one_training(grid)
    if at_once:
        parts += ["\n## With one training and the paper's representative, in points: nn\n"]
        parts += one_training_lines(at_once)
    return "\n".join(parts) + "\n"


def _attack_lines(table: Table) -> list[str]:
    lines = [
        "| | train (paper) | test (paper) | attack (paper) | precision (paper) | recall (paper) |",
        "|---|---|---|---|---|---|",
    ]
    for row in table:
        ours, paper = row["ours"] or {}, row["paper"]
        cells = [
            f"{_shown(ours.get(name))} ({'-' if paper[name] is None else paper[name]})"
            for name in ("train", "test", "attack", "precision", "recall")
        ]
        lines.append(f"| {row['row']} | {' | '.join(cells)} |")
    return lines


def _majority_lines(table: Table, facts: Facts) -> list[str]:
    """Say what test accuracy is worth: how often the most frequent class is right."""
    seeds: dict[str, set[int]] = {}
    for row in table:
        if row["ours"]:
            seeds.setdefault(row["paper"]["data"], set()).update(row["ours"]["of_seeds"])
    said = [
        f"{data} {mean}"
        for data, of_data in seeds.items()
        if (mean := facts.majority(data, sorted(of_data))) is not None
    ]
    if not said:
        return []
    return ["", f"Always the most frequent class is right in test rows: {', '.join(said)}."]


def _inference_lines(table: Table) -> list[str]:
    """Write for each attack and row how often it is right, beside strangers and imputation."""
    by_row = [
        {each["attack"]: each for each in findings_of(row["ours"] or {"findings": []}, "", "accu")}
        for row in table
    ]
    rows = " | ".join(row["row"] for row in table)
    lines = [f"| members / strangers / no tree | {rows} |", "|---" * (len(table) + 1) + "|"]
    for attack in dict.fromkeys(name for found in by_row for name in found):
        cells = [_arms(found.get(attack)) for found in by_row]
        lines.append(f"| {attack.partition('/')[2].replace('_', ' ')} | {' | '.join(cells)} |")
    return lines


def _arms(finding: dict[str, Any] | None) -> str:
    means = [finding and finding[arm] for arm in ("value", "control", "baseline")]
    return " / ".join(f"{mean['mean']:.3f}" if mean else "-" for mean in means)


def _verdict_lines(table: Table, columns: Sequence[tuple[str, str]]) -> list[str]:
    """Write for each row how many seeds have which verdict, by attacks and measures."""
    names = [f"{attack.replace('_', ' ')}: {measure}" for attack, measure in columns]
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(columns) + 1) + "|"]
    for row in table:
        found = row["ours"]["findings"] if row["ours"] else []
        cells = [in_words(_verdicts(found, attack, MEASURES[name])) for attack, name in columns]
        lines.append(f"| {row['row']} | {' | '.join(cells)} |")
    return lines


def _verdicts(findings: list[dict[str, Any]], attack: str, measure: str) -> dict[str, int]:
    of_one = findings_of({"findings": findings}, attack, measure)
    return {
        verdict: sum(each["verdicts"].get(verdict, 0) for each in of_one) for verdict in VERDICTS
    }


def _accuracy_lines(grid: Grid, place: Place, facts: Facts) -> list[str]:
    here = [cell for cell in grid.lines if cell.place == place]
    raw = grid.mean(Cell(*place, RAW, 0))
    majority = facts.majority(place[0], grid.seeds(place))
    alone = sorted({cell.method for cell in here if cell.k == 0 and cell.method != RAW})
    parts = [f"raw {raw}"]
    parts += [] if majority is None else [f"always the most frequent class {majority}"]
    parts += [f"{method} {grid.mean(Cell(*place, method, 0))}" for method in alone]
    lines = ["; ".join(parts), ""]
    lines += [f"| method | {' | '.join(f'k={k}' for k in KS)} |", "|---" * (len(KS) + 1) + "|"]
    for method in dict.fromkeys(cell.method for cell in here if cell.k):
        lines += _method_lines(grid, place, method)
    return lines


def _method_lines(grid: Grid, place: Place, method: str) -> list[str]:
    """Write a method's accuracies, and how many of its classes are below k if any are."""
    lines = []
    cells = [Cell(*place, method, k) for k in KS]
    for measure, mark in (("test", ""), ("test_transformed", ", test rows transformed too")):
        means = [grid.mean(cell, measure) for cell in cells]
        if any(mean is not None for mean in means):
            shown = " | ".join("-" if mean is None else str(mean) for mean in means)
            lines.append(f"| {method}{mark} | {shown} |")
    below = [grid.mean(cell, "share_of_classes_below_k") for cell in cells]
    if any(mean is not None and mean.mean > 0 for mean in below):
        shown = " | ".join("-" if mean is None else f"{mean.mean:.0%}" for mean in below)
        lines.append(f"| {method}: classes below k | {shown} |")
    return lines


def _shown(mean: dict[str, Any] | None) -> str:
    return "-" if mean is None else str(Mean(**mean))
