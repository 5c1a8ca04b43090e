"""What the partition's loops share: records, columns, guides and room for the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["APART", "Guide", "RecordBuffers", "RecordColumns", "Room", "TreeRoom"]

#: The boundary before missing, which is no part of a column's tree.
APART = 255


class RecordBuffers(NamedTuple):
    """The records, and room for a copy; each seen as lanes and as 64-bit words."""

    lanes: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    words: tuple[NDArray[np.uint64], NDArray[np.uint64]]


class RecordColumns(NamedTuple):
    """The quasi-identifiers.

    Attributes
    ----------
    scale
        What one code's step is worth when widths are compared, (columns,).
    boundaries
        For each code but a column's last, the lowest hierarchy level at which it and the next have
        one label; ``APART`` before missing; 0 without a hierarchy. The columns one after the other.
    offsets
        Where each column starts in ``boundaries``, (columns + 1,).
    tiered
        Whether the column has a hierarchy, (columns,).
    n_sensitive
        How many lanes of sensitive codes follow the columns' own.
    """

    scale: NDArray[np.float64]
    boundaries: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    tiered: NDArray[np.bool_]
    n_sensitive: int


class Guide(NamedTuple):
    """What leads the cuts.

    Attributes
    ----------
    lanes
        How many lanes hold guides, behind the sensitive ones.
    gain
        The least share of the guide's spread in a node that a cut must take away to be preferred to
        Mondrian's.
    bins
        How many bins a column's codes are counted in; a power of two.
    """

    lanes: int
    gain: float
    bins: int


class Room(NamedTuple):
    """Arrays that the loops write and forget, made once for the whole growth, in Python.

    Arrays that a kernel makes, and lists, would take as long to compile as its loops.

    Attributes
    ----------
    histogram
        Four histograms of a column's codes, one behind the other.
    tried
        Which columns were tried at a node, (columns,).
    counts
        Two rows of sensitive counts, one for each side of a cut, and two of marks, (4, values + 1).
    scratch
        Four numbers a sensitive value, (4, values).
    sums
        Counts and guides by guide, column and bin.
    shifts, bases
        How far a column's codes are shifted to make bins, and where its first bin is, (columns,).
    gains, cuts
        The best cut of each column, (columns,).
    totals, lefts
        A guide's sum in a node, and left of a cut, (guides,).
    """

    histogram: NDArray[np.int64]
    tried: NDArray[np.bool_]
    counts: NDArray[np.int64]
    scratch: NDArray[np.float64]
    sums: NDArray[np.uint64]
    shifts: NDArray[np.uint64]
    bases: NDArray[np.uint64]
    gains: NDArray[np.float64]
    cuts: NDArray[np.int64]
    totals: NDArray[np.float64]
    lefts: NDArray[np.float64]


class TreeRoom(NamedTuple):
    """Room for the result.

    Attributes
    ----------
    feature, cut, left, right
        For each node: the column cut (-1 in a cell), the last code that goes left, the children
        (in a cell: the cell's number, and -1), (nodes,).
    low, high
        The least and greatest code of each column in each cell, (cells, columns).
    sizes
        Rows of each cell, (cells,).
    firsts, sides
        Where each cell's run of records starts, and in which buffer, (cells,).
    cell_of_row
        The cell of each row, (rows,).
    least, greatest
        The least and greatest of each lane in a node, of the lanes' type, (lanes,).
    waiting
        First row, row behind the last, buffer and number of nodes that wait, (cells + 1, 4).
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    sizes: NDArray[np.int64]
    firsts: NDArray[np.int64]
    sides: NDArray[np.int64]
    cell_of_row: NDArray[np.int32]
    least: NDArray[np.uint8]
    greatest: NDArray[np.uint8]
    waiting: NDArray[np.int64]
