"""Held: events after their rules that wait, in little room, pane by pane."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.events.block._grouping import word_codes
from halfmask.events.block._level import Level
from halfmask.events.block._levels import absent, enclosing
from halfmask.events.block._paths import Path
from halfmask.events.block._values import Kind, Values
from halfmask.events.block._words import person_word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.events.block._path_tree import OutputShape
    from halfmask.events.block._words import Token


_HEAD = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """Events that wait.

    Notes
    -----
    **Guarantees.** `joined` of parts, and `unpacked` of `packed`, have the same values in the same
    order.
    """

    names: Mapping[str, str | None]
    columns: Mapping[str, Values]
    events: Level

    def narrowed(self, keeps: Mapping[str, NDArray[np.bool_]]) -> Held:
        """Return a part of the events, or all without some elements of arrays."""
        narrowing = _Narrowing(keeps=keeps)
        columns = {}
        for path, values in self.columns.items():
            level, index = narrowing.narrowed(values.level)
            columns[path] = _compact(values.take(index, level))
        events, _ = narrowing.narrowed(self.events)
        return Held(names=self.names, columns=columns, events=events)

    @classmethod
    def joined(cls, parts: Sequence[Held]) -> Held:
        """Return events of several parts one behind the other; one part at least."""
        if len(parts) == 1:
            return parts[0]
        names: dict[str, str | None] = {}
        for part in parts:
            names |= {path: name for path, name in part.names.items() if path not in names}
        chains = [_levels_of(part) for part in parts]
        levels = _joined_levels(chains)
        paths = dict.fromkeys(path for part in parts for path in part.columns)
        columns = {}
        for path in paths:
            place = next(part.columns[path] for part in parts if path in part.columns).level.path
            tokens = [
                part.columns[path]
                if path in part.columns
                else absent(chain.get(place, Level.of_events(0)))
                for part, chain in zip(parts, chains, strict=True)
            ]
            columns[path] = _concatenate(tokens, levels[place])
        return cls(names=names, columns=columns, events=levels[""])

    def packed(self) -> bytes:
        """Return it as bytes."""
        levels = _levels_of(self)
        blobs: list[bytes] = []
        for path, level in levels.items():
            if path:
                blobs += [np.diff(level.offsets).tobytes(), level.present.tobytes()]
        for values in self.columns.values():
            plain = _compact(values)
            lengths = (plain.stops - plain.starts).astype(np.int64)
            blobs += [plain.kinds.tobytes(), lengths.tobytes(), plain.data.tobytes()]
        form = {
            "names": dict(self.names),
            "events": self.events.slots,
            "levels": [
                [path, level.above.path]
                for path, level in levels.items()
                if level.above is not None
            ],
            "columns": [[path, values.level.path] for path, values in self.columns.items()],
            "sizes": [len(blob) for blob in blobs],
        }
        head = json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()
        return len(head).to_bytes(_HEAD, "little") + head + b"".join(blobs)

    @classmethod
    def unpacked(cls, data: bytes) -> Held:
        """Return what `packed` gave."""
        try:
            return cls._read(data)
        except (ValueError, TypeError, KeyError, StopIteration):
            raise DataError("The bytes hold no events that wait, or damaged ones.") from None

    @classmethod
    def _read(cls, data: bytes) -> Held:
        length = int.from_bytes(data[:_HEAD], "little")
        form = json.loads(data[_HEAD : _HEAD + length])
        ends = np.cumsum([_HEAD + length, *form["sizes"]]).tolist()
        if ends[-1] != len(data):
            raise ValueError
        blobs = (data[start:stop] for start, stop in pairwise(ends))
        levels = {"": Level.of_events(int(form["events"]))}
        for path, above in form["levels"]:
            counts = np.frombuffer(next(blobs), np.int64)
            present = np.frombuffer(next(blobs), np.bool_)
            levels[path] = Level.under(levels[above], path, counts, present=present)
        columns = {}
        for path, place in form["columns"]:
            kinds = np.frombuffer(next(blobs), np.uint8)
            stops = np.cumsum(np.frombuffer(next(blobs), np.int64))
            columns[path] = Values(
                level=levels[place],
                kinds=kinds,
                data=np.frombuffer(next(blobs), np.uint8),
                starts=np.concatenate([[0], stops[:-1]]).astype(np.int64)[: len(kinds)],
                stops=stops,
            )
        return cls(names=form["names"], columns=columns, events=levels[""])


def names_of(shape: OutputShape) -> dict[str, str | None]:
    """Return what a shape calls its fields, by path, in its order."""
    return {
        node.place: str(json.loads(node.key[:-1])) if node.key else None for node in shape.nodes[1:]
    }


@dataclass(slots=True, kw_only=True, eq=False)
class _Narrowing:
    keeps: Mapping[str, NDArray[np.bool_]]
    known: dict[str, tuple[Level, NDArray[np.int64]]] = field(default_factory=dict)

    def narrowed(self, level: Level) -> tuple[Level, NDArray[np.int64]]:
        """Return a level with the slots that stay, and which those are."""
        if level.path not in self.known:
            self.known[level.path] = self._made(level)
        return self.known[level.path]

    def _made(self, level: Level) -> tuple[Level, NDArray[np.int64]]:
        keep = self.keeps.get(level.path)
        if level.above is None:
            slots = np.arange(level.slots) if keep is None else np.flatnonzero(keep)
            return Level.of_events(len(slots)), slots
        above, up = self.narrowed(level.above)
        counts = np.diff(level.offsets)[up]
        index = _runs(level.offsets[up], counts)
        if keep is not None:
            stays = keep[index]
            owners = np.repeat(np.arange(len(up)), counts)
            counts = np.bincount(owners[stays], minlength=len(up))
            index = index[stays]
        return Level.under(above, level.path, counts, present=level.present[up]), index


def _runs(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return runs of numbers, one behind the other."""
    shift = starts - np.concatenate([[0], np.cumsum(counts)[:-1]])[: len(counts)]
    return np.repeat(shift, counts) + np.arange(int(counts.sum()))


