"""EventClock: which pane each event belongs to, by its time, and when each pane is whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from halfmask._errors import DataError
from halfmask.events.block._block import scan_block
from halfmask.events.block._path_tree import PathTree
from halfmask.events.block._paths import Path
from halfmask.events.block._times import EARLIEST, Zone, read_times
from halfmask.events.policy._sections import Duration
from halfmask.events.running._context import BlockView, Context
from halfmask.events.stages._grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from halfmask.events.block._bad_lines import Limits
    from halfmask.events.block._block import Block
    from halfmask.events.block._times import Times
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.streams import Chunk


class Foreseen:
    """Counts events down by window, so that each window closes with its last event.

    Notes
    -----
    **Guarantees.** Windows close in their order, and what is in them is what it would be if the
    events were sorted by time first. Memory is taken by as many events as are out of order.

    **Edge cases.** A window that gets fewer events than were counted closes at the end of the
    input, as do those behind it. One that gets more closes again, as a part of its own.
    """

    def __init__(self, left: Iterable[tuple[int, int]]) -> None:
        self._left = dict(left)

    @classmethod
    def of(
        cls,
        chunks: Iterable[Chunk],
        path: str,
        windows: Callable[[Block], NDArray[np.int64]],
        *,
        limits: Limits | None,
    ) -> Foreseen:
        """Return the counts of an input."""
        left: Counter[int] = Counter()
        tree = PathTree([Path.parse(path)])
        try:
            for chunk in chunks:
                if not chunk.oversized:
                    found, counts = np.unique(
                        windows(scan_block(chunk.view, tree, limits)), return_counts=True
                    )
                    left.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
                chunk.release()
        except DataError:
            left[EARLIEST - 1] = 1  # nothing is of that window: it never closes
        return cls(sorted(left.items()))

    def over(self, windows: NDArray[np.int64], events: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Count the next events; return windows that are whole, and with which event they are."""
        found, first, counts = np.unique(windows[::-1], return_index=True, return_counts=True)
        last = dict(zip(found.tolist(), events[::-1][first].tolist(), strict=True))
        for window, count in zip(found.tolist(), counts.tolist(), strict=True):
            self._left[window] = self._left.get(window, 0) - count
        whole: list[tuple[int, int]] = []
        at = 0
        for window, count in self._left.items():
            if count > 0:
                break
            at = max(at, last.get(window, 0))
            whole.append((window, at))
        for window, _ in whole:
            del self._left[window]
        return whole

    def state(self) -> list[tuple[int, int]]:
        """Return what is left, as JSON can hold it."""
        return list(self._left.items())


