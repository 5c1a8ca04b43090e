"""A run: a stream of events through a policy, that goes on where it was broken off."""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from halfmask._errors import DataError, KeyMismatchError
from halfmask.events.block._bad_lines import Reason
from halfmask.events.running._checkpoint import Checkpoint
from halfmask.events.running._run_summary import Tally, summed_up
from halfmask.events.running._working_ahead import Steps, WorkingAhead
from halfmask.events.streams._file_sink import not_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halfmask._progress import Progress
    from halfmask.events.block._block import Block
    from halfmask.events.block._writing import Changed
    from halfmask.events.running._checkpoint import CheckpointStore, Status
    from halfmask.events.running._dead_letters import DeadLetters, Notices
    from halfmask.events.running._run_summary import RunSummary
    from halfmask.events.running._transforming import Transform
    from halfmask.events.stages._stage import Stage
    from halfmask.events.streams import Chunk, Position, Sink, Source

    _Ahead: TypeAlias = WorkingAhead[Block, "_Taken"]

OnError: TypeAlias = Literal["stop", "skip"]
Gate: TypeAlias = "Callable[[Iterator[bytes], RunSummary], None]"

#: No more than one part in so many of the time goes into checkpoints.
_PATIENCE = 20
_FIRST_BAD = 10


class _SpoiltError(Exception):
    """The run was stopped half-way through a block: what is known isn't that of any line."""

    def __init__(self, why: DataError) -> None:
        super().__init__()
        self.why = why


@dataclass(slots=True, kw_only=True)
class _Taken:
    """A block that is ready to be written: changed, or one line that was skipped for its length.

    `lines` are there where the stage passes through, `state` where it is time for a checkpoint.
    """

    chunk: Chunk
    block: Block
    changed: Changed | None = None
    lines: bytes | memoryview | None = None
    state: bytes | None = None


