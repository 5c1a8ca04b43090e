"""Small tables, and every objective counted row by row in plain Python."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import product
from math import log2, prod
from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize.lattice import LatticeColumn, NodeClasses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Cells = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SmallTable:
    """Codes of rows, the node of each code at each level, labels, and weights."""

    rows: list[Cells]
    trees: list[list[list[int]]]
    labels: list[int]
    weights: list[float]

    @classmethod
    def drawn(cls, seed: int) -> SmallTable:
        """Draw a table in which each code occurs."""
        draw = random.Random(seed)
        sizes = [draw.randint(1, 6) for _ in range(draw.randint(1, 3))]
        n_rows = draw.randint(max(sizes), 24)
        columns = []
        for size in sizes:
            codes = [*range(size), *(draw.randrange(size) for _ in range(n_rows - size))]
            draw.shuffle(codes)
            columns.append(codes)
        return cls(
            rows=list(zip(*columns, strict=True)),
            trees=[_tree(size, draw) for size in sizes],
            labels=[draw.randrange(3) for _ in range(n_rows)],
            weights=[draw.choice([0.5, 1.0, 3.0]) for _ in sizes],
        )

    def columns(self) -> list[LatticeColumn]:
        """Return the quasi-identifiers as objectives see them."""
        return [
            LatticeColumn(
                name=f"x{place}",
                nodes=tuple(np.array(level, dtype=np.int32) for level in tree),
                rows=np.bincount([row[place] for row in self.rows]).astype(np.int64),
                weight=self.weights[place],
            )
            for place, tree in enumerate(self.trees)
        ]

    def nodes(self) -> Iterable[Cells]:
        """Yield all nodes of the lattice."""
        yield from product(*(range(len(tree)) for tree in self.trees))

    def written(self, levels: Cells, row: Cells) -> Cells:
        """Return what a row is written as."""
        return tuple(
            tree[level][code] for tree, level, code in zip(self.trees, levels, row, strict=True)
        )

    def values_below(self, levels: Cells, row: Cells) -> list[int]:
        """Return how many codes each cell of a row could stand for at a node."""
        return [
            sum(node == tree[level][code] for node in tree[level])
            for tree, level, code in zip(self.trees, levels, row, strict=True)
        ]

    def classes(self, levels: Cells, keep: Callable[[int, Cells], bool]) -> Release:
        """Group the rows of a node and suppress the classes that aren't kept."""
        groups = defaultdict(list)
        for number, row in enumerate(self.rows):
            groups[self.written(levels, row)].append(number)
        kept = {key: each for key, each in groups.items() if keep(len(each), key)}
        gone = [number for key, each in groups.items() if key not in kept for number in each]
        return Release(table=self, levels=levels, kept=kept, gone=gone)