def _compact(values: Values) -> Values:
    """Return the same values with their tokens one behind the other, and no other bytes."""
    scalar = (values.kinds >= int(Kind.INTEGER)) & (values.kinds < int(Kind.OBJECT))
    counts = np.where(scalar, values.stops - values.starts, 0)
    stops = np.cumsum(counts)
    index = _runs(np.where(scalar, values.starts, 0), counts)
    return Values(
        level=values.level,
        kinds=values.kinds,
        data=values.data[index],
        starts=stops - counts,
        stops=stops,
    )


def _levels_of(part: Held) -> dict[str, Level]:
    """Return the levels of the columns and those above them, those above first."""
    found = {"": part.events}
    for values in part.columns.values():
        level: Level | None = values.level
        while level is not None:
            found.setdefault(level.path, level)
            level = level.above
    return dict(sorted(found.items(), key=lambda item: len(Path.parse(item[0]).steps)))


def _joined_levels(chains: Sequence[Mapping[str, Level]]) -> dict[str, Level]:
    levels = {"": Level.of_events(sum(chain[""].slots for chain in chains))}
    paths = dict.fromkeys(path for chain in chains for path in chain)
    for path in sorted(paths, key=lambda path: len(Path.parse(path).steps)):
        above = next(chain[path].above for chain in chains if path in chain)
        if above is None:
            continue
        counts, present = [], []
        for chain in chains:
            level = chain.get(path)
            slots = chain[above.path].slots if above.path in chain else 0
            counts.append(np.zeros(slots, np.int64) if level is None else np.diff(level.offsets))
            present.append(np.zeros(slots, np.bool_) if level is None else level.present)
        levels[path] = Level.under(
            levels[above.path], path, np.concatenate(counts), present=np.concatenate(present)
        )
    return levels


def _concatenate(columns: Sequence[Values], level: Level) -> Values:
    plain = [_compact(values) for values in columns]
    shifts = np.cumsum([0, *(len(values.data) for values in plain)])[:-1].tolist()
    shifted = list(zip(plain, shifts, strict=True))
    return Values(
        level=level,
        kinds=np.concatenate([values.kinds for values in plain]),
        data=np.concatenate([values.data for values in plain]),
        starts=np.concatenate([values.starts + shift for values, shift in shifted]),
        stops=np.concatenate([values.stops + shift for values, shift in shifted]),
    )


