"""Numbers of a column in standard units, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64] | NDArray[np.float64]

__all__ = [
    "MOST_STEPS",
    "count_outside",
    "count_wrong_floats",
    "count_wrong_steps",
    "floats_back",
    "floats_to_standard",
    "steps_back",
    "steps_to_standard",
]

#: More steps than that can't go through a matrix of condition 100 and stay distinct.
MOST_STEPS = 2.0**46
# How near to the place of missing cells a number is one: in standard units, and in steps.
_SAME = 1e-10
#: How near to a decimal a float is that decimal, relative to its column's largest magnitude.
NEAR = 1e-13
#: How near it is, in the column's last decimal, whatever the other columns of its row are.
OFF_GRID = 1e-6
#: Up to here every whole number is a float.
MOST_WHOLE = 2.0**53
_SAME_STEP = 0.25


@njit_no_nrt
def count_outside(ticks: Numbers, present: NDArray[np.bool_], low: float, high: float) -> int:
    """Return how many numbers lie outside of a range."""
    outside = 0
    for i in range(len(ticks)):
        outside += present[i] and (ticks[i] < low or ticks[i] > high)
    return outside


@njit_no_nrt
def steps_to_standard(
    ticks: Numbers,
    present: NDArray[np.bool_],
    center: int,
    unit: int,
    scale: float,
    missing_at: float,
    out: NDArray[np.float64],
) -> tuple[int, int]:
    """Write ``(tick - center) / unit / scale``, missing cells in their place.

    Returns
    -------
    How many lie between the steps, and how many too far away: what they got stands for nothing.
    """
    between = far = 0
    for i in range(len(ticks)):
        if not present[i]:
            out[i] = missing_at
            continue
        # Far ones would wrap around; they are known by their rough distance.
        if not abs((np.float64(ticks[i]) - np.float64(center)) / unit) <= MOST_STEPS:
            far += 1
            out[i] = 0
            continue
        distance = ticks[i] - center
        if unit != 1:
            between += distance % unit != 0
            distance //= unit
        out[i] = np.float64(distance) / scale
    return between, far


@njit_no_nrt
def floats_to_standard(
    ticks: Numbers,
    present: NDArray[np.bool_],
    center: float,
    scale: float,
    missing_at: float,
    out: NDArray[np.float64],
) -> None:
    """Write ``(value - center) / scale``, missing cells in their place."""
    for i in range(len(ticks)):
        out[i] = (ticks[i] - center) / scale if present[i] else missing_at


@njit_no_nrt
def steps_back(
    standard: NDArray[np.float64],
    missing: NDArray[np.bool_],
    hidden: bool,  # noqa: FBT001 # a kernel's argument
    center: int,
    unit: int,
    scale: float,
    missing_at: float,
    ticks: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> None:
    """Write the ticks that standard units stand for, and which cells are there.

    Parameters
    ----------
    standard
        Standard units, give or take what a matrix and its inverse did to them.
    missing
        Which cells are missing, where that is known; empty elsewhere.
    hidden
        Whether a cell at ``missing_at`` is missing, where ``missing`` is empty.
    center, unit, scale, missing_at
        As of `steps_to_standard`.
    ticks, present
        Where to write; 0 for a missing cell.
    """
    for i in range(len(standard)):
        steps = standard[i] * scale
        if len(missing):
            present[i] = not missing[i]
        else:
            present[i] = not hidden or not abs(steps - missing_at * scale) < _SAME_STEP
        ticks[i] = 0
        if present[i]:
            # In this order, so that what is no number ends at one of the ends, too.
            bounded = min(np.rint(steps), MOST_STEPS) if steps >= -MOST_STEPS else -MOST_STEPS
            ticks[i] = np.int64(bounded) * unit + center


@njit_no_nrt
def floats_back(
    standard: NDArray[np.float64],
    missing: NDArray[np.bool_],
    hidden: bool,  # noqa: FBT001 # a kernel's argument
    center: float,
    scale: float,
    missing_at: float,
    power: float,
    magnitude: float,
    values: NDArray[np.float64],
    present: NDArray[np.bool_],
) -> None:
    """Write the floats that standard units stand for, and which cells are there.

    Parameters
    ----------
    standard, missing, hidden, center, scale, missing_at, values, present
        As of `steps_back`.
    power
        Ten to the decimals of the column; 0 where they aren't known.
    magnitude
        The column's largest distance from zero.

    Notes
    -----
    A value that rounding errors can't tell from a decimal of the column is that decimal. Where
    decimals aren't known, only whole numbers and zero are restored so. Zero has no sign.
    """
    for i in range(len(standard)):
        if len(missing):
            present[i] = not missing[i]
        else:
            present[i] = not hidden or not abs(standard[i] - missing_at) <= _SAME
        values[i] = 0
        if present[i]:
            value = standard[i] * scale + center
            near = NEAR * max(magnitude, abs(value))
            room = max(near, OFF_GRID / power) if power > 0 else NEAR * abs(value)
            rounded = np.rint(value * max(power, 1.0)) / max(power, 1.0)
            if abs(rounded - value) <= room:
                value = rounded
            # Adding zero takes the sign of minus zero.
            values[i] = 0.0 if abs(value) <= near else value + 0.0


@njit_no_nrt
def count_wrong_steps(
    ticks: Numbers,
    present: NDArray[np.bool_],
    back: Numbers,
    back_present: NDArray[np.bool_],
) -> int:
    """Return how many cells didn't come back equal."""
    wrong = 0
    for i in range(len(ticks)):
        wrong += present[i] != back_present[i] or (present[i] and ticks[i] != back[i])
    return wrong


@njit_no_nrt
def count_wrong_floats(
    values: Numbers,
    present: NDArray[np.bool_],
    back: Numbers,
    back_present: NDArray[np.bool_],
    relative: float,
    least: float,
) -> int:
    """Return how many cells didn't come back: to ``relative`` of themselves or of ``least``.

    Where ``least`` is zero, whole numbers have to come back exactly.
    """
    wrong = 0
    for i in range(len(values)):
        size = abs(values[i])
        whole = least == 0 and size <= MOST_WHOLE and size == np.rint(size)
        room = 0.0 if whole else relative * max(size, least)
        near = abs(back[i] - values[i]) <= room
        wrong += present[i] != back_present[i] or (present[i] and not near)
    return wrong
