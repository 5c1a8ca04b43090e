"""The codec of series: residuals of calendar and past are sent; forecasts of them come home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from halfmask._errors import ParameterError
from halfmask.data import like, to_polars
from halfmask.encode.series._claims import claims_of, weaknesses_of
from halfmask.encode.series._forecasts import ForecastQuery, entity_number
from halfmask.encode.series._plan import PLAN_ARCHIVE
from halfmask.encode.series._planning import plan_of
from halfmask.encode.series._settings import Event, SeriesSettings
from halfmask.vault import Secret

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.encode._settings import LearnerClaim, Weakness
    from halfmask.encode.series._plan import SeriesPlan
    from halfmask.encode.series._seasons import Period
    from halfmask.encode.series._settings import Missing, Order, SeriesState


@dataclass(kw_only=True, eq=False)
class SeriesCodec:
    """A reversible encoding of time series that protects their times.

    Home fits a model of its own: level, spread and scores by the cycles of the calendar, a drift,
    and autoregressions over the past. The residuals of the model are sent, as numbers that look
    like independent normal ones, at steps 0, 1, 2, ... A learner elsewhere forecasts these, and
    `decode_forecasts` puts its forecasts on top of the model's.

    Parameters
    ----------
    time
        The column of times: dates, dates and times, or integers.
    entity
        The column that names the series of a row. Each gets a model of its own.
    columns
        The columns of numbers; all others of the table, where none is named.
    every
        The step, such as ``"15m"``, ``"1h"``, ``"1d"``, ``"1mo"``, or an integer for a time of
        integers; by default the most frequent distance of two times. Steps of days and more are
        counted on the wall clock, shorter ones in real time.
    periods
        The cycles that are taken out: ``"day"``, ``"week"``, ``"month"``, ``"year"``, or numbers
        of steps. By default those of the calendar. A series of less than two of a cycle can't be
        freed from it, and has the weakness ``cycle-visible``.
    events
        Times that others may know something of. What happened then is sent as keyed noise.
    seal_beyond
        From how many robust spreads a fitted residual is sent as keyed noise, too; at least 3, or
        0 for never. At most one row in a hundred is.
    missing
        ``"hidden"``: missing cells and steps without a row are sent as keyed noise. ``"visible"``:
        missing cells stay missing, and steps without a row are left out.
    order
        What rows are whose times go back: ``"error"``, or ``"sort"`` to put them in order.
    blinding
        0 to below 1: the share of the sent numbers' variance that is keyed noise. It protects a
        series that an attacker knows, and a learner has that much less to learn from.
    longest_gap
        How many steps without a row there may be at one place.
    secret
        What every key follows from, by default a fresh one that is forgotten with the codec.
    name
        Codecs of one secret and different names share no key.

    See Also
    --------
    halfmask.Codec : For rows without an order in time.

    Guarantees
    ----------
    ``decode(encode(rows))`` gives back every cell bit-equal: integers, decimals, times, and any
    float that is finite. The loop is closed over the raw values, so that no error
    adds up. A column whose cells have more digits than its encoded numbers can hold is sent with
    two more columns, :attr:`rest_names_`: keyed noise that only `decode` needs.
    Each batch is proven to come back before it is sent, or refused. Nothing else is guaranteed; see
    :attr:`weaknesses`.

    Edge cases
    ----------
    NaN is missing, infinity is refused. Rows come back by entity and time. Times that are there
    twice, between two steps, or before their state are refused, as is an entity that wasn't there
    at the fit. A series of less than 40 values has a level and a spread, and nothing else. A
    constant one is sent as noise. Encoded cells are 64-bit floats; what rounds them loses rows.

    Sources: Zak, "Anonymizing datasets for machine learning", on time based variables. The model is
    a seasonal ARI with log spreads of its own past (after Box and Jenkins 1970, Geweke 1986).

    Examples
    --------
    >>> import datetime as dt
    >>> import polars as pl
    >>> days = pl.date_range(dt.date(2024, 1, 1), dt.date(2024, 6, 30), eager=True)
    >>> rows = pl.DataFrame({"day": days, "sold": [100 + 40 * (d.weekday() > 4) for d in days]})
    >>> codec = SeriesCodec(time="day").fit(rows)
    >>> encoded = codec.encode(rows)
    >>> sorted(map(str, encoded.dtypes)), "sold" in encoded.columns
    (['Float64', 'Int64'], False)
    >>> codec.decode(encoded).equals(rows)
    True
    """

    time: str
    entity: str | None = None
    columns: Sequence[str] = ()
    every: str | int | None = None
    periods: Sequence[Period] | None = None
    events: Sequence[Event] = ()
    seal_beyond: float = 6.0
    missing: Missing = "hidden"
    order: Order = "error"
    blinding: float = 0.0
    longest_gap: int = 1000
    secret: Secret | None = field(default=None, repr=False)
    name: str = "series"
    _fitted: SeriesPlan | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        given = {it.name: getattr(self, it.name) for it in fields(SeriesSettings)} | {
            "entity": self.entity or "",
            "columns": tuple(self.columns),
            "periods": None if self.periods is None else tuple(self.periods),
            "events": tuple(self.events),
            "seal_beyond": float(self.seal_beyond),
            "blinding": float(self.blinding),
        }
        self._settings = SeriesSettings(**given)

    def fit(self, table: object) -> Self:
        """Fit a model to each series, and make the plan.

        Parameters
        ----------
        table
            A frame of polars, pandas or pyarrow: the time, the entity, and columns of numbers.

        Raises
        ------
        SchemaError
            If a column is no series of numbers, or times aren't on equal steps in order.
        """
        secret = self.secret or Secret.fresh()
        self._fitted = plan_of(to_polars(table), settings=self._settings, secret=secret)
        return self

    def encode(self, table: object, *, state: SeriesState | None = None) -> Any:  # noqa: ANN401 # the caller's library
        """Return the encoded rows, by entity and step.

        Parameters
        ----------
        table
            Rows with the fitted columns.
        state
            Where they begin: :attr:`start_` by default, which is the first fitted row's;
            :attr:`state_` for rows behind the fitted ones, or what `after` gave.

        Returns
        -------
        A frame of the table's own library: :attr:`time_name_`, the encoded columns, and
        :attr:`entity_name_` where there is one.

        Raises
        ------
        SchemaError
            If columns, types or entities aren't those of the fit, times are out of order, off
            their steps or before the state, or a cell would not come back equal.
        """
        return like(self.plan_.apply(to_polars(table), self._state(state)), table)

    def after(self, table: object, *, state: SeriesState | None = None) -> SeriesState:
        """Return the state after these rows.

        Parameters
        ----------
        table, state
            As `encode` takes them.
        """
        return self.plan_.after(to_polars(table), self._state(state))

    def decode(self, encoded: object, *, state: SeriesState | None = None) -> Any:  # noqa: ANN401 # as above
        """Return the rows that encoded rows stand for, by entity and time.

        Parameters
        ----------
        encoded
            What `encode` gave, all of it, in any order; other columns are left out.
        state
            The state that `encode` took.

        Raises
        ------
        KeyMismatchError
            If they have no column of this codec, or the state is another codec's.
        SchemaError
            If rows are missing.
        """
        return like(self.plan_.undo(to_polars(encoded), self._state(state)), encoded)

    def decode_forecasts(
        self,
        forecasts: object,
        *,
        column: str | None = None,
        entity: object = None,
        state: SeriesState | None = None,
    ) -> NDArray[np.float64]:
        """Return forecasts of the steps after a state, in the column's units.

        Parameters
        ----------
        forecasts
            What the encoded column will be: (steps,) or (steps, paths), the first of them for the
            step behind the state.
        column, entity
            Which series; may be left out where there is one.
        state
            Behind which rows they begin, by default behind the fitted ones (:attr:`state_`).

        Returns
        -------
        Numbers, of the shape of ``forecasts``. Integers are not rounded.

        Guarantees
        ----------
        A path is decoded as if it had happened, exactly: paths drawn from the right distribution
        of encoded rows are, decoded, drawn from that of the series. A point forecast is decoded as
        a path, too, so that from the second step on it is conditional on the forecasts before it.
        Zero is home's own forecast: the median one step ahead.

        Raises
        ------
        DataError
            If there are no numbers, or missing ones.
        ParameterError
            If there are paths and ``blinding``: the noise that comes is known at home.
        """
        asked = ForecastQuery.of(forecasts, self.plan_, column=column, entity=entity)
        return asked.ahead(self._state(state or self.state_))

    def decode_one_step(
        self,
        forecasts: object,
        table: object,
        *,
        column: str | None = None,
        entity: object = None,
        state: SeriesState | None = None,
        levels: Sequence[float] | None = None,
    ) -> NDArray[np.float64]:
        """Return forecasts one step ahead, each given the true rows before its step.

        Parameters
        ----------
        forecasts
            For each encoded row of the series: (rows,), or (rows, levels).
        table, state
            The rows at home, and where they begin, as `encode` took them.
        column, entity
            Which series; may be left out where there is one.
        levels
            The quantiles of the columns, ascending, and with each level p also 1 - p: the
            encoding may have turned up into down.

        Returns
        -------
        Numbers for each row of the table's series, by time; quantiles in the order of ``levels``.

        Guarantees
        ----------
        Quantiles are exact: given the past, a value at home is an increasing, or a decreasing,
        function of what is sent. Means are not.
        """
        asked = ForecastQuery.of(forecasts, self.plan_, column=column, entity=entity)
        return asked.one_step(to_polars(table), self._state(state), levels=levels)

    def horizon(
        self, steps: int, *, entity: object = None, state: SeriesState | None = None
    ) -> pl.Series:
        """Return the next times after a state; by default after the fitted rows.

        Parameters
        ----------
        steps
            How many times.
        entity
            The series, if there are several.
        state
            The state; by default that after the fitted rows.
        """
        known = state or self.state_
        known.check(self.plan_.id)
        first = known.next[entity_number(self.plan_, entity)]
        return self.plan_.clock.times(np.arange(first, first + steps, dtype=np.int64))

    @property
    def start_(self) -> SeriesState:
        """Where the first fitted row of each series stands."""
        return self.plan_.start

    @property
    def state_(self) -> SeriesState:
        """The state after the fitted rows."""
        state = self.plan_.state
        return state if state is not None else self.plan_.start

    @property
    def time_name_(self) -> str:
        """The name of the encoded column of steps."""
        return self.plan_.time_token

    @property
    def entity_name_(self) -> str:
        """The encoded name of the entity column; empty if there is none."""
        return self.plan_.entity_token

    @property
    def column_names_(self) -> dict[str, str]:
        """The name of each encoded column of numbers."""
        return dict(zip(self.plan_.columns, self.plan_.tokens, strict=True))

    @property
    def rest_names_(self) -> dict[str, tuple[str, str]]:
        """The names of the two columns that hold the rests of a column's cells.

        Only :meth:`decode` needs them. They are keyed noise: don't train on them.
        """
        return {name: self.plan_.rest_tokens(at) for at, name in enumerate(self.plan_.columns)}

    @property
    def claims(self) -> tuple[LearnerClaim, ...]:
        """What holds for forecasts that come home."""
        return claims_of(self.plan_)

    @property
    def weaknesses(self) -> tuple[Weakness, ...]:
        """The weaknesses of the encoding, and how much known rows undo it."""
        return weaknesses_of(self.plan_)

    @property
    def publishable(self) -> bool:
        """Whether the codec may be published: never, it is the key."""
        return False

    def to_bytes(self) -> bytes:
        """Return plan, settings and state after the fitted rows, for a vault."""
        return PLAN_ARCHIVE.write(self.plan_)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the fitted codec that `to_bytes` wrote, without the secret.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        DataError
            If these are no such bytes, or of another version.
        """
        plan: SeriesPlan = PLAN_ARCHIVE.read(data)
        settings = getattr(plan, "settings", None)
        if not isinstance(settings, SeriesSettings):
            raise PLAN_ARCHIVE.unreadable()
        codec = cls(**{it.name: getattr(settings, it.name) for it in fields(settings)})
        codec._fitted = plan
        return codec

    @property
    def plan_(self) -> SeriesPlan:
        """The fitted plan. It is the key: it stays at home."""
        if self._fitted is None:
            raise ParameterError("The codec isn't fitted.", hint="Call fit first.")
        return self._fitted

    def _state(self, state: SeriesState | None) -> SeriesState:
        known = self.plan_.start if state is None else state
        known.check(self.plan_.id)
        return known
