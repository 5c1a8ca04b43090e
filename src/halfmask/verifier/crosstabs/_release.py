"""How a release of tables of counts and sums is verified: the check of each of its claims."""

from __future__ import annotations

from dataclasses import replace
from math import isclose, prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from halfmask._errors import VerificationError
from halfmask.claims.crosstab_manifest import (
    ADDITIVE,
    CELL_KEY,
    DEVIATIONS,
    EARLIER_TABLES,
    HIDDEN_INTERVALS,
    MINIMUM_COUNT,
    MULTIPLES,
    PRIVATE_COUNTS,
    PROTECTED_CELLS,
    TRUE_VALUES,
)
from halfmask.verifier._privacy_check import check_privacy
from halfmask.verifier.checks import ClaimCount, VerifiedKind
from halfmask.verifier.crosstabs._hidden import (
    check_earlier,
    check_intervals,
    check_protected,
    opened_tables,
)
from halfmask.verifier.crosstabs._opened import problems_of

if TYPE_CHECKING:
    from halfmask.claims import Claim
    from halfmask.verifier.checks import ReleasedFiles
    from halfmask.verifier.crosstabs._opened import Opened
    from halfmask.verifier.crosstabs._system import Floats

#: What sums of floats, and spellings of 15 digits, may differ by: a share of the numbers in them.
_ROUNDING: Final = 1e-9
#: The same for probabilities, which are written with all their digits.
_OF_ONE: Final = 1e-6


