"""Notices: what a run sees of its stream that no rule can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.events.block._paths import Path, Step
from halfmask.events.block._times import read_times
from halfmask.events.block._values import Kind
from halfmask.events.block._zones import EARLIEST, LATEST, Zone
from halfmask.events.running._context import BlockView, Context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.events.block._block import Block
    from halfmask.events.block._values import Values
    from halfmask.events.policy._policy import EventPolicy

_STARS = {Step.FIELD, Step.BENEATH}


class Notices:
    """Notices clocks that go back, rules whose path no event has, and that no value is written.

    Notes
    -----
    **Guarantees.** What is noticed depends on the events, not on where blocks end.

    **Edge cases.** The clock is watched where ``[stream]`` names the time and a rule or a window
    reads it. An event without a time that can be read is left out of that.
    """

    def __init__(self, policy: EventPolicy) -> None:
        self._rules = {
            number: rule.place for number, rule in enumerate(policy.rules, start=1) if rule.steps
        }
        self._time = policy.stream.time
        self._zone = None if policy.stream.zone is None else Zone(policy.stream.zone)
        self._unit = None if policy.window is None else policy.window.unit
        # Where clocks are even, one loop reads times and compares them.
        self._behind = 0 if self._zone is None else self._zone.even
        self._unmet = set(self._rules)
        self._last: int | None = None
        self.clock_went_back = 0
        #: Whether no value of any event passed the rules so far: lines are empty, if there are any.
        self.blank = True

    def see(self, block: Block, columns: Mapping[str, Values]) -> None:
        """Look at the next block, and at what the rules made of it."""
        followed = frozenset(block.paths)
        for number in sorted(self._unmet):
            places = self._places(self._rules[number], followed)
            if any((block.values(it).kinds != int(Kind.MISSING)).any() for it in places):
                self._unmet.discard(number)
        if self.blank:
            missing = int(Kind.MISSING)
            self.blank = not any((it.kinds != missing).any() for it in columns.values())
        if self._time in followed:
            self._watch(block, self._time)

    @staticmethod
    def _places(rule: Path, followed: frozenset[str]) -> list[str]:
        """Return the places of a block that a rule is of, whatever their values' types."""
        if not _STARS & set(rule.steps):
            return [rule.place] if rule.place in followed else []
        steps = Path(steps=rule.steps)
        return [place for place in sorted(followed) if steps.matches(Path.parse(place))]

    def _watch(self, block: Block, path: str) -> None:
        values = block.values(path)
        if self._unit is None and self._behind is not None:
            self._watch_even(values, self._behind)
            return
        view = BlockView(read=block.values, events=block.n_events, first_event=0)
        times = read_times(values, Context(view=view, path=path), zone=self._zone, unit=self._unit)
        utc = times.utc[times.fits]
        if not len(utc):
            return
        before = utc[0] if self._last is None else np.int64(self._last)
        self.clock_went_back += int(np.count_nonzero(np.diff(utc, prepend=before) < 0))
        self._last = int(utc[-1])

    def _watch_even(self, values: Values, behind: int) -> None:
        from halfmask.kernels.text.time_grids import count_back  # noqa: PLC0415 # numba is slow to import

        known = np.array([self._last is not None, self._last or 0, 0], np.int64)
        count_back(
            values.data, values.kinds, values.starts, values.stops,
            int(self._zone is not None), behind, EARLIEST, LATEST, known,
        )  # fmt: skip
        any_, before, back = known.tolist()
        self._last = before if any_ else None
        self.clock_went_back += back

    @property
    def unmet(self) -> tuple[int, ...]:
        """Rules, by number from 1 on, whose path no event had."""
        return tuple(sorted(self._unmet))

    def state(self) -> dict[str, Any]:
        """Return what is known, as JSON can hold it."""
        return {
            "unmet": self.unmet,
            "last": self._last,
            "back": self.clock_went_back,
            "blank": self.blank,
        }

    def restore(self, state: Any) -> None:  # noqa: ANN401 # what JSON held
        """Go on from what `state` returned."""
        try:
            self._unmet = {int(number) for number in state["unmet"]} & set(self._rules)
            self._last = None if state["last"] is None else int(state["last"])
            self.clock_went_back = int(state["back"])
            self.blank = bool(state.get("blank", False))
        except (KeyError, TypeError, ValueError):
            raise DataError("The checkpoint of the stream is damaged.") from None
