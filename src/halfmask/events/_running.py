"""A run: a stream of events through a policy, that goes on where it was broken off."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from halfmask._errors import DataError, KeyMismatchError
from halfmask.events._bad_lines import Reason
from halfmask.events._checkpoint import Checkpoint
from halfmask.events._run_summary import summed_up
from halfmask.events._scanning_ahead import ScanningAhead
from halfmask.events._tally import Tally
from halfmask.events.streams._places import not_ours

if TYPE_CHECKING:
    from halfmask._progress import Progress
    from halfmask.events._block import Block
    from halfmask.events._checkpoint import CheckpointStore, Status
    from halfmask.events._dead_letters import DeadLetters
    from halfmask.events._notices import Notices
    from halfmask.events._run_summary import RunSummary
    from halfmask.events._stage import Stage
    from halfmask.events._transforming import Changed, Transform
    from halfmask.events.streams import Chunk, Position, Sink, Source

__all__ = ["OnBad", "Running"]

OnBad: TypeAlias = Literal["stop", "go-on"]

#: No more than one part in so many of the time goes into checkpoints.
_PATIENCE = 20
#: How many blocks may wait to be written.
_BEHIND = 2
_FIRST_BAD = 10


@dataclass(slots=True, kw_only=True)
class Running:
    """A run at work.

    Three things go on at once, in the order of the blocks: the next blocks are read and scanned,
    the rules change one, and the one before is written.

    Parameters
    ----------
    source, sink
        Where events come from, and where lines go.
    transform, stage
        What is done to them. They are as new.
    store
        Where checkpoints are kept.
    notices
        What else is seen.
    letters
        Where lines that are no events are noted; None: nowhere.
    on_bad
        Whether such a line stops the run.
    every
        Seconds between checkpoints, at least; 0: after each block.
    threads
        How many blocks are scanned at once.
    stop
        Ends the run between two blocks, with a checkpoint.
    progress
        Is told of it.
    """

    source: Source
    sink: Sink
    transform: Transform
    stage: Stage
    store: CheckpointStore
    notices: Notices
    letters: DeadLetters | None
    on_bad: OnBad
    every: float
    threads: int
    stop: threading.Event
    progress: Progress
    _base: Tally = field(default_factory=Tally)
    _position: Position | None = None
    _bad_lines: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _saved: int = 0
    _resumed: bool = False
    _cost: float = 0.0
    _supplied: str = ""
    _waiting: deque[Future[None]] = field(default_factory=deque)

    def go(self, *, afresh: bool) -> RunSummary:
        """Begin, or go on; return what was done.

        Parameters
        ----------
        afresh
            Whether to forget all that is known of the stream.
        """
        found = None if afresh else self.store.load()
        self._supplied = self.transform.supplied()
        if found is not None:
            self._restore(found)
            if found.status == "complete" and self._is_done(found):
                self.sink.close(done=True)
                return self._summary(complete=True)
        done = False
        ahead = ScanningAhead(
            self.source,
            self.transform,
            self._position,
            threads=self.threads,
            in_place=self.letters is None or not self.letters.with_content,
        )
        try:
            self._begin(found, ahead)
            done = self._work(ahead)
        finally:
            ahead.close()
            self.sink.close(done=done)
            if self.letters is not None:
                self.letters.close()
        return self._summary(complete=done)

    def _restore(self, found: Checkpoint) -> None:
        try:
            self.transform.restore(found.transform)
            self.stage.restore(found.stage)
        except KeyMismatchError as error:
            raise KeyMismatchError(
                error.what.replace("The state", "What the vault knows of the stream"),
                hint="Other events: give their policy another release, or --stream a name. "
                "A policy that was changed: --afresh begins anew and forgets the numbers given.",
            ) from None
        if found.status == "complete":
            # Numbers go on; all else is of the next input.
            self._base = Tally.from_json(self.transform.tally.to_json())
            return
        same = found.told["supplied"] == self._supplied
        if not (same or found.position is None or self.source.endless):
            raise KeyMismatchError(
                "A secret table or hierarchy file isn't what it was when the run was broken off: "
                "the output would be of both.",
                hint="Put it back until the run is at its end, or begin anew: --afresh.",
            )
        self._told(found)

    def _told(self, found: Checkpoint) -> None:
        told = found.told
        self._base = Tally.from_json(told["base"])
        self._bad_lines = {why: [(f, n) for f, n in at] for why, at in told["bad_lines"].items()}
        self._saved = int(told["saved"])
        self.notices.restore(told["notices"])
        self._position = found.position
        self._resumed = True

    def _is_done(self, found: Checkpoint) -> bool:
        """Return whether it is the run that came to its end, started once more."""
        target = self.sink.target
        if target is None or found.told["target"] != _mark_of(target) or not target.exists():
            return False
        try:
            with closing(self.source.chunks(found.position, self.stop)) as chunks:  # type: ignore[type-var] # generators, all of them
                is_end = next(chunks, None) is None
        except DataError:
            return False
        if is_end:
            self._told(found)
        return is_end

    def _begin(self, found: Checkpoint | None, ahead: ScanningAhead) -> None:
        """Make all ready; while the vault is written, the first blocks are scanned already."""
        if found is not None and found.status == "running":
            target = self.sink.target
            if found.sink is None and target and found.told["target"] != _mark_of(target):
                raise not_ours()
            self.sink.begin(found.sink, found.pending, again=True)
            self._letters_begin(found.letters)
            ahead.start()
            self.store.claim()
            return
        self.sink.check()
        if self.letters is not None:
            self.letters.check()
        ahead.start()
        self.store.claim()
        self.stage.renew()
        if self._is_lasting:
            self.store.save(self._checkpoint("running", self.transform.state(), sink=None))
        self.sink.begin(None, b"", again=False)
        self._letters_begin(0)

    def _letters_begin(self, length: int) -> None:
        if self.letters is not None:
            self.letters.begin(length)

    @property
    def _is_lasting(self) -> bool:
        """Whether a run that is broken off is gone on with.

        What went into a pipe can't be called back: what has an end is begun anew then.
        """
        return self.sink.lasting or self.source.endless

    def _work(self, ahead: ScanningAhead) -> bool:
        """Take blocks until there are no more; return whether that was the end."""
        blocks = ahead.items(self.stop)
        due = time.monotonic() + self.every
        with ThreadPoolExecutor(1, "events-write") as writer:
            while True:
                try:
                    found = next(blocks, None)
                except DataError:
                    self._settle()
                    raise
                if found is None:
                    break
                now = time.monotonic()
                self._take(*found, writer=writer, due=now >= due)
                if now >= due:
                    due = now + (max(self.every, _PATIENCE * self._cost) if self.every else 0)
            if self.stop.is_set() or self.source.endless:
                self._settle()
                return False
            state = self.transform.state()  # while the last ones are written
            self._drain()
        self._finish(state)
        return True

    def _take(self, chunk: Chunk, block: Block, *, writer: ThreadPoolExecutor, due: bool) -> None:
        """Let the rules change a block, and have it written."""
        if self.on_bad == "stop" and (block.bad or chunk.oversized):
            self._settle()
            raise _refused(chunk, block)
        changed = None
        if chunk.oversized:
            self.transform.tally.lines += 1
            self.transform.tally.bad[Reason.TOO_LONG] += 1
        else:
            changed = self.transform.change(block)
        state = self.transform.state() if due and self._is_lasting else None
        while len(self._waiting) >= _BEHIND:
            self._waiting.popleft().result()
        self._waiting.append(writer.submit(self._write, chunk, block, changed, state))
        self._position = chunk.position
        self.progress("changing events", self.source.share(chunk.position))

    def _write(
        self, chunk: Chunk, block: Block, changed: Changed | None, state: bytes | None
    ) -> None:
        """Write a block, in a thread of its own; a checkpoint is of all up to it."""
        if changed is None:
            self._bad_at(Reason.TOO_LONG, chunk.file, chunk.first_line)
        else:
            self.sink.write(self.stage.take(changed, block))
            self.notices.see(block, changed.columns)
            counts = block.bad.counts()
            if any(len(self._bad_lines.get(str(why), ())) < _FIRST_BAD for why in counts):
                for bad in block.bad:
                    self._bad_at(bad.reason, chunk.file, bad.line)
        if self.letters is not None:
            self.letters.write(chunk, None if changed is None else block)
        if self.stage.forgets:
            block.release()
            chunk.release()
        if state is not None:
            self._save("running", chunk.position, state)

    def _bad_at(self, reason: Reason, file: int, line: int) -> None:
        first = self._bad_lines.setdefault(str(reason), [])
        if len(first) < _FIRST_BAD:
            first.append((file, line))

    def _drain(self) -> None:
        """Wait until all blocks that were changed are written."""
        while self._waiting:
            self._waiting.popleft().result()

    def _settle(self) -> None:
        """Have all written, and make a checkpoint of it: here the run can go on."""
        self._drain()
        if self._is_lasting:
            self._save("running", self._position, self.transform.state())

    def _finish(self, state: bytes) -> None:
        """Write what was held back, give the output its name, and remember that it is done."""
        self.sink.write(self.stage.finish())
        self.sink.finish()
        self._save("complete", self._position, state)

    def _save(self, status: Status, position: Position | None, state: bytes) -> None:
        begun = time.monotonic()
        self._saved += 1
        told, pending = self.sink.sync() if status == "running" else (None, b"")
        letters = 0 if self.letters is None else self.letters.sync()
        made = self._checkpoint(
            status, state, sink=told, position=position, pending=pending, letters=letters
        )
        self.store.save(made)
        if position is not None:
            self.source.saved(position)
        self._cost = time.monotonic() - begun

    def _checkpoint(self, status: Status, state: bytes, **where: Any) -> Checkpoint:  # noqa: ANN401 # a Checkpoint's
        target = self.sink.target
        told = {
            "base": self._base.to_json(),
            "bad_lines": self._bad_lines,
            "saved": self._saved,
            "notices": self.notices.state(),
            "target": None if target is None else _mark_of(target),
            "supplied": self._supplied,
        }
        return Checkpoint(
            status=status,
            told=told,
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


def _refused(chunk: Chunk, block: Block) -> DataError:
    line = chunk.first_line if chunk.oversized else block.bad[0].line
    reason = Reason.TOO_LONG if chunk.oversized else block.bad[0].reason
    where = f"Line {line}" if chunk.file == 1 else f"Line {line} of file {chunk.file}"
    return DataError(
        f"{where} of the input is no event: {reason}.",
        hint="Mend it and run again: it goes on from there. Or go on without such lines: "
        "--on-bad go-on; --dead-letters notes which they were.",
    )
