"""``halfmask assess regression``: the owner's own regression, before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.cli import _rooms as rooms
from halfmask.cli._console import console, listing, printable
from halfmask.cli._option_groups import argument, option, required, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess.masking import RegressionUtility


@spreads_groups
def regression(
    table: str = TABLE,
    released: str = argument(
        "RELEASE: The folder of a release of TABLE, or a file with released rows."
    ),
    *,
    formula: str = required(
        "--formula FORMULA: Columns of TABLE, such as 'income ~ age + C(sex)'. C() makes numbers "
        "categories."
    ),
    weights: str | None = option(
        "--weights COLUMN: The column of sampling weights, in TABLE and in RELEASE."
    ),
    out: str | None = option("--out -o FILE: Write the results to this file, as JSON."),
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Fit a regression to TABLE and to RELEASE, and compare coefficients.

    A number is fitted by least squares, an outcome of two categories by logistic regression. The
    difference is in standard errors of TABLE. The overlap is that of both 95 % confidence
    intervals; 1 is best. Rows with a missing or suppressed cell are left out. Names of categories
    are shown only if RELEASE has them. Files are written only if you name them.
    """
    with saying.stages() as stages:
        stages("reading")
        original = reading.open(table).read()
        rows = _released_rows(released)
        stages("fitting")
        found = rooms.assess.masking.compare_regression(original, rows, formula, weights=weights)
    if out is not None:
        with rooms.data.atomic_file(Path(out)) as file:
            file.write(json.dumps(found.to_dict(), indent=2, allow_nan=False).encode() + b"\n")
    return saying.say(found.to_dict(), lambda: _show(found))


def _released_rows(released: str) -> pl.DataFrame:
    if (Path(released) / rooms.claims.MANIFEST_NAME).is_file():
        from halfmask.release import read_release  # noqa: PLC0415 # half a second

        return read_release(released, ranges="text", sets="text")
    return Reading(called="The released table").open(released).read()


def _show(found: RegressionUtility) -> None:
    numbers = ("TABLE", "error", "RELEASE", "error ", "difference", "overlap")
    table = listing(f"{found.family} regression", *numbers, right=numbers)
    for name, *cells, overlap in found.coefficients.rows():
        shown = ["-" if each is None else f"{each:.4g}" for each in cells]
        table.add_row(printable(name), *shown, f"{overlap:.3f}")
    screen = console()
    screen.print(table)
    screen.print(
        f"Mean overlap {found.mean_overlap:.3f}, least {found.least_overlap:.3f}. Rows: "
        f"{found.rows:,} of TABLE ({found.left_out:,} left out), {found.released_rows:,} of "
        f"RELEASE ({found.released_left_out:,} left out).",
        soft_wrap=True,
    )