#: Words under which the original entity and session wait with an event; no path is like them.
ENTITY, SESSION = "\0entity", "\0session"


@dataclass(slots=True, kw_only=True, eq=False)
class PaneColumn:
    """The released values of a path."""

    level: Level
    codes: NDArray[np.int64]
    tokens: list[Token]
    _numbers: dict[Token, int] = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = {token: number for number, token in enumerate(self.tokens)}

    def number(self, token: Token) -> int:
        """Return the number of a token, a new one if it has none."""
        found = self._numbers.setdefault(token, len(self.tokens))
        if found == len(self.tokens):
            self.tokens.append(token)
        return found


@dataclass(slots=True, kw_only=True, eq=False)
class PaneEvents:
    """Events that are released together."""

    held: Held
    columns: dict[str, PaneColumn]
    alive: NDArray[np.bool_]
    gone: dict[str, NDArray[np.bool_]]
    session: NDArray[np.int64]
    entity: NDArray[np.int64]

    @classmethod
    def of(cls, held: Held, paths: Iterable[str]) -> PaneEvents:
        """Return waiting events before anything is left out."""
        slots = held.events.slots
        entity, _ = word_codes(held.columns[ENTITY], word=person_word)
        session = np.full(slots, -1, np.int64)
        count = 0
        if SESSION in held.columns:
            session, words = word_codes(held.columns[SESSION], word=person_word)
            count = len(words)
        alone = session < 0
        session[alone] = count + np.arange(np.count_nonzero(alone))
        columns = {path: _column(held.columns[path]) for path in paths if path in held.columns}
        return cls(
            held=held,
            columns=columns,
            alive=np.ones(slots, np.bool_),
            gone={},
            session=session,
            entity=entity,
        )

    def live(self, level: Level) -> NDArray[np.bool_]:
        """Return which slots of a level are released."""
        found = self.alive[level.event]
        for path, gone in self.gone.items():
            at: Level | None = level
            while at is not None and at.path != path:
                at = at.above
            if at is not None:
                found = found & ~gone[enclosing(level, path)]
        return found

    def owners(self, unit: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the entity of each session, or other unit of events; -1 where none is known.

        It is that of the first released event that has one: so it can be recounted.
        """
        found = np.full(int(unit.max(initial=-1)) + 1, -1, np.int64)
        named = np.flatnonzero(self.alive & (self.entity >= 0))[::-1]
        found[unit[named]] = self.entity[named]
        return found

    def leave_out(self, level: Level, slots: NDArray[np.bool_]) -> None:
        """Leave elements out; events, where they are in no array."""
        if level.above is None:
            self.alive &= ~slots
            return
        gone = self.gone.setdefault(level.path, np.zeros(level.slots, np.bool_))
        gone |= slots

    def shown(self) -> Counter[str]:
        """Count released events, and values and elements of the protected paths."""
        found: Counter[str] = Counter({"events-held": int(np.count_nonzero(self.alive))})
        for column in self.columns.values():
            live = self.live(column.level)
            found["values-left-out"] += int(np.count_nonzero(live & (column.codes >= 0)))
            if column.level.above is not None:
                found["elements-held"] += int(np.count_nonzero(live))
        return found

    def left(self) -> Held:
        """Return the released events."""
        columns = dict(self.held.columns)
        for path, column in self.columns.items():
            columns[path] = Values.from_tokens(column.level, column.codes, column.tokens)
        columns.pop(ENTITY, None)
        columns.pop(SESSION, None)
        whole = Held(names=self.held.names, columns=columns, events=self.held.events)
        keeps = {"": self.alive, **{path: ~gone for path, gone in self.gone.items()}}
        return whole.narrowed(keeps)


def _column(values: Values) -> PaneColumn:
    codes, tokens = values.distinct()
    plain = np.array([*(kind < Kind.OBJECT for kind, _ in tokens), False], np.bool_)
    return PaneColumn(
        level=values.level,
        codes=np.where(plain[codes], codes, np.int32(-1)).astype(np.int64),
        tokens=tokens,
    )