@dataclass(frozen=True, kw_only=True)
class Release:
    """The rows of each class of a node, and the suppressed rows."""

    table: SmallTable
    levels: Cells
    kept: dict[Cells, list[int]]
    gone: list[int]

    def as_classes(self) -> NodeClasses:
        """Return it as objectives see it."""
        keys = list(self.kept)
        labels = np.zeros((len(keys), 3), dtype=np.int64)
        for place, key in enumerate(keys):
            for number in self.kept[key]:
                labels[place, self.table.labels[number]] += 1
        sizes = np.array([len(self.kept[key]) for key in keys], dtype=np.int64)
        return NodeClasses(
            levels=self.levels,
            sizes=sizes,
            nodes=np.array(keys, dtype=np.int32).reshape(len(keys), len(self.levels)),
            suppressed=len(self.gone),
            labels=labels,
            population=sizes * 2,
        )

    def loss(self, gs_factor: float = 0.5) -> float:
        total = 0.0
        weights = self.table.weights
        for number, row in enumerate(self.table.rows):
            for weight, covered, tree in zip(
                weights, self.table.values_below(self.levels, row), self.table.trees, strict=True
            ):
                n_values = len(tree[0])
                own = (covered - 1) / (n_values - 1) if n_values > 1 else 0.0
                if number in self.gone:
                    cell = own + min(1.0, 2 * gs_factor) * (1 - own)
                else:
                    cell = min(1.0, 2 - 2 * gs_factor) * own
                total += weight * cell / sum(weights)
        return total / len(self.table.rows)

    def precision(self, gs_factor: float = 0.5) -> float:
        total = 0.0
        for number in range(len(self.table.rows)):
            for weight, level, tree in zip(
                self.table.weights, self.levels, self.table.trees, strict=True
            ):
                raised = level / (len(tree) - 1) if len(tree) > 1 else 0.0
                if number in self.gone:
                    cell = min(1.0, 2 * gs_factor)
                else:
                    cell = min(1.0, 2 - 2 * gs_factor) * raised
                total += weight * cell / sum(self.table.weights)
        return total / len(self.table.rows)

    def height(self) -> float:
        return sum(
            weight * level for weight, level in zip(self.table.weights, self.levels, strict=True)
        )

    def discernibility(self) -> float:
        alike = 0
        for one in range(len(self.table.rows)):
            for other in range(len(self.table.rows)):
                same = any(one in each and other in each for each in self.kept.values())
                alike += one in self.gone or same
        return float(alike)

    def average_class_size(self) -> float:
        return len(self.table.rows) / (len(self.kept) + bool(self.gone))

    def ambiguity(self) -> float:
        whole = prod(len(tree[0]) for tree in self.table.trees)
        total = 0
        for number, row in enumerate(self.table.rows):
            gone = number in self.gone
            total += whole if gone else prod(self.table.values_below(self.levels, row))
        return log2(total / len(self.table.rows))

    def cross_entropy(self) -> float:
        """Spread the rows over all combinations, and then compare with the raw ones."""
        n_rows = len(self.table.rows)
        space = list(product(*(range(len(tree[0])) for tree in self.table.trees)))
        share: defaultdict[Cells, float] = defaultdict(float)
        for numbers in self.kept.values():
            key = self.table.written(self.levels, self.table.rows[numbers[0]])
            covered = [cell for cell in space if self.table.written(self.levels, cell) == key]
            for cell in covered:
                share[cell] += len(numbers) / n_rows / len(covered)
        for cell in space:
            share[cell] += len(self.gone) / n_rows / len(space)
        assert abs(sum(share.values()) - 1) < 1e-9
        return -sum(log2(share[row]) for row in self.table.rows) / n_rows

    def entropy(self, gs_factor: float = 0.5, *, counts_suppressed: bool = True) -> float:
        total = 0.0
        for place, weight in enumerate(self.table.weights):
            tree = self.table.trees[place][self.levels[place]]
            codes = [row[place] for row in self.table.rows]
            for code in codes:
                below = sum(tree[other] == tree[code] for other in codes)
                total += weight * min(1.0, 2 - 2 * gs_factor) * log2(below / codes.count(code))
            gone = [tree[self.table.rows[number][place]] for number in self.gone]
            for node in gone if counts_suppressed else []:
                share = log2(len(gone) / gone.count(node))
                total += weight * min(1.0, 2 * gs_factor) * share
        return total

    def classification(self, gs_factor: float = 0.5) -> float:
        wrong = 0.0
        for numbers in self.kept.values():
            counts = Counter(self.table.labels[number] for number in numbers)
            wrong += min(1.0, 2 - 2 * gs_factor) * (len(numbers) - max(counts.values()))
        wrong += min(1.0, 2 * gs_factor) * len(self.gone)
        return wrong / len(self.table.rows)

    def payout(self, terms: dict[str, float], *, times: int = 1, gs_factor: float = 0.5) -> float:
        whole = sum(log2(len(tree[0])) for tree in self.table.trees)
        forgone = 0.0
        for numbers in self.kept.values():
            for number in numbers:
                row = self.table.rows[number]
                covered = self.table.values_below(self.levels, row)
                lost = sum(map(log2, covered)) / whole if whole else 0.0
                chance = 1 / (times * len(numbers))
                earned = terms["publisher_benefit"] * (1 - lost)
                if terms["adversary_gain"] * chance > terms["adversary_cost"]:
                    earned -= terms["publisher_loss"] * chance
                forgone += min(1.0, 2 - 2 * gs_factor) * (terms["publisher_benefit"] - earned)
        gone = len(self.gone) * terms["publisher_benefit"]
        return forgone + min(1.0, 2 * gs_factor) * gone


def _tree(size: int, draw: random.Random) -> list[list[int]]:
    """Draw levels that join nodes of the level below; the top needn't be one node."""
    levels = [list(range(size))]
    for _ in range(draw.randint(0, 3)):
        below = levels[-1]
        n_nodes = max(below) + 1
        parent = [draw.randrange(max(1, (n_nodes + 1) // 2)) for _ in range(n_nodes)]
        names = {old: new for new, old in enumerate(dict.fromkeys(parent))}
        levels.append([names[parent[node]] for node in below])
    return levels