@dataclass(slots=True, kw_only=True)
class Running:
    """A run at work.

    While a block is written, the next ones are read, scanned, changed by the rules and put into
    lines, several at once.
    """

    source: Source
    sink: Sink
    transform: Transform
    stage: Stage
    store: CheckpointStore
    notices: Notices
    letters: DeadLetters | None
    on_error: OnError
    every: float
    threads: int
    stop: threading.Event
    progress: Progress
    gate: Gate | None = None
    _base: Tally = field(default_factory=Tally)
    _position: Position | None = None
    _bad_lines: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _saved: int = 0
    _resumed: bool = False
    _supplied: str = ""
    _due: float = 0.0

    def go(self, *, restart: bool) -> RunSummary:
        """Begin, or go on; return what was done."""
        found = None if restart else self.store.load()
        self._supplied = self.transform.supplied()
        if found is not None:
            self._restore(found)
            if found.status == "complete" and self._is_done(found):
                self.sink.close(done=True)
                return self._summary(complete=True)
        done = False
        ahead = WorkingAhead(
            self.source,
            self._position,
            Steps(scan=self._scan, take=self._take, finish=self._put_into_lines),
            threads=self.threads,
        )
        try:
            self._begin(found, ahead)
            self._look_ahead()
            done = self._work(ahead)
        finally:
            ahead.close()
            self.sink.close(done=done)
            if self.letters is not None:
                self.letters.close()
        return self._summary(complete=done)

    def _look_ahead(self) -> None:
        """Let the stage see a whole input that has an end, so that it can wait for what is late."""
        again = None if self.stage.passes_through or self._position else self.source.reread()
        if again is None:
            return

        def chunks() -> Iterator[Chunk]:
            for chunk in again.chunks(None, self.stop):
                self.progress("looking at times", again.share(chunk.position))
                yield chunk

        self.stage.look_ahead(chunks(), self.transform.limits)

    def _check_late(self) -> None:
        """Refuse an output that lacks events since they came late, where that wasn't asked for."""
        window = self.transform.policy.window
        late = self.stage.summary().get("late", 0)
        if not late or window is None or "late" in window.model_fields_set:
            return
        raise DataError(
            f"{late:,} of {self.transform.tally.events - self._base.events:,} events came after "
            "their window was closed, and would be missing in the output.",
            hint="Give the input as a file: it is put in order first. Or write lateness, or late, "
            "in [window] of the policy.",
        )

    def _restore(self, found: Checkpoint) -> None:
        try:
            self.transform.restore(found.transform)
            self.stage.restore(found.stage)
        except KeyMismatchError as error:
            raise KeyMismatchError(
                error.what.written.replace("The state", "What the vault knows of the stream"),
                hint="Other events: give their policy another release, or [[another "
                "stream|--stream a name]]. A policy that was changed: [[restart=True|--restart]] "
                "starts again and forgets its numbers.",
            ) from None
        if found.status == "complete":
            # Numbers go on; all else is of the next input.
            self._base = Tally.from_json(self.transform.tally.to_json())
            return
        same = found.progress["supplied"] == self._supplied
        if not (same or found.position is None or self.source.endless):
            raise KeyMismatchError(
                "A secret table or hierarchy file changed since the run was interrupted: the "
                "output would mix both.",
                hint="Put it back until the run has ended, or start again with "
                "[[restart=True|--restart]].",
            )
        self._continue_from(found)

    def _continue_from(self, found: Checkpoint) -> None:
        progress = found.progress
        self._base = Tally.from_json(progress["base"])
        self._bad_lines = {
            why: [(f, n) for f, n in at] for why, at in progress["bad_lines"].items()
        }
        self._saved = int(progress["saved"])
        self.notices.restore(progress["notices"])
        self._position = found.position
        self._resumed = True

    def _is_done(self, found: Checkpoint) -> bool:
        """Return whether it is the run that came to its end, started once more."""
        target = self.sink.target
        if target is None or found.progress["target"] != _mark_of(target) or not target.exists():
            return False
        try:
            with closing(self.source.chunks(found.position, self.stop)) as chunks:  # type: ignore[type-var] # generators, all of them
                is_end = next(chunks, None) is None
        except DataError:
            return False
        if is_end:
            self._continue_from(found)
        return is_end

    def _begin(self, found: Checkpoint | None, ahead: _Ahead) -> None:
        """Make all ready; while the vault is written, the first blocks are worked on already."""
        self._due = time.monotonic() + self.every
        if found is not None and found.status == "running":
            target = self.sink.target
            if found.sink is None and target and found.progress["target"] != _mark_of(target):
                raise not_ours()
            self.sink.begin(found.sink, found.pending, again=True)
            self._letters_begin(found.letters)
            ahead.start()
            self.store.claim()
            return
        self.sink.check()
        if self.letters is not None:
            self.letters.check()
        state = self.transform.state() if self._is_lasting else b""  # before anything is changed
        ahead.start()
        self.store.claim()
        self.stage.renew()
        if self._is_lasting:
            self.store.save(self._checkpoint("running", state, sink=None))
        self.sink.begin(None, b"", again=False)
        self._letters_begin(0)

    def _letters_begin(self, length: int) -> None:
        if self.letters is not None:
            self.letters.begin(length)

    @property
    def _is_lasting(self) -> bool:
        """Whether an interrupted run is continued.

        What went into a pipe can't be called back: an input with an end starts again then.
        """
        return self.sink.lasting or self.source.endless

    def _work(self, ahead: _Ahead) -> bool:
        """Take blocks until there are no more; return whether that was the end."""
        taken = ahead.items(self.stop)
        while True:
            try:
                found = next(taken, None)
            except _SpoiltError as error:
                raise error.why from None
            except DataError:
                self._settle()  # the input can't be worked on from here; all before is kept
                raise
            if found is None:
                break
            self._write(found)
            self._position = found.chunk.position
            self.progress("changing events", self.source.share(found.chunk.position))
        if self.stop.is_set() or self.source.endless:
            self._settle()
            return False
        self._finish()
        return True

    def _scan(self, chunk: Chunk) -> Block:
        in_place = self.letters is None or not self.letters.with_content
        return self.transform.scan(
            chunk.view, first_line=chunk.first_line, own=chunk.buffer if in_place else None
        )

    def _take(self, chunk: Chunk, block: Block) -> _Taken:
        """Let the rules change a block."""
        if self.on_error == "stop" and (block.bad or chunk.oversized):
            raise _bad_line_error(chunk, block)
        taken = _Taken(chunk=chunk, block=block)
        if chunk.oversized:
            self.transform.tally.lines += 1
            self.transform.tally.bad[Reason.TOO_LONG] += 1
        else:
            try:
                taken.changed = self.transform.change(block)
            except DataError as error:
                raise _SpoiltError(error) from None
        if self._is_lasting and time.monotonic() >= self._due:
            taken.state = self.transform.state()
            self._due = math.inf if self.every else 0.0  # until it is saved
        return taken

    def _put_into_lines(self, taken: _Taken) -> None:
        if taken.changed is not None and self.stage.passes_through:
            try:
                taken.lines = self.stage.take(taken.changed, taken.block)
            except DataError as error:  # later blocks may have been changed
                raise _SpoiltError(error) from None

    def _write(self, taken: _Taken) -> None:
        """Write a block; a checkpoint is of all up to it."""
        chunk, block, changed = taken.chunk, taken.block, taken.changed
        if changed is None:
            self._bad_at(Reason.TOO_LONG, chunk.file, chunk.first_line)
        else:
            lines = self.stage.take(changed, block) if taken.lines is None else taken.lines
            self.sink.write(lines)
            self.notices.see(block, changed.columns)
            counts = block.bad.counts()
            if any(len(self._bad_lines.get(str(why), ())) < _FIRST_BAD for why in counts):
                for bad in block.bad:
                    self._bad_at(bad.reason, chunk.file, bad.line)
        if self.letters is not None:
            self.letters.write(chunk, None if changed is None else block)
        if self.stage.passes_through:
            block.release()
            chunk.release()
        if taken.state is not None:
            self._save("running", chunk.position, taken.state)

    def _bad_at(self, reason: Reason, file: int, line: int) -> None:
        first = self._bad_lines.setdefault(str(reason), [])
        if len(first) < _FIRST_BAD:
            first.append((file, line))

    def _settle(self) -> None:
        """Make a checkpoint of what is written: here the run can go on."""
        if self._is_lasting:
            self._save("running", self._position, self.transform.state())

    def _finish(self) -> None:
        """Write what was held back, give the output its name, and remember that it is done."""
        state = self.transform.state()
        if self._is_lasting:
            # The next run recognizes by this an output that has its name already.
            self._save("running", self._position, state)
        self._check_late()
        self.sink.write(self.stage.finish())
        if self.gate is not None:
            self.gate(self.sink.lines(), self._summary(complete=True))
        self.sink.finish()
        self._save("complete", self._position, state)

    def _save(self, status: Status, position: Position | None, state: bytes) -> None:
        begun = time.monotonic()
        self._saved += 1
        written, pending = self.sink.sync() if status == "running" else (None, b"")
        letters = 0 if self.letters is None else self.letters.sync()
        made = self._checkpoint(
            status, state, sink=written, position=position, pending=pending, letters=letters
        )
        self.store.save(made)
        if position is not None:
            self.source.saved(position)
        now = time.monotonic()
        self._due = now + max(self.every, _PATIENCE * (now - begun)) if self.every else 0.0

    def _checkpoint(self, status: Status, state: bytes, **where: Any) -> Checkpoint:  # noqa: ANN401 # a Checkpoint's
        target = self.sink.target
        progress = {
            "base": self._base.to_json(),
            "bad_lines": self._bad_lines,
            "saved": self._saved,
            "notices": self.notices.state(),
            "target": None if target is None else _mark_of(target),
            "supplied": self._supplied,
        }
        return Checkpoint(
            status=status,
            progress=progress,
            transform=state,
            stage=self.stage.state(),
            **{"position": None, "letters": 0, **where},
        )

    def _summary(self, *, complete: bool) -> RunSummary:
        return summed_up(
            self.transform.tally,
            self._base,
            complete=complete,
            resumed=self._resumed,
            bad_lines={why: tuple(at) for why, at in sorted(self._bad_lines.items())},
            unmet=self.notices.unmet,
            clock_went_back=self.notices.clock_went_back,
            blank=self.notices.blank,
            source=self.source.counts(),
            stage=self.stage.summary(),
            checkpoints=self._saved,
        )


def _mark_of(target: os.PathLike[str]) -> str:
    """Return what an output's place is known again by."""
    return hashlib.sha256(os.fsencode(os.path.abspath(target))).hexdigest()  # noqa: PTH100 # links stay


def _bad_line_error(chunk: Chunk, block: Block) -> DataError:
    line = chunk.first_line if chunk.oversized else block.bad[0].line
    reason = Reason.TOO_LONG if chunk.oversized else block.bad[0].reason
    where = f"Line {line}" if chunk.file == 1 else f"Line {line} of file {chunk.file}"
    return DataError(
        f"{where} of the input is no event: {reason}.",
        hint="Correct it and run again: the run continues from there. Or skip such lines: "
        "[[on_error='skip'; dead_letters|--on-error skip; --dead-letters]] lists them.",
    )
