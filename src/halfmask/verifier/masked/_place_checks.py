"""Checks of points: centres of a grid, and the arithmetic of geo-indistinguishability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.masked._cell_checks import columns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.claims import Claim
    from halfmask.claims.claim import Json

#: Metres of a unit, and the digits behind the point of a centre.
_UNITS: Final = {"metres": (1.0, 2), "kilometres": (1000.0, 5), "feet": (0.3048, 2)}
_DEGREE_DIGITS: Final = 7
#: From pole to pole over the ground, and round the equator, in metres.
_MERIDIAN: Final = 20_003_930.0
_EQUATOR: Final = 40_075_020.0
#: The share of epsilon that draws may use: the rest is for floats, rounding and the earth's shape.
_DRAWN_SHARE: Final = 0.999


def check_centres(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the points that aren't the centre of a square of the stated width."""
    width, unit = _number(claim.parameters.get("width")), claim.parameters.get("unit")
    x, y, rows = _points(claim, table)
    if unit == "degrees":
        n_rows = max(1, round(_MERIDIAN / width))
        row = np.clip(np.rint((y + 90) / 180 * n_rows - 0.5), 0, n_rows - 1)
        lat = (row + 0.5) / n_rows * 180 - 90
        n_columns = np.maximum(1, np.rint(_EQUATOR * np.cos(np.radians(lat)) / width))
        column = np.rint((x + 180) / 360 * n_columns - 0.5) % n_columns
        away = np.maximum(np.abs(x - ((column + 0.5) / n_columns * 360 - 180)), np.abs(y - lat))
        away[(x == 0) & (y == 0)] = 0  # which stands for an unknown place, and stays
        digits = _DEGREE_DIGITS
    elif unit in _UNITS:
        metres, digits = _UNITS[str(unit)]
        side = width / metres
        away = np.maximum(*(np.abs(it - (np.floor(it / side) + 0.5) * side) for it in (x, y)))
    else:
        raise VerificationError("The unit of the claim is none of points.")
    slack = 0.6 * 10.0**-digits + 4 * np.spacing(np.maximum(np.abs(x), np.abs(y)))
    other = int(rows[~(away <= slack)].sum())
    return ClaimCount(holds=other == 0, found={"other_points": other})


def check_geo_indistinguishability(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Repeat the arithmetic, and count what the files show: digits, and places of a person.

    Notes
    -----
    Draws use at most 0.999 of epsilon per metre. Places of a person add up. Where the column of the
    person is released, nobody may have more masked places than the claim states.
    """
    given, evidence = claim.parameters, claim.evidence
    epsilon, metres = _number(given.get("epsilon")), _number(given.get("metres"))
    places, decimals = given.get("places"), evidence.get("decimals")
    if type(places) is not int or places < 1 or type(decimals) is not int:
        raise VerificationError("The claim must state the places of a person and the decimals.")
    x, y, rows = _points(claim, table)
    other = int(rows[(np.round(x, decimals) != x) | (np.round(y, decimals) != y)].sum())
    most = _most_places(claim, table)
    together = _number(evidence.get("epsilon_of_all_places"))
    drawn = _number(evidence.get("drawn_epsilon_per_metre"))
    return ClaimCount(
        holds=other == 0
        and most <= places
        and math.isclose(together, places * epsilon)
        and drawn <= _DRAWN_SHARE * epsilon / metres * (1 + 1e-12),
        found={
            "epsilon_per_metre": epsilon / metres,
            "epsilon_of_all_places": places * epsilon,
            "most_places": most,
            "other_points": other,
        },
    )


def _most_places(claim: Claim, table: pl.LazyFrame) -> int:
    """Return the most different points of a person; 1 where the files don't show persons."""
    person = claim.about.get("person")
    if person is None or person not in table.collect_schema().names():
        return 1
    points = table.select(str(person), *columns_of(claim)).drop_nulls().unique()
    points = points.filter(pl.any_horizontal(pl.col(columns_of(claim)).cast(pl.Float64) != 0))
    counted = points.group_by(str(person)).len().select(pl.col("len").max())
    return int(counted.collect(engine="streaming").item() or 0)


def _points(
    claim: Claim, table: pl.LazyFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the different points of the two columns, and the rows of each."""
    names = columns_of(claim)
    if len(names) != 2:
        raise VerificationError("The claim must name the two columns of points.")
    x, y = (
        pl.col(name).cast(pl.Float64).fill_nan(None).alias(own)
        for name, own in zip(names, "xy", strict=True)
    )
    some = pl.any_horizontal(pl.col("x", "y").is_not_null())
    counted = table.select(x, y).filter(some).group_by("x", "y").agg(pl.len().cast(pl.Int64))
    first, second, rows = (it.to_numpy() for it in counted.collect(engine="streaming"))
    return first, second, rows


def _number(value: Json) -> float:
    """Return a number above 0 that a claim states."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise VerificationError("The numbers of the claim must be above 0.")
    return float(value)