_MOST_AT_ONCE = 1 << 22
#: When a pane is whole, its window, and for late events the window in which they came, else None.
Pane: TypeAlias = tuple[int, int, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A pane that is whole."""

    at: int
    pane: Pane

    @property
    def order(self) -> tuple[int, int, int, int]:
        """What closings are sorted by: the event, then the panes' own order."""
        end, window, late = self.pane
        return self.at, end, window, EARLIEST - 1 if late is None else late


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """The events of a block, by pane."""

    panes: tuple[Pane, ...]
    number: NDArray[np.int64]
    closings: tuple[Closing, ...]


class EventClock:
    """Tells time by the events: the latest time that was met, less the allowed lateness.

    Notes
    -----
    The watermark of Akidau et al., "The dataflow model" (VLDB 2015), with a fixed bound of delay.

    **Guarantees.** The pane of an event, and with which event a pane is whole, depend on the events
    up to it alone, not on where blocks end. An event never comes to a pane that was whole. Nothing
    depends on the clock of a machine.

    After `look_ahead` no event is late, and each pane is whole with the last event of its window.

    **Edge cases.** A time that goes back is behind the latest, and the watermark stays. One time
    far ahead moves it for good, and what follows is late and counted; unless the median of several
    is taken, which only follows where most of them go. Windows of a stream without events stay
    open until it ends.
    """

    def __init__(self, policy: EventPolicy) -> None:
        if policy.window is None or policy.stream.time is None:
            raise DataError("The policy has no window.")
        window = policy.window
        self._path = policy.stream.time
        self._zone = None if policy.stream.zone is None else Zone(policy.stream.zone)
        self._unit = window.unit
        self._grid = Grid(Duration.parse(window.every), zone=Zone(window.zone))
        self._lateness = Duration.parse(window.lateness).micros
        self._updates = window.late == "update"
        self._median = window.median
        self._recent = np.zeros(0, np.int64)
        self._latest = EARLIEST
        self._open: set[Pane] = set()
        self._foreseen: Foreseen | None = None
        self.dropped: Counter[str] = Counter()

    def look_ahead(self, chunks: Iterable[Chunk], limits: Limits | None = None) -> None:
        """Count the events of each window of an input that has an end, before they are placed."""

        def windows(block: Block) -> NDArray[np.int64]:
            times = self._times(block, 0)
            return self._grid.keys(times.utc[times.fits])

        self._foreseen = Foreseen.of(chunks, self._path, windows, limits=limits)

    def place(self, block: Block, wanted: NDArray[np.bool_], *, first_event: int) -> Placed:
        """Place the events of a block that are wanted."""
        times = self._times(block, first_event)
        self.dropped["no-time"] += int(np.count_nonzero(wanted & ~times.fits))
        used = np.flatnonzero(wanted & times.fits)
        if self._foreseen is not None:
            return self._foretold(self._foreseen, times, used)
        number = np.full(block.n_events, -1, np.int64)
        if not len(used):
            return Placed(panes=(), number=number, closings=())
        utc = times.utc[used]
        latest = np.maximum.accumulate(np.maximum(self._medians(utc), self._latest))
        self._latest = int(latest[-1])
        marks = np.maximum(latest - self._lateness, EARLIEST)
        panes, of = self._panes(utc, marks)
        number[used] = of
        met = tuple(panes[each] for each in range(len(panes)))
        self._open |= set(met)
        return Placed(panes=met, number=number, closings=self._closings(marks, used))

    def _times(self, block: Block, first_event: int) -> Times:
        view = BlockView(read=block.values, events=block.n_events, first_event=first_event)
        context = Context(view=view, path=self._path)
        values = block.values(self._path)
        return read_times(values, context, zone=self._zone, unit=self._unit)

    def _foretold(self, foreseen: Foreseen, times: Times, used: NDArray[np.int64]) -> Placed:
        """Place events whose windows close with their last event."""
        number = np.full(len(times.fits), -1, np.int64)
        events = np.flatnonzero(times.fits)
        if not len(events):
            return Placed(panes=(), number=number, closings=())
        self._latest = max(self._latest, int(times.utc[events].max()))
        windows = self._grid.keys(times.utc[events])
        met, of = np.unique(windows[np.isin(events, used)], return_inverse=True)
        number[used] = of
        panes = self._whole_panes(met)
        self._open |= set(panes)
        whole = foreseen.over(windows, events)
        over = self._whole_panes(np.array([window for window, _ in whole], np.int64))
        closings = tuple(
            Closing(at=at, pane=pane)
            for pane, (_, at) in zip(over, whole, strict=True)
            if pane in self._open
        )
        self._open -= set(over)
        return Placed(panes=tuple(panes), number=number, closings=closings)

    def _whole_panes(self, windows: NDArray[np.int64]) -> list[Pane]:
        ends = self._grid.ends(windows).tolist() if len(windows) else []
        return [(end, window, None) for end, window in zip(ends, windows.tolist(), strict=True)]

    def _medians(self, utc: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each time the median of the last ones; the earliest time before there are."""
        times = np.concatenate([self._recent, utc])
        of = self._median
        self._recent = times[max(len(times) - of + 1, 0) :]
        found = np.full(len(times), EARLIEST)
        runs = np.lib.stride_tricks.sliding_window_view(times, of) if len(times) >= of else ()
        step = _MOST_AT_ONCE // of
        for start in range(0, len(runs), step):
            middle = np.partition(runs[start : start + step], of // 2, axis=1)[:, of // 2]
            found[start + of - 1 : start + of - 1 + len(middle)] = middle
        return found[len(times) - len(utc) :]

    def _panes(
        self, utc: NDArray[np.int64], marks: NDArray[np.int64]
    ) -> tuple[list[Pane], NDArray[np.int64]]:
        """Return the panes that there are, and which of them each time belongs to."""
        windows, which = np.unique(self._grid.keys(utc), return_inverse=True)
        ends = self._grid.ends(windows)
        late = ends[which] <= marks
        of = np.where(late, -1, which)
        panes = self._whole_panes(windows)
        if not late.any():
            return panes, of
        if self._updates:
            came = self._grid.keys(marks[late])
            pairs, where = np.unique(
                np.stack([windows[which[late]], came]), axis=1, return_inverse=True
            )
            of[late] = len(panes) + where.reshape(-1)
            until = self._grid.ends(pairs[1]).tolist()
            panes += list(zip(until, *pairs.tolist(), strict=True))
        else:
            self.dropped["late"] += int(np.count_nonzero(late))
        there = np.unique(of[of >= 0])
        again = np.full(len(panes) + 1, -1, np.int64)
        again[there] = np.arange(len(there))
        return [panes[each] for each in there.tolist()], again[of]

    def _closings(self, marks: NDArray[np.int64], used: NDArray[np.int64]) -> tuple[Closing, ...]:
        over = [pane for pane in self._open if pane[0] <= marks[-1]]
        self._open -= set(over)
        at = np.searchsorted(marks, np.array([pane[0] for pane in over], np.int64))
        found = [
            Closing(at=int(used[event]), pane=pane) for event, pane in zip(at, over, strict=True)
        ]
        return tuple(sorted(found, key=lambda closing: closing.order))

    def renew(self) -> None:
        """Count from 0 for the next input, whose windows weren't looked at yet."""
        self.dropped.clear()
        self._foreseen = None

    def finish(self, *, events: int) -> tuple[Closing, ...]:
        """Return the panes that were still open, in order: the stream is at its end."""
        found = [Closing(at=events, pane=pane) for pane in self._open]
        self._open.clear()
        return tuple(sorted(found, key=lambda closing: closing.order))

    def written(self, pane: Pane) -> str:
        """Return how a pane's window is written."""
        return self._grid.written(pane[1])

    def state(self) -> dict[str, Any]:
        """Return what the clock knows, as JSON can hold it."""
        return {
            "latest": self._latest,
            "recent": self._recent.tolist(),
            "open": sorted(self._open, key=lambda pane: Closing(at=0, pane=pane).order),
            "dropped": dict(sorted(self.dropped.items())),
            "foreseen": None if self._foreseen is None else self._foreseen.state(),
        }

    def restore(self, state: Any) -> None:  # noqa: ANN401 # what JSON held
        """Go on from what `state` returned."""
        try:
            self._latest = int(state["latest"])
            self._recent = np.array(state["recent"], np.int64)
            self._open = {pane_of(pane) for pane in state["open"]}
            self.dropped = Counter(state["dropped"])
            left = state["foreseen"]
            self._foreseen = None if left is None else Foreseen((int(w), int(n)) for w, n in left)
        except (KeyError, TypeError, ValueError):
            raise DataError("The state of a stream's windows is damaged.") from None


def pane_of(state: Any) -> Pane:  # noqa: ANN401 # what JSON held
    """Return the pane that JSON holds as a list."""
    end, window, late = state
    return int(end), int(window), None if late is None else int(late)
