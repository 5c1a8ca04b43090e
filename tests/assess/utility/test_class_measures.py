"""Measures of classes against row-by-row counts in plain Python."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise, product
from math import log2, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.assess.utility import (
    CellExtents,
    ColumnEntries,
    ColumnExtents,
    ColumnRise,
    ambiguity,
    classification_metric,
    generalization_height,
    kl_divergence,
    non_uniform_entropy,
    publisher_payout,
    squared_error,
)

Row = tuple[int, ...]
TERMS: dict[str, Any] = {
    "publisher_benefit": 10.0, "publisher_loss": 30.0, "adversary_gain": 8.0, "adversary_cost": 2.0
}  # fmt: skip


@dataclass(frozen=True)
class _Boxes:
    """Rows in disjoint boxes, some of them suppressed."""

    rows: list[Row]
    box_of: list[int]  # -1: suppressed
    boxes: list[list[tuple[int, int]]]
    n_values: list[int]

    @classmethod
    def drawn(cls, seed: int, *, suppresses: bool = True) -> _Boxes:
        draw = random.Random(seed)
        n_values = [draw.randint(1, 5) for _ in range(draw.randint(1, 3))]
        ends = [_pieces(n, draw) for n in n_values]
        grid = list(product(*ends))
        rows = [tuple(draw.randrange(n) for n in n_values) for _ in range(draw.randint(6, 30))]
        # Every value occurs, so that released extents are those of the table.
        rows += [tuple(min(it, n - 1) for n in n_values) for it in range(max(n_values))]
        box_of = [next(i for i, box in enumerate(grid) if _holds(box, row)) for row in rows]
        occupied = sorted(set(box_of))
        boxes = [list(grid[i]) for i in occupied]
        numbered = [occupied.index(i) for i in box_of]
        if suppresses and len(boxes) > 1:
            numbered = [-1 if it == len(boxes) - 1 else it for it in numbered]
            boxes.pop()
        return cls(rows, numbered, boxes, n_values)

    @property
    def gone(self) -> int:
        return sum(it < 0 for it in self.box_of)

    @property
    def released(self) -> list[tuple[Row, int]]:
        return [(row, it) for row, it in zip(self.rows, self.box_of, strict=True) if it >= 0]

    @property
    def sizes(self) -> np.ndarray:
        counts = Counter(it for _, it in self.released)
        return np.array([counts[i] for i in range(len(self.boxes))], dtype=np.int64)

    @property
    def raw_sizes(self) -> np.ndarray:
        return np.array(list(Counter(self.rows).values()), dtype=np.int64)

    def area(self, box: int) -> int:
        return prod(high - low + 1 for low, high in self.boxes[box])

    @property
    def cells(self) -> CellExtents:
        columns = {}
        for place, n in enumerate(self.n_values):
            low = np.array([box[place][0] for box in self.boxes], dtype=np.int64)
            high = np.array([box[place][1] for box in self.boxes], dtype=np.int64)
            columns[f"x{place}"] = ColumnExtents.of_codes(low, high, n_values=n, numbers=None)
        return CellExtents(columns=columns, sizes=self.sizes)

    @property
    def entries(self) -> dict[str, ColumnEntries]:
        found = {}
        for place, n in enumerate(self.n_values):
            counts = Counter((it, row[place]) for row, it in self.released)
            found[f"x{place}"] = ColumnEntries(
                classes=np.array([it for it, _ in counts], dtype=np.int64),
                codes=np.array([code for _, code in counts], dtype=np.int64),
                rows=np.array(list(counts.values()), dtype=np.int64),
                low=np.array([box[place][0] for box in self.boxes], dtype=np.int64),
                high=np.array([box[place][1] for box in self.boxes], dtype=np.int64),
                numbers=np.arange(n, dtype=np.float64) ** 2,
            )
        return found


def _pieces(n_values: int, draw: random.Random) -> list[tuple[int, int]]:
    cuts = [0, *(it for it in range(1, n_values) if draw.random() < 0.5), n_values]
    return [(low, high - 1) for low, high in pairwise(cuts)]


def _holds(box: tuple[tuple[int, int], ...], row: Row) -> bool:
    return all(low <= code <= high for (low, high), code in zip(box, row, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_ambiguity_is_what_rows_could_stand_for(seed):
    it = _Boxes.drawn(seed)
    total = sum(it.area(box) for _, box in it.released) + it.gone * prod(it.n_values)
    expected = log2(total / len(it.rows))
    assert ambiguity(it.cells, suppressed=it.gone) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_divergence_is_that_of_two_distributions(seed):
    it = _Boxes.drawn(seed)
    n = len(it.rows)
    space = list(product(*map(range, it.n_values)))
    released: defaultdict[Row, float] = defaultdict(float)
    for box, size in enumerate(it.sizes.tolist()):
        for cell in space:
            if _holds(tuple(it.boxes[box]), cell):
                released[cell] += size / n / it.area(box)
    for cell in space:
        released[cell] += it.gone / n / len(space)
    raw = {row: count / n for row, count in Counter(it.rows).items()}
    expected = sum(share * log2(share / released[row]) for row, share in raw.items())
    found = kl_divergence(it.cells, suppressed=it.gone, raw_sizes=it.raw_sizes)
    assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_entropy_is_what_is_left_to_say_of_each_value(seed):
    it = _Boxes.drawn(seed)
    shares = []
    for place in range(len(it.n_values)):
        counts = Counter(row[place] for row, _ in it.released)
        lost = most = 0.0
        for row, box in it.released:
            low, high = it.boxes[box][place]
            alike = sum(count for code, count in counts.items() if low <= code <= high)
            lost += log2(alike / counts[row[place]])
            most += log2(len(it.released) / counts[row[place]])
        kept = lost / most if most > 0 else 0.0
        shares.append((kept * len(it.released) + it.gone) / len(it.rows))
    found = non_uniform_entropy(it.entries, suppressed=it.gone)
    assert found == pytest.approx(sum(shares) / len(shares), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_squared_error_is_that_from_the_means_of_classes(seed):
    it = _Boxes.drawn(seed)
    shares = []
    for place in range(len(it.n_values)):
        values = [(float(row[place] ** 2), box) for row, box in it.released]
        mean = sum(value for value, _ in values) / len(values)
        total = sum((value - mean) ** 2 for value, _ in values)
        within = 0.0
        for box in range(len(it.boxes)):
            own = [value for value, other in values if other == box]
            within += sum((value - sum(own) / len(own)) ** 2 for value in own)
        shares.append(within / total if total > 1e-12 else 0.0)
    assert squared_error(it.entries) == pytest.approx(sum(shares) / len(shares), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_payout_is_what_each_row_earns(seed):
    it = _Boxes.drawn(seed)
    whole = log2(prod(it.n_values))
    earned, attacked = 0.0, 0
    for _, box in it.released:
        lost = log2(it.area(box)) / whole if whole else 0.0
        chance = 1 / it.sizes[box]
        earned += 10.0 * (1 - lost)
        if 8.0 * chance > 2.0:
            earned -= 30.0 * chance
            attacked += 1
    found = publisher_payout(it.cells, suppressed=it.gone, **TERMS)
    assert found.payout == pytest.approx(earned)
    assert (found.attacked, found.largest) == (attacked, 10.0 * len(it.rows))


def test_a_population_makes_attacks_rarer():
    it = _Boxes.drawn(3)
    many = it.sizes * 1_000
    found = publisher_payout(it.cells, suppressed=0, population=many, **TERMS)
    assert found.attacked == 0
    assert found.payout >= publisher_payout(it.cells, suppressed=0, **TERMS).payout


def test_values_worked_by_hand():
    """Two columns of two values; half of the rows is raw, half lost its second column."""
    column = ColumnExtents.of_codes
    cells = CellExtents(
        columns={
            "a": column(np.array([0, 0, 1]), np.array([0, 0, 1]), n_values=2, numbers=None),
            "b": column(np.array([0, 1, 0]), np.array([0, 1, 1]), n_values=2, numbers=None),
        },
        sizes=np.array([1, 1, 2]),
    )
    assert ambiguity(cells, suppressed=0) == pytest.approx(log2((1 + 1 + 2 * 2) / 4))
    assert kl_divergence(cells, suppressed=0, raw_sizes=np.array([1, 1, 1, 1])) == 0
    skewed = kl_divergence(cells, suppressed=0, raw_sizes=np.array([1, 1, 2]))
    assert skewed == pytest.approx(0.5 * log2(0.5 / 0.25))
    rise = {
        "a": ColumnRise(levels=np.array([0, 0, 0]), height=1),
        "b": ColumnRise(levels=np.array([0, 0, 1]), height=1),
    }
    height = generalization_height(rise, cells.sizes, suppressed=4)
    assert height.height == 0.5
    assert height.precision == pytest.approx(1 - (4 * 1 + 4 * 1 + 2 * 1) / (8 * 2))
    assert classification_metric(np.array([[1, 0], [0, 1], [1, 1]]), suppressed=0) == 0.25


def test_missing_is_one_value_more():
    column = ColumnExtents.of_codes(np.array([0, -1]), np.array([1, -1]), n_values=2, numbers=None)
    cells = CellExtents(columns={"a": column}, sizes=np.array([2, 2]))
    assert ambiguity(cells, suppressed=0) == pytest.approx(log2((2 * 2 + 2) / 4))
    assert ambiguity(cells, suppressed=4) == pytest.approx(log2((2 * 2 + 2 + 4 * 3) / 8))


def test_tables_without_rows_or_columns():
    empty = CellExtents(columns={}, sizes=np.zeros(0, dtype=np.int64))
    assert ambiguity(empty, suppressed=0) == 0
    assert kl_divergence(empty, suppressed=0, raw_sizes=np.zeros(0, dtype=np.int64)) == 0
    assert non_uniform_entropy({}, suppressed=0) == 0
    assert squared_error({}) is None
    assert classification_metric(np.zeros((0, 2), dtype=np.int64), suppressed=0) == 0
    with pytest.raises(ParameterError, match="empty"):
        generalization_height({}, np.array([1]), suppressed=0)


def test_numbers_and_other_rows_are_refused():
    numbers = ColumnExtents.exact(
        np.array([1.0]), domain_low=1.0, domain_high=1.0, categorical=False
    )
    cells = CellExtents(columns={"age": numbers}, sizes=np.array([1]))
    with pytest.raises(ParameterError, match="codes"):
        ambiguity(cells, suppressed=0)
    with pytest.raises(ParameterError, match="raw_sizes"):
        kl_divergence(_Boxes.drawn(1).cells, suppressed=0, raw_sizes=np.array([1]))
    with pytest.raises(ParameterError, match="labels"):
        classification_metric(np.array([1, 2]), suppressed=0)
