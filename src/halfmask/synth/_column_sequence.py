"""Columns in an order, each drawn given those before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.engines import map_in_order
from halfmask.synth._column_codes import ColumnCodes
from halfmask.synth._column_model import ColumnModel, ForestModel, MarginalModel, TreeModel
from halfmask.synth._predicted_model import PredictedModel

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray


#: What a column can be drawn by.
MODELS = ("trees", "forest", "boosting", "parametric")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnSequence:
    """The fitted columns of a table."""

    columns: Mapping[str, ColumnCodes]
    kept: tuple[str, ...]
    order: tuple[str, ...]
    models: Mapping[str, ColumnModel]
    min_leaf: int

    def __repr__(self) -> str:
        return f"ColumnSequence({len(self.order)} columns drawn, {len(self.kept)} kept)"

    @classmethod
    def fit(
        cls,
        table: pl.DataFrame,
        *,
        numbers: Collection[str],
        drawn: Sequence[str],
        order: Sequence[str] | None,
        model: str,
        min_leaf: int,
        leaf: int,
        seed: int,
    ) -> Self:
        """Fit a model of each column that is drawn."""
        coded = [ColumnCodes.of(each, is_number=each.name in numbers) for each in table]
        if table.height < min_leaf:
            raise DataError(
                f"The table has too few rows (n_samples = {table.height}): a cell is drawn from "
                f"{min_leaf} at least.",
                hint="Give more rows, or lower min_leaf.",
            )
        columns = {column.name: column for column, _ in coded}
        codes = {column.name: code for column, code in coded}
        drawable = {name: columns[name].drawable(codes[name], min_leaf=min_leaf) for name in drawn}
        kept = tuple(name for name in table.columns if name not in drawn)
        if order is None:
            places = by_entropy(list(columns.values()))
            names = list(columns)
            order = [names[place] for place in places if names[place] in drawn]

        def fitted(place: int) -> ColumnModel:
            before = (*kept, *order[:place])
            name = order[place]
            if not before:
                return MarginalModel(drawable[name])
            known = [columns[each] for each in before], [codes[each] for each in before]
            if model in ("boosting", "parametric"):
                return PredictedModel(
                    *known,
                    columns[name],
                    drawable[name],
                    boosted=model == "boosting",
                    min_leaf=leaf,
                    seed=seed,
                )
            kind = ForestModel if model == "forest" else TreeModel
            return kind(*known, columns[name], drawable[name], min_leaf=leaf, seed=seed)

        models = dict(zip(order, map_in_order(range(len(order)), fitted), strict=True))
        return cls(columns=columns, kept=kept, order=tuple(order), models=models, min_leaf=min_leaf)

    def codes_of(self, table: pl.DataFrame) -> dict[str, NDArray[np.int32]]:
        """Return the codes of kept columns.

        A value that the fit never saw has the code of the next one in order.
        """
        return {name: self.columns[name].codes_of(table[name]) for name in self.kept}

    def draw(
        self,
        n: int,
        *,
        known: Mapping[str, NDArray[np.int32]],
        only: Mapping[str, int],
        rng: np.random.Generator,
    ) -> pl.DataFrame:
        """Return rows of the drawn columns; of those, only rows that have the asked codes."""
        codes = dict(known)
        cells: dict[str, pl.Series] = {}
        for name in self.order:
            column = self.columns[name]
            if not n:  # no row is left that the next column could be drawn for
                cells[name] = pl.Series(name, [], dtype=column.dtype)
                continue
            drawn = self.models[name].drawn(list(codes.values()), n, rng)
            written = column.cells(drawn, rare=column.rare(self.min_leaf), rng=rng)
            cells[name] = written
            # Later columns see what is written.
            codes[name] = column.codes_of(written) if column.is_number else drawn.codes
            if name in only:
                stays = drawn.codes == only[name]
                codes = {each: code[stays] for each, code in codes.items()}
                cells = {each: cell.filter(pl.Series(stays)) for each, cell in cells.items()}
                n = int(stays.sum())
        return pl.DataFrame(list(cells.values()))


def by_entropy(columns: Sequence[ColumnCodes]) -> list[int]:
    """Return the columns' places, by the entropy of their cells, the least first.

    A tree finds a column from those that determine it, such as an installment from the amount, the
    term and the rate. The column that is determined has more different cells than each of these.
    """
    entropies = []
    for column in columns:
        shares = column.counts[column.counts > 0] / max(1, column.counts.sum())
        entropies.append(float(-(shares * np.log(shares)).sum()))
    return sorted(range(len(columns)), key=lambda place: (entropies[place], place))
