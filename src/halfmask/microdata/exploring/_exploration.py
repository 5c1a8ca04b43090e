"""Exploration: risk and utility of many policies on one table, and which are on the frontier."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import ParameterError
from halfmask._html_table import html_table
from halfmask.data import atomic_folder
from halfmask.microdata.exploring._exploration_picture import exploration_picture
from halfmask.microdata.exploring._measured_grid import MeasuredGrid
from halfmask.microdata.exploring._points import DETAIL, NOTE

if TYPE_CHECKING:
    from halfmask.microdata.exploring._grid import GridPolicy
    from halfmask.microdata.exploring._points import ExploredPoint

#: The file that marks a folder as one of an exploration.
MARKER: Final = "exploration.json"
#: Columns of `to_frame` that are the measures of a point, other than the detail of columns.
MEASURES: Final = (
    "classes", "suppressed", "highest", "average", "journalist_highest", "journalist_average",
    "all_columns", "unique", "loss", "ncp", "discernibility", "non_uniform_entropy",
    "ambiguity", "squared_error", "kept", "objective", "score", "score_raw",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Exploration(MeasuredGrid):
    """The policies that were tried on a table, by risk and utility.

    Parameters
    ----------
    points
        The policies that the table can keep.
    refused
        Those that can't be, or that the table can't keep, each with the reason.
    trials
        What a release by the given policy would keep without each of its guarantees.
    rows, table_rows
        How many rows were explored, and how many the table has.
    grid_policies
        How many policies the grid has; more than there are points if some were drawn.
    random_state
        The seed of the draws.
    raw
        The raw table's classes, and its highest, average and unique risk.
    risk, utility
        The axes of the frontier: keys of `RISKS` and `UTILITIES`, or ``detail:COLUMN``.
    search
        How the nodes of the lattice were found, where these were asked for.
    """

    def __repr__(self) -> str:
        return (
            f"Exploration({len(self.points)} points, {len(self.frontier)} on the frontier, "
            f"{len(self.refused)} refused)"
        )

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each policy; refused ones have a reason, and no numbers.

        Columns: ``number``, ``name``, ``method``, ``recoding``, ``max_suppression``, the parameters
        that were varied, ``frontier``, the measures of `PointMeasures`, ``detail:COLUMN`` for each
        quasi-identifier, ``level:COLUMN`` in words with full-domain generalization, ``also``, the
        names of other policies whose release has the same rows, and ``why``.
        """
        best = {each.asked.number for each in self.frontier}
        rows = [
            _row(each.asked)
            | {"frontier": each.asked.number in best}
            | {name: getattr(each.measures, name) for name in MEASURES}
            | {f"{DETAIL}{name}": kept for name, kept in each.measures.detail.items()}
            | {f"level:{name}": it.words for name, it in each.measures.levels.items()}
            | {"also": ", ".join(it.name for it in each.also)}
            for each in self.points
        ]
        rows += [_row(each) | {"why": each.why} for each in self.refused]
        names = dict.fromkeys(name for row in rows for name in row)
        last = ["why"] if "why" in names else []
        ordered = [*(name for name in names if name != "why"), *last]
        return pl.DataFrame([{name: row.get(name) for name in ordered} for row in rows],
                            infer_schema_length=None).sort("number")  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return everything under its name, for JSON."""
        best = {each.asked.number for each in self.frontier}
        return {
            "note": NOTE,
            "rows": self.rows,
            "table_rows": self.table_rows,
            "grid_policies": self.grid_policies,
            "seed": self.random_state,
            **({"search": self.search_sentence} if self.search else {}),
            "raw": dict(self.raw),
            "axes": {"risk": self.risk, "utility": self.utility},
            "points": [
                {**each.to_dict(), "frontier": each.asked.number in best} for each in self.points
            ],
            "refused": [each.to_dict() for each in self.refused],
            "guarantees": [each.to_dict() for each in self.trials],
        }

    def to_svg(self) -> str:
        """Draw the points by risk and loss, with the frontier and a table of its points."""
        return exploration_picture(self)

    def taken(self, number: int, *, folder: str | Path) -> str:
        """Return the policy of a point as TOML, with what was measured as a comment.

        Parameters
        ----------
        number
            The point's number, or that of a policy whose release has the same rows.
        folder
            Where the policy file will be.

        Raises
        ------
        ParameterError
            If no point has the number.
        """
        for point in self.points:
            for each in (point.asked, *point.also):
                if each.number == number:
                    return _policy_text(self, point, each, Path(folder))
        raise ParameterError(
            f"No policy that the table can keep has the number {number}.",
            hint=f"There are {len(self.points)} points; each is listed with its number.",
        )

    def write(self, out: str | Path, *, overwrite: bool = False) -> None:
        """Write the picture, the numbers, and each policy that can be kept as a file.

        Parameters
        ----------
        out
            The folder to make: ``frontier.svg``, ``points.csv``, ``exploration.json``, and
            ``policies`` with a file for each policy, which ``halfmask protect`` takes.
        overwrite
            Whether an earlier exploration of that name may be replaced.

        Raises
        ------
        ReleaseError
            If the folder exists, or can't be written; nothing is left.
        """
        target = Path(out)
        with atomic_folder(target, overwrite=overwrite, marker=MARKER) as folder:
            (folder / "policies").mkdir()
            for each in (it for point in self.points for it in (point.asked, *point.also)):
                text = self.taken(each.number, folder=target / "policies")
                (folder / "policies" / each.file).write_text(text, encoding="utf-8")
            (folder / "frontier.svg").write_text(self.to_svg(), encoding="utf-8")
            self.to_frame().write_csv(folder / "points.csv")
            text = json.dumps(self.to_dict(), indent=1, allow_nan=False)
            (folder / MARKER).write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Show the frontier, or all nodes, as a table in a notebook."""
        rows = [
            (
                each.asked.number,
                each.name,
                f"{self.place(each)[0]:.4g}",
                f"{self.place(each)[1]:.4g}",
                f"{each.measures.classes:,}",
            )
            for each in self.listed
        ]
        heads = ("number", "policy", f"risk: {self.risk}", f"lost: {self.utility}", "classes")
        return html_table(repr(self), heads, rows, [NOTE])


def _row(asked: GridPolicy) -> dict[str, Any]:
    return {
        "number": asked.number,
        "name": asked.name,
        "method": asked.method,
        "recoding": asked.recoding,
        "max_suppression": asked.max_suppression,
        **asked.parameters,
    }


def _policy_text(found: Exploration, point: ExploredPoint, asked: GridPolicy, folder: Path) -> str:
    """Return a policy of a point, with what was measured as a comment."""
    policy, measures = asked.policy, point.measures
    if policy is None:
        raise AssertionError("a point has a policy")
    # A column's name may have lines, which would be keys of the policy.
    words = "".join(each if each.isprintable() else " " for each in point.levels_in_words)
    levels = f"# Levels: {words}.\n" if words else ""
    return (
        f"# Made by halfmask explore: {asked.name}.\n{levels}"
        f"# Measured on {found.rows:,} of {found.table_rows:,} rows: highest risk "
        f"{measures.highest:.4g}, average risk {measures.average:.4g},\n"
        f"# {measures.classes:,} classes, {measures.suppressed:,} rows suppressed, information "
        f"loss {measures.loss:.4g}.\n{policy.moved(folder).to_toml()}"
    )
