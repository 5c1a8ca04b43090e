"""Holding: the stage that holds events back until their window is over, and what fails for good."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError, PolicyError
from halfmask.claims import EventClaims
from halfmask.events.block._naming import by_steps
from halfmask.events.block._path_tree import OutputShape
from halfmask.events.block._writing import write_block
from halfmask.events.policy._policy_sections import place
from halfmask.events.running._claims import guarantee_claim
from halfmask.events.stages._cells import Coarser
from halfmask.events.stages._clock import Closing, EventClock, pane_of
from halfmask.events.stages._held import ENTITY, SESSION, Held, PaneEvents, names_of
from halfmask.events.stages._item_sets import hold_sets
from halfmask.events.stages._session_k import hold_sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from halfmask.events.block._bad_lines import Limits
    from halfmask.events.block._block import Block
    from halfmask.events.block._writing import Changed
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.stages._clock import Pane
    from halfmask.events.streams import Chunk

_FORMAT = "halfmask events held"
_VERSION = 1
_HEAD = 8


@dataclass(slots=True, kw_only=True, eq=False)
class _Waiting:
    """Events of one pane that wait, in the parts in which they came."""

    count: int = 0
    parts: list[Held] = field(default_factory=list)


class Holding:
    """Holds events until their window is over, and lets out what fulfils all guarantees.

    Notes
    -----
    Events wait for their window, and for at most so many others of it: the bounded delay of CASTLE
    (Cao, Carminati, Ferrari, Tan, TDSC 2011), with what fails then left out rather than merged.

    **Guarantees.** Each guarantee of the policy holds for events that are released together: after
    one has changed something, all are looked at again, until none changes anything. The output
    depends on the events alone, not on where blocks end or whether the stage went on from a state.
    Events are written in the order in which they came, one window behind the other.

    **Edge cases.** Each window, and each part of one, stands for itself: an attacker who can
    link somebody from one to the next learns more than k bounds. Sessions count with what they
    show in the window.
    A session is about one entity, that of its first event that names one. Late events that aren't
    dropped are released as a part of their own.
    """

    passes_through = False

    def __init__(self, policy: EventPolicy, *, folder: Path | None = None) -> None:
        self._policy = policy
        self._clock = EventClock(policy)
        where = policy.folder if folder is None else folder
        self._coarser = [
            {
                place(path).place: Coarser(hierarchy, folder=where)
                for path, hierarchy in section.hierarchies.items()
            }
            for section in policy.guarantees
        ]
        self._most = 1 if policy.window is None else policy.window.most
        self._waiting: dict[Pane, _Waiting] = {}
        self._counts: Counter[str] = Counter()
        self._least: list[int | None] = [None] * len(policy.guarantees)
        self._lines: list[int] = []
        self._events = 0

    def look_ahead(self, chunks: Iterable[Chunk], limits: Limits) -> None:
        """Count the events of each window before they come, so that none is late."""
        self._clock.look_ahead(chunks, limits)

    def take(self, changed: Changed, block: Block) -> bytes:
        """Take a block in, and return the events of the windows and parts that are whole."""
        placed = self._clock.place(block, changed.wanted, first_event=self._events)
        self._events += block.n_events
        jobs: list[tuple[Closing, list[Held]]] = []
        if placed.panes:
            whole = self._held(changed, block)
            for number, pane in enumerate(placed.panes):
                jobs += self._wait(whole, pane, np.flatnonzero(placed.number == number))
        jobs += self._over(placed.closings)
        return self._left(jobs)

    def finish(self) -> bytes:
        """Return the events that still wait, after the guarantees."""
        return self._left(self._over(self._clock.finish(events=self._events)))

    def _held(self, changed: Changed, block: Block) -> Held:
        columns = dict(changed.columns)
        stream = self._policy.stream
        if stream.entity is not None:
            columns[ENTITY] = block.values(stream.entity)
        if stream.session is not None:
            columns[SESSION] = block.values(stream.session)
        return Held(names=names_of(changed.shape), columns=columns, events=changed.events)

    def _wait(
        self, whole: Held, pane: Pane, events: NDArray[np.int64]
    ) -> list[tuple[Closing, list[Held]]]:
        """Let events of a pane wait; return the parts of it that are whole with them."""
        jobs = []
        waiting = self._waiting.setdefault(pane, _Waiting())
        while len(events):
            taken, events = np.split(events, [self._most - waiting.count])
            keep = np.zeros(whole.events.slots, np.bool_)
            keep[taken] = True
            waiting.parts.append(whole.narrowed({"": keep}))
            waiting.count += len(taken)
            if waiting.count == self._most:
                jobs.append((Closing(at=int(taken[-1]), pane=pane), waiting.parts))
                waiting = self._waiting[pane] = _Waiting()
        return jobs

    def _over(self, closings: tuple[Closing, ...]) -> list[tuple[Closing, list[Held]]]:
        return [
            (closing, self._waiting.pop(closing.pane, _Waiting()).parts) for closing in closings
        ]

    def _left(self, jobs: list[tuple[Closing, list[Held]]]) -> bytes:
        ordered = sorted(jobs, key=lambda job: job[0].order)
        return b"".join(self._let_out(Held.joined(parts)) for _, parts in ordered if parts)

    def _let_out(self, held: Held) -> bytes:
        """Return the lines of events that are released together, after all guarantees."""
        sections = self._policy.guarantees
        paths = dict.fromkeys(place(path).place for it in sections for path in it.paths)
        pane = PaneEvents.of(held, paths)
        before = pane.shown()
        smallest: dict[int, int | None] = {}
        again, is_first = True, True
        while again:
            again = False
            for number, section in enumerate(sections):
                coarser = self._coarser[number] if is_first else {}
                hold = hold_sessions if section.kind == "session-k" else hold_sets
                changed, smallest[number] = hold(pane, section, coarser)
                again |= changed
            is_first = False
        # What the last pass counted: classes of earlier passes may not be released.
        for number, least in smallest.items():
            known = self._least[number]
            self._least[number] = known if least is None else min(least, known or least)
        return self._written(pane, before)

    def _written(self, pane: PaneEvents, before: Counter[str]) -> bytes:
        left = pane.left()
        shape = _shape(left.names, self._policy.names())
        columns = {path: it for path, it in left.columns.items() if path in shape.places}
        self._counts += before - pane.shown()
        self._counts["events-written"] += left.events.slots
        self._lines.append(left.events.slots)
        return write_block(shape, columns, events=left.events)

    def state(self) -> bytes:
        """Return what the stage knows: the events that wait among it; seal it in the vault."""
        blobs = [[part.packed() for part in it.parts] for it in self._waiting.values()]
        form = {
            "format": _FORMAT,
            "version": _VERSION,
            "clock": self._clock.state(),
            "events": self._events,
            "counts": dict(sorted(self._counts.items())),
            "least": self._least,
            "lines": self._lines,
            "waiting": [
                [pane, it.count, [len(blob) for blob in packed]]
                for (pane, it), packed in zip(self._waiting.items(), blobs, strict=True)
            ],
        }
        head = json.dumps(form, separators=(",", ":")).encode()
        packed = b"".join(blob for each in blobs for blob in each)
        return len(head).to_bytes(_HEAD, "little") + head + packed

    def restore(self, state: bytes) -> None:
        """Go on from what `state` returned."""
        try:
            at = _HEAD + int.from_bytes(state[:_HEAD], "little")
            form = json.loads(state[_HEAD:at])
            if (form["format"], form["version"]) != (_FORMAT, _VERSION):
                raise ValueError  # noqa: TRY301 # caught below
            self._clock.restore(form["clock"])
            self._events, self._counts = int(form["events"]), Counter(form["counts"])
            self._lines, self._least = list(form["lines"]), list(form["least"])
            self._waiting = {}
            for pane, count, sizes in form["waiting"]:
                waiting = self._waiting[pane_of(pane)] = _Waiting(count=int(count))
                for size in sizes:
                    waiting.parts.append(Held.unpacked(state[at : at + size]))
                    at += size
            if at != len(state) or len(self._least) != len(self._policy.guarantees):
                raise ValueError  # noqa: TRY301 # caught below
        except (ValueError, TypeError, KeyError):
            raise DataError("The bytes hold no state of guarantees, or a damaged one.") from None

    def renew(self) -> None:
        """Count from 0 for the next input; times that were met stay met."""
        self._counts.clear()
        self._clock.renew()
        self._lines.clear()
        self._least = [None] * len(self._policy.guarantees)

    def summary(self) -> dict[str, int]:
        """Return counts: events that left, what was held back for good, late events."""
        waiting = sum(it.count for it in self._waiting.values())
        counts = {**self._counts, **self._clock.dropped, "events-waiting": waiting}
        return dict(sorted(counts.items()))

    def claims(self) -> EventClaims:
        """Return what is claimed of the lines, for `halfmask.verifier.events.verify_events`."""
        counted = zip(self._policy.guarantees, self._least, strict=True)
        return EventClaims(
            claims=tuple(guarantee_claim(self._policy, it, least=least) for it, least in counted),
            panes=tuple(self._lines),
        )


def _shape(names: Mapping[str, str | None], fixed: Mapping[str, str | None]) -> OutputShape:
    """Return the shape of fields that were met in several blocks, in an order of their own."""
    rest = sorted((path for path in names if path not in fixed), key=by_steps)
    try:
        return OutputShape({**fixed, **{path: names[path] for path in rest}})
    except PolicyError:
        # Stars found two fields of one name in two blocks: the first one stays.
        known = dict(fixed)
    for path in rest:
        try:
            OutputShape({**known, path: names[path]})
        except PolicyError:
            continue
        known[path] = names[path]
    return OutputShape(known)
