"""EncodingTarget: encoded rows, the rows that they stand for, and what an attacker may hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._inputs import TakenInputs, check_columns, listed, plain_frame, several
from halfmask.assess.attacks._reading import recast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.encode import Codec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodingTarget(TakenInputs):
    """Encoded rows to be attacked, the raw rows, and the attacker's knowledge.

    Parameters
    ----------
    encoded
        The encoded rows that were sent, *put into the order of the original* by the evaluator.
        Attacks without known rows don't use the order.
    original
        The raw rows.
    population
        Other raw rows of the same population that an attacker has, with the same columns: a sample,
        or a public table. Attacks by the distribution of columns need it.
    later
        A second encoding of the same rows, in the same order. Attacks that link uploads need it.
    dictionary
        Column names that an attacker tries. Empty: the true names among names of other tables, the
        best that an attacker can have.
    holders
        For an original column's name, the encoded column that holds it. By default it is the one
        that reveals most of the column, as if the attacker guessed right.
    periods
        The lengths of calendar periods in rows, such as 7 and 365 for daily rows in the order of
        time. Attacks on dates need it.

    Raises
    ------
    ParameterError
        If encoded and original rows, or those of the later upload, differ in number, names or
        periods are no list, or a period is below 2.
    ColumnNotFoundError
        If a holder names a column that isn't there, or the population lacks one.
    DataError, SchemaError
        If a table is no frame, or one that can't be turned, or the population has texts where the
        original has numbers, or the like.
    """

    encoded: pl.DataFrame = field(metadata={"take": plain_frame})
    original: pl.DataFrame = field(metadata={"take": plain_frame})
    population: pl.DataFrame | None = field(default=None, metadata={"take": plain_frame})
    later: pl.DataFrame | None = field(default=None, metadata={"take": plain_frame})
    dictionary: tuple[str, ...] = field(
        default=(), metadata={"take": partial(several, of="names", or_none=True)}
    )
    holders: Mapping[str, str] = field(default_factory=dict)
    periods: tuple[int, ...] = field(default=(), metadata={"take": listed("periods")})

    def __post_init__(self) -> None:
        TakenInputs.__post_init__(self)
        for which, rows in (("encoded", self.encoded), ("later", self.later)):
            if rows is not None and rows.height != self.original.height:
                raise ParameterError(
                    f"{which} must have the original's rows, in its order. "
                    f"Got {rows.height} and {self.original.height} rows."
                )
        if self.population is not None:
            object.__setattr__(self, "population", self._matching(self.population))
        for name, holder in self.holders.items():
            check_columns([name], self.original.columns, where="the original")
            check_columns([holder], self.encoded.columns, where="the encoding")
        for period in self.periods:
            integer_at_least(2, owner="EncodingTarget", periods=period)

    def _matching(self, population: pl.DataFrame) -> pl.DataFrame:
        """Return the population with the original's columns, times in its units."""
        names = self.original.columns
        check_columns(names, population.columns, where="the population")
        columns = []
        for name, dtype in self.original.schema.items():
            known = population[name]
            sorts = _sort_of(dtype), _sort_of(known.dtype)
            if sorts[0] != sorts[1] and known.null_count() < len(known):
                raise SchemaError(
                    f"Column {name!r} holds {sorts[0]} in the original and {sorts[1]} in the "
                    "population.",
                    hint="Read both in the same way.",
                )
            alike = sorts[0] == sorts[1] and not dtype.is_temporal()
            columns.append(known if alike else recast(known, dtype))
        return population.select(columns)

    @classmethod
    def of_codec(
        cls,
        codec: Codec,
        table: object,
        *,
        population: object = None,
        later: Codec | None = None,
        dictionary: tuple[str, ...] = (),
    ) -> Self:
        """Make one of a fitted codec and the rows that it is to send.

        Parameters
        ----------
        codec
            A fitted codec; it encodes the rows here, at home.
        table
            Rows with the fitted columns.
        population
            Other rows of the same population.
        later
            The codec that sends the same rows a second time: another one, or `codec` itself.
        dictionary
            As of the class.

        Raises
        ------
        SchemaError
            If the codec doesn't fit the rows.
        """
        from halfmask.data import to_polars  # noqa: PLC0415 # loads late

        rows = to_polars(table)
        plan = codec.plan_
        held = {ranks.name: ranks.token for ranks in plan.ranks}
        held |= {codes.name: codes.token for codes in plan.codes}
        target = plan.target
        if target is not None and target.name in rows.columns:
            held[target.name] = target.token
        return cls(
            encoded=plan.encoded(rows),
            original=rows,
            population=None if population is None else to_polars(population),
            later=None if later is None else later.plan_.encoded(rows),
            dictionary=dictionary,
            holders=held,
        )

    def unprotected(self) -> Self:
        """Return the same rows without any encoding: the positive control."""
        return type(self)(
            encoded=self.original,
            original=self.original,
            population=self.population,
            later=None if self.later is None else self.original,
            dictionary=self.dictionary,
            holders={name: name for name in self.original.columns},
            periods=self.periods,
        )

    def __repr__(self) -> str:
        return (
            f"EncodingTarget({self.encoded.height} rows, {self.encoded.width} columns "
            f"of {self.original.width})"
        )


def _sort_of(dtype: pl.DataType) -> str:
    """Return the kind of a type, as attacks distinguish them."""
    if dtype.is_temporal():
        return "dates or times"
    if dtype.is_numeric():
        return "numbers"
    return "truth values" if dtype == pl.Boolean else "texts"
