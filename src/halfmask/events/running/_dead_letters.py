"""What a run notices: lines that were no events, times that go back, rules that find nothing."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from halfmask._errors import DataError, ReleaseError
from halfmask.events.block._bad_lines import Reason
from halfmask.events.block._paths import Path as EventPath
from halfmask.events.block._paths import Step
from halfmask.events.block._times import EARLIEST, LATEST, Zone, read_times
from halfmask.events.block._values import Kind
from halfmask.events.running._context import BlockView, Context
from halfmask.events.streams._file_sink import lock, not_ours, translate_write_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.events.block._block import Block
    from halfmask.events.block._values import Values
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.streams import Chunk


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
    def _places(rule: EventPath, followed: frozenset[str]) -> list[str]:
        """Return the places of a block that a rule is of, whatever their values' types."""
        if not _STARS & set(rule.steps):
            return [rule.place] if rule.place in followed else []
        steps = EventPath(steps=rule.steps)
        return [place for place in sorted(followed) if steps.matches(EventPath.parse(place))]

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


_TOGETHER = 1024


class DeadLetters:
    """A file of JSON lines: one for each input line that isn't a valid event.

    Parameters
    ----------
    path
        The file, of mode 0600. It must not be released.
    with_content
        Whether the file also has the content of each line, as ``raw``, or as ``raw_base64`` if the
        line isn't UTF-8. The content of lines that are too long is never written.
    overwrite
        Whether an existing file may be replaced.

    Notes
    -----
    Each JSON line has ``file`` (the number of the file in a folder, or 1), ``line`` (the number of
    the input line) and ``reason``.
    """

    def __init__(
        self, path: str | Path, *, with_content: bool = False, overwrite: bool = False
    ) -> None:
        self._path = Path(path)
        self.with_content = with_content
        self._overwrite = overwrite
        self._file: BinaryIO | None = None
        self._length = 0

    def check(self) -> None:
        """Raise if something is there that may not be replaced.

        Raises
        ------
        ReleaseError
            If there is.
        """
        if os.path.lexists(self._path) and not self._overwrite:
            raise ReleaseError(
                "The file of dead letters exists.",
                hint="Choose another name, or allow it to be overwritten: "
                "[[overwrite=True|--overwrite]].",
            )

    def begin(self, length: int) -> None:
        """Make the file, or cut it back to a length.

        Parameters
        ----------
        length
            The length of the file in bytes at the checkpoint.

        Raises
        ------
        ReleaseError
            If others may read it, it is shorter, or can't be written.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with translate_write_errors():
            self._file = os.fdopen(os.open(self._path, flags, 0o600), "r+b", buffering=0)
            lock(self._file)
            found = os.fstat(self._file.fileno())
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or found.st_uid != os.geteuid():
                raise ReleaseError(
                    "The file of dead letters may be read by others, or isn't yours.",
                    hint="Remove it, or give it the mode 0600.",
                )
            if found.st_size < length:
                raise not_ours()
            self._file.truncate(length)
            self._file.seek(length)
            self._length = length

    def write(self, chunk: Chunk, block: Block | None) -> None:
        """Note the lines of a chunk that are no events.

        Parameters
        ----------
        chunk
            The lines that were read.
        block
            The same lines, scanned; ``None`` for a line that is too long.
        """
        letters = self._letters(chunk, block)
        while data := b"".join(
            json.dumps(each).encode() + b"\n" for each in islice(letters, _TOGETHER)
        ):
            self._put(data)

    def _letters(self, chunk: Chunk, block: Block | None) -> Iterator[dict[str, object]]:
        if block is None:
            yield {"file": chunk.file, "line": chunk.first_line, "reason": str(Reason.TOO_LONG)}
            return
        for bad in block.bad:
            letter: dict[str, object] = {
                "file": chunk.file,
                "line": bad.line,
                "reason": str(bad.reason),
            }
            if self.with_content and bad.reason != Reason.TOO_LONG:
                letter |= _content(bytes(chunk.view[bad.start : bad.stop]))
            yield letter

    def _put(self, data: bytes) -> None:
        if self._file is None:
            raise ReleaseError("The dead letters were closed.", hint="This is a fault of halfmask.")
        left = memoryview(data)
        with translate_write_errors():
            while left:
                left = left[self._file.write(left) or 0 :]
        self._length += len(data)

    def sync(self) -> int:
        """Bring all to the disk; return how long the file is."""
        if self._file is not None:
            with translate_write_errors():
                os.fsync(self._file.fileno())
        return self._length

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _content(line: bytes) -> dict[str, object]:
    try:
        return {"raw": line.decode()}
    except UnicodeDecodeError:
        return {"raw_base64": base64.b64encode(line).decode()}