def check_true_values(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Count the published cells that aren't those of the originals."""
    opened = opened_tables(files)
    other = n_shown = 0
    for measure, (shown, true, size) in _both(opened).items():
        other += int((np.abs(shown - true) > _ROUNDING * size + 2 * opened.within).sum())
        n_shown += int((~opened.cells[measure].hidden).sum())
    return ClaimCount(
        holds=other == 0 and _stated(claim, "cells") <= n_shown,
        found={"cells": n_shown, "other_cells": other},
        words=f"{other:,} of {n_shown:,} cells have other values." if other else "",
    )


def check_deviations(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Find the published cell that is farthest from its true value."""
    largest, at_most = 0.0, _positive(claim, "at_most")
    for shown, true, size in _both(opened_tables(files)).values():
        off = np.abs(shown - true) - _ROUNDING * size
        largest = max(largest, float(off.max(initial=0.0)))
    return ClaimCount(holds=largest <= at_most, found={"largest": largest})


def _both(opened: Opened) -> dict[str | None, tuple[Floats, Floats, Floats]]:
    """Return what is published and what is true of each cell that isn't hidden, by measure.

    True cells without a line are published as 0. The third is what the true value is a sum of.
    """
    found = {}
    for measure, tally in opened.tallies.items():
        cells, who = opened.cells[measure], tally.of_cells()
        shown = np.zeros(len(who.value))
        shown[: len(cells.value)] = cells.value
        kept = ~np.isnan(shown)
        found[measure] = shown[kept], who.value[kept], who.absolute[kept]
    return found


def check_additive(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Add up each equation that has no hidden cell."""
    whole = broken = 0
    opened, within = opened_tables(files), claim.parameters.get("within", 0.0)
    if within != opened.within:
        raise VerificationError("The claim states another rounding than there is.")
    for cells in opened.cells.values():
        size = abs(cells.equations)
        is_whole = size @ cells.hidden.astype(np.float64) == 0
        shown = np.nan_to_num(cells.value)
        slack = _ROUNDING * (size @ np.abs(shown)) + within * size.sum(axis=1)
        lacks = np.abs(cells.equations @ shown) > slack
        whole += int(is_whole.sum())
        broken += int((is_whole & lacks).sum())
    return ClaimCount(
        holds=broken == 0 and _stated(claim, "equations") <= whole,
        found={"equations": whole, "broken": broken},
        words=f"{broken:,} of {whole:,} sums don't add up." if broken else "",
    )


def check_multiples(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Count the published cells that aren't multiples of a base."""
    base, other = _positive(claim, "base"), 0
    for cells in opened_tables(files).cells.values():
        shown = cells.value[~cells.hidden]
        off = np.abs(shown - np.rint(shown / base) * base)
        slack = 4 * np.spacing(np.maximum(np.abs(shown), base))
        other += int(((off > slack) | (4 * slack > base)).sum())
    return ClaimCount(holds=other == 0, found={"other_cells": other})


def check_minimum(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Count the published counts from 1 to one below a number."""
    n, counts = _positive(claim, "n"), opened_tables(files).cells.get(None)
    if counts is None or n < 2:
        raise VerificationError("There are no counts, or none that are too small.")
    small = int(((counts.value > 0) & (counts.value < n)).sum())
    return ClaimCount(holds=small == 0, found={"small": small})


def check_cell_key(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Repeat the arithmetic of the transition table: sums, means, variances and bounds."""
    most, variance = claim.parameters["max_deviation"], _positive(claim, "variance")
    table = np.array(claim.evidence["transitions"], dtype=np.float64)
    if not isinstance(most, int) or table.ndim != 2 or table.shape[1] != 2 * most + 1:
        raise VerificationError("The transition table isn't one of its largest deviation.")
    counts, off = np.arange(len(table)), np.arange(-most, most + 1)
    means, squares = table @ off, table @ off**2
    is_negative = (counts[:, None] + off < 0) & (table > 0)
    rest = slice(1, None)
    good = (
        len(table) > most
        and (table >= 0).all()
        and np.allclose(table.sum(axis=1), 1, rtol=0, atol=_OF_ONE)
        and table[0, most] == 1
        and not is_negative.any()
        and np.allclose(means[rest], 0, rtol=0, atol=_OF_ONE)
        and np.allclose(squares[rest], variance, rtol=_OF_ONE, atol=0)
    )
    shown = opened_tables(files).cells
    good = bool(good) and [*shown] == [None] and not shown[None].hidden.any()
    return ClaimCount(holds=good, found={"variance": float(squares[rest].min(initial=np.inf))})


def check_private_counts(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Compose the noise of all tables again; each table must have some, in each of its cells."""
    opened, found = opened_tables(files), check_privacy(claim, files)
    noise, events, unit = claim.about["noise"], claim.evidence["events"], claim.about["unit"]
    tables = {each.name: each for each in opened.details.tables}
    rows = unit["max_rows"] if isinstance(unit, dict) else None
    if not isinstance(noise, list) or not isinstance(events, list) or not isinstance(rows, int):
        raise VerificationError("The claim doesn't state the noise of its tables.")
    covered = []
    for each, event in zip(noise, events, strict=True):
        stated: Any = each
        names = tables[str(stated["table"])].dimensions
        cells = prod(len(opened.trees[name].leaves) for name in names)
        multiplier = stated["scale"] / stated["sensitivity"]
        covered.append(
            (stated["cells"], event) == (cells, _laplace(event, multiplier, cells))
            and stated["sensitivity"] >= rows
        )
    dimensions = [{*tables[str(it["table"])].dimensions} for it in noise if isinstance(it, dict)]
    whole = all(any({*it.dimensions} <= own for own in dimensions) for it in tables.values())
    plain = [*opened.cells] == [None] and not opened.cells[None].hidden.any()
    return replace(found, holds=found.holds and all(covered) and whole and plain)


def _laplace(event: Any, multiplier: float, cells: int) -> Any:  # noqa: ANN401 # JSON
    """Return an event if it is Laplace noise of a scale on so many cells."""
    close = isclose(event["noise_multiplier"], multiplier, rel_tol=_OF_ONE)
    right = event["mechanism"] == "laplace" and close and event["coordinates"] == cells
    return event if right else None


def _positive(claim: Claim, name: str) -> float:
    value: Any = claim.parameters[name]
    if not isinstance(value, int | float) or not 0 < value < np.inf:
        raise VerificationError(f"The parameter {name!r} must be a number above 0.")
    return float(value)


def _stated(claim: Claim, name: str) -> int:
    value = claim.evidence[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise VerificationError("A number of the evidence isn't whole.")
    return value


KIND: Final = VerifiedKind(
    checks={
        TRUE_VALUES: ("counted", check_true_values),
        ADDITIVE: ("counted", check_additive),
        HIDDEN_INTERVALS: ("counted", check_intervals),
        PROTECTED_CELLS: ("counted", check_protected),
        EARLIER_TABLES: ("counted", check_earlier),
        MULTIPLES: ("counted", check_multiples),
        DEVIATIONS: ("counted", check_deviations),
        MINIMUM_COUNT: ("counted", check_minimum),
        CELL_KEY: ("accounted", check_cell_key),
        PRIVATE_COUNTS: ("accounted", check_private_counts),
    },
    inputs=frozenset({"originals", "earlier"}),
    needs={
        TRUE_VALUES: ("originals",),
        PROTECTED_CELLS: ("originals",),
        DEVIATIONS: ("originals",),
        EARLIER_TABLES: ("earlier",),
    },
    problems=problems_of,
)
