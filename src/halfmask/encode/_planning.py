"""From a summary and a secret to a plan; frequent categories are split."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.encode._codes import Codes, Lookup, Ranks
from halfmask.encode._mix import Affine, Flow, KeyedStream, Mix, MonotoneMap, token
from halfmask.encode._plan import CodecPlan
from halfmask.encode._scaling import (
    NOT_BACK,
    RELATIVE,
    CategoryWeights,
    Direction,
    NumberTarget,
    NumberWeight,
    Scaling,
    score_without,
)
from halfmask.encode._settings import PROFILES
from halfmask.encode._summary import MAX_DIGITS, fingerprint
from halfmask.encode._ticks import to_ticks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.encode._settings import CodecSettings, Roles
    from halfmask.encode._summary import CodecSummary, ColumnSummary, Moments
    from halfmask.encode._ticks import Numbers
    from halfmask.vault import Secret


# Siblings are between 0.75 and 1.25 of a mean one: equal parts would be found again by counting
# their rows, since hardly any other category has codes of the same number.
_MIN_PART, _VARYING = 0.75, 0.5
# A learner has to see each code often enough, so there are at most so many for one value.
_MAX_SIBLINGS = 64
# An attacker who takes the rarest code for a rare category gains at most a code's share of the
# rows. The gain over guessing shall be 0.02 at most.
_LARGEST_SHARE = 0.012


def split(
    place: NDArray[np.int64],
    score: NDArray[np.float64],
    *,
    counts: NDArray[np.int64],
    min_rows: int,
    uneven: Callable[[int], NDArray[np.float64]],
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Return for each value where its rows part by their score, and the siblings' shares of rows.

    Notes
    -----
    A value with ``n`` rows gets about ``n / m`` siblings, where m is the rows of the rarest value
    that has ``min_rows`` or more, or a small share of all rows if that is less: where there are two
    categories, each has to have many codes. Rarer values stay unchanged: nothing makes them more
    frequent.
    They are not quite equal, and by a key. Rows with equal scores stay together, so siblings are
    only as equal as scores are distinct.
    """
    common = counts[counts >= min_rows]
    size = min_rows
    if len(common):
        size = int(min(common.min(), _LARGEST_SHARE * counts.sum()))
        # the most frequent value's siblings are never larger than others': they'd be known by that
        size = max(size, -(-int(counts.max()) // _MAX_SIBLINGS))
    cuts, shares = [], []
    for value, count in enumerate(counts):
        own = np.sort(score[place == value])
        n_siblings = min(_MAX_SIBLINGS, round(int(count) / max(size, min_rows)), len(own))
        least = min_rows * len(own) / max(1, int(count))
        cut = _cuts(own, uneven(n_siblings), least=least) if n_siblings > 1 else np.empty(0)
        cuts.append(cut)
        within = np.searchsorted(cut, own, side="right")
        n_each = np.bincount(within, minlength=len(cut) + 1).astype(np.float64)
        shares.append(n_each / max(1.0, n_each.sum()) if len(own) else np.ones(1))
    return cuts, shares


def _cuts(
    own: NDArray[np.float64], uneven: NDArray[np.float64], *, least: float
) -> NDArray[np.float64]:
    """Return the scores at which the siblings of one value begin, without the first."""
    parts = np.cumsum(_MIN_PART + _VARYING * uneven)
    starts = (parts[:-1] / parts[-1] * len(own)).astype(np.int64)
    wanted = np.unique(own[starts])
    kept: list[float] = []
    begin = 0
    for cut in wanted:
        at = int(np.searchsorted(own, cut))
        if at - begin >= least and len(own) - at >= least:
            kept.append(float(cut))
            begin = at
    return np.array(kept, dtype=np.float64)


# Ticks of a span up to this many keep the type's own step; longer ones take the data's.
_FINE = 2**40
# A step that 64 bits have no room for; such columns are refused when they are encoded.
_COARSE = 2**62
# Half of a 32-bit float's last bit, and a grain that standard units of 64 bits don't resolve.
_NARROW = 2.0**-25
_FINEST = 2.0**-58


class Planning:
    """Makes the parts of a plan; every one from a key of its own."""

    def __init__(
        self, summary: CodecSummary, *, roles: Roles, settings: CodecSettings, secret: Secret
    ) -> None:
        if not summary.rows:
            raise DataError("There are no rows to fit a codec to.")
        self.summary = summary
        self.roles = roles
        self.settings = settings
        self._secret = secret
        self._fingerprint = fingerprint(summary, roles)
        self._names_key = self._key("names")

    def plan(self) -> CodecPlan:
        """Return the plan."""
        roles, settings = self.roles, self.settings
        direction = self._direction() if settings.split else None
        scores = self._scores(direction) if direction is not None else None
        ranked = PROFILES[settings.learner].numbers == "ranks"
        ranks = tuple(self._ranks(name) for name in roles.ordered) if ranked else ()
        codes = tuple(self._codes(name, scores) for name in roles.coded)
        mix = None if ranked or not roles.ordered else self._mix()
        tokens = [it.token for it in ranks] + [it.token for it in codes]
        if mix is not None:
            tokens += [*mix.tokens, *filter(None, mix.flags)]
        target = self._target(scores)
        if len({*tokens, target.token if target is not None else ""}) <= len(tokens):
            raise DataError("Two columns got one name.", hint="Give the codec another name.")
        names = tuple(name for name in roles.dtypes if name != roles.target)
        return CodecPlan(
            settings=settings,
            names=names,
            dtypes=tuple(roles.dtypes[name] for name in names),
            tokens=tuple(sorted(tokens)),  # tokens are keyed, and so is their order
            ranks=ranks,
            codes=codes,
            mix=mix,
            direction=direction,
            target=target,
            row_key=self._key("rows") if settings.rows == "keyed" else b"",
            home=tuple(roles.dtypes),
        )

    @property
    def _keeps_target_order(self) -> bool:
        """Whether the target must not be turned upside down, which the learner would notice.

        Boosting scans the categories of a column from both ends and puts those too rare to scan
        on the right: where two splits differ only in their sides, the first one wins, and
        which one is first follows from the target's sign.
        """
        return PROFILES[self.settings.learner].numbers == "ranks"

    def _key(self, what: str, column: str = "") -> bytes:
        purpose = f"{self.settings.purpose(what)}/{self._fingerprint}"
        return self._secret.key(purpose, column=column)

    def _stream(self, what: str, column: str = "") -> KeyedStream:
        return KeyedStream(self._key(what, column))

    def _token(self, what: str, name: str) -> str:
        return token(self._names_key, f"{what}:{name}")

    def _ranks(self, name: str) -> Ranks:
        column = self.summary.columns[name]
        values, _ = to_ticks(_counts(column)["value"].alias(name))
        unique: Numbers = np.unique(values)  # type: ignore[assignment] # one of the two, as before
        null_at = -1
        if self.settings.missing == "hidden":
            null_at = int(self._stream("missing", name).uniform(1)[0] * (len(values) + 1))
        return Ranks(
            name=name,
            token=self._token("column", name),
            dtype=column.dtype,
            values=unique,
            null_at=null_at,
            out_of_range=self.settings.out_of_range,
        )

    def _codes(
        self, name: str, scores: dict[str, NDArray[np.float64]] | None, *, target: bool = False
    ) -> Codes:
        column = self.summary.columns[name]
        hidden = self.settings.missing == "hidden" and not target
        values, counts = _counts(column)["value"], _counts(column)["count"].to_numpy()
        if hidden:
            values = values.extend(pl.Series([None], dtype=values.dtype))
            counts = np.append(counts, column.nulls)
        cuts: list[NDArray[np.float64]] = [np.empty(0)] * len(values)
        weights = [np.ones(1)] * len(values)
        if scores is not None:
            score = score_without(scores, name)
            place = Lookup(values).places(self._sample()[name])
            cuts, weights = split(
                place,
                score,
                counts=counts,
                min_rows=self.settings.min_sibling_rows,
                uneven=self._stream("siblings", name).uniform,
            )
        owner = np.repeat(np.arange(len(values)), [len(weight) for weight in weights])
        shares = np.concatenate([*weights, np.empty(0)])
        if self.settings.unseen == "reserve" and not target:
            owner = np.append(owner, -1)
        if not (target and self._keeps_target_order and len(owner) == 2):
            owner = owner[self._stream("codes", name).order(len(owner))]
        value_of = owner.astype(np.int64)
        # The first share of a value is that of its lowest code, and so on.
        kept = np.flatnonzero(value_of >= 0)
        in_order = np.ones(len(value_of))
        in_order[kept[np.argsort(value_of[kept], kind="stable")]] = shares
        return Codes(
            name=name,
            token=self._token("target" if target else "column", name),
            values=values,
            value_of=value_of,
            weights=in_order,
            cuts=tuple(cuts),
            unseen="error" if target else self.settings.unseen,
            hidden=hidden,
        )

    def _mix(self) -> Mix:
        settings, names = self.settings, self.roles.ordered
        columns = tuple(self._scaling(name, hidden=settings.missing == "hidden") for name in names)
        n_maps = 1
        if settings.by:
            if settings.by not in self.roles.coded:
                raise SchemaError(
                    f"Column {settings.by!r} is no categorical feature of the table.",
                    hint="Name a column of categories, whose values may have a matrix each.",
                )
            counts = _counts(self.summary.columns[settings.by])
            n_maps = counts.height + (settings.missing == "hidden") + 1
        stream = self._stream("matrix")
        numbers = PROFILES[settings.learner].numbers
        strength = settings.strength
        size = len(names)
        return Mix(
            columns=columns,
            tokens=tuple(self._token("mixed", str(i)) for i in range(size)),
            flags=tuple(
                self._token("missing", column.name) if column.nullable and not column.hidden else ""
                for column in columns
            ),
            by=settings.by,
            maps=tuple(Affine.keyed(size, numbers=numbers, stream=stream) for _ in range(n_maps)),
            bend=MonotoneMap.keyed(size, strength=strength, stream=stream) if strength else None,
            flow=Flow.keyed(size, strength=strength, stream=stream) if strength else None,
        )

    def _scaling(self, name: str, *, hidden: bool) -> Scaling:
        column = self.summary.columns[name]
        moments = column.moments
        if moments is None:  # planning asks for moments of every column that is mixed
            raise DataError(f"Column {name!r} was not measured.")
        self._check_grain(column, moments, name)
        unit, center = 0, moments.mean
        if not column.dtype.is_float():
            fine = moments.high - moments.low <= _FINE or moments.unit >= _COARSE
            unit = 1 if fine else max(1, moments.unit)
            center = int(moments.low) + unit * round((moments.mean - moments.low) / unit)
        scale = moments.deviation / (unit or 1)
        place = self._stream("missing", name).uniform(1)[0] - 0.5
        # Between two steps, where no value is; a float may lie there, and is refused if it does.
        missing_at = (np.rint(place * scale) + 0.5) / scale if unit else place
        return Scaling(
            name=name,
            dtype=column.dtype,
            center=center,
            scale=float(scale),
            unit=unit,
            digits=moments.digits if moments.digits <= MAX_DIGITS else -1,
            low=moments.low,
            high=moments.high,
            missing_at=float(missing_at) if hidden else 0.0,
            hidden=hidden,
            nullable=column.nulls > 0,
            out_of_range=self.settings.out_of_range,
            precision=self.settings.precision,
        )

    def _check_grain(self, column: ColumnSummary, moments: Moments, name: str) -> None:
        """Refuse floats at the fit that no batch could be encoded with."""
        if not column.dtype.is_float() or self.settings.precision == "column":
            return
        relative = RELATIVE if column.dtype == pl.Float64 else _NARROW
        step = 0.0 if moments.digits > MAX_DIGITS else 0.5 * 10.0**-moments.digits
        grain = max(relative * moments.least, step)
        if grain < _FINEST * max(moments.deviation, abs(moments.mean)):
            raise SchemaError(
                f"Column {name!r} has floats that are too small or too precise, compared with its "
                "largest ones, to come back exactly.",
                hint=NOT_BACK,
            )

    def _target(self, scores: dict[str, NDArray[np.float64]] | None) -> Codes | NumberTarget | None:
        name = self.roles.target
        if not name:
            return None
        if self.roles.task == "classification":
            return self._codes(name, scores, target=True)
        uniform = self._stream("target", name).uniform(3)
        falls = uniform[0] < 0.5 and not self._keeps_target_order
        scaling = self._scaling(name, hidden=False)
        return NumberTarget(
            # A power of two, too: sums of encoded targets are rounded as sums of plain ones are.
            scaling=replace(scaling, scale=float(2.0 ** np.round(np.log2(scaling.scale)))),
            token=self._token("target", name),
            slope=(-1.0 if falls else 1.0) * 2.0 ** np.floor(uniform[1] * 7 - 3),
            shift=float(uniform[2] * 8 - 4),
        )

    def _direction(self) -> Direction:
        parts: list[NumberWeight | CategoryWeights] = []
        for name in (*self.roles.ordered, *self.roles.coded):
            column, stream = self.summary.columns[name], self._stream("split", name)
            if name in self.roles.coded:
                values = _counts(column)["value"]
                weights = stream.normal(len(values))
                parts.append(CategoryWeights(name=name, values=values, weights=weights))
            elif column.moments is not None:
                weight = float(stream.normal(1)[0])
                parts.append(
                    NumberWeight(
                        name=name,
                        center=float(column.moments.mean),
                        scale=column.moments.deviation,
                        weight=weight,
                    )
                )
        if len(parts) < 2:
            raise SchemaError(
                "Categories can't be split: there is no other feature to split them by.",
                hint="Don't split categories, or fit to a table with more columns.",
            )
        return Direction(parts=tuple(parts))

    def _scores(self, direction: Direction) -> dict[str, NDArray[np.float64]]:
        sample = self._sample()
        places = {
            name: Lookup(_counts(self.summary.columns[name])["value"]).places(sample[name])
            for name in self.roles.coded
        }
        return direction.scores(sample, places)

    def _sample(self) -> pl.DataFrame:
        if self.summary.sample is None:
            raise DataError("The summary holds no sample of rows to split categories by.")
        return self.summary.sample


def _counts(column: ColumnSummary) -> pl.DataFrame:
    if column.counts is None:
        raise DataError("A column was not counted.")
    return column.counts
