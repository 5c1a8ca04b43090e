"""SeenPaths: which places the input has, so that a report can say which of them were dropped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from halfmask.events.block._block import scan_block
from halfmask.events.block._path_tree import PathTree
from halfmask.events.block._paths import Path, Step
from halfmask.events.description._tree import SampleTree

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from halfmask.events.block._bad_lines import Limits
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.streams import Chunk, Position, Source

MOST_EVENTS: Final = 5_000
_MOST_VALUES: Final = 1_000_000
#: Stands for a name that was taken for a value.
_ANY: Final = "\0any"


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedPath:
    """A place that no rule names.

    Parameters
    ----------
    path
        Where it is in the input; a star stands for names that were taken for values.
    events
        In how many of the events that were looked at it had a value.
    """

    path: str
    events: int


@dataclass(slots=True, kw_only=True)
class SeenPaths:
    """Places of the first events of an input."""

    limits: Limits | None = None
    _tree: SampleTree = field(default_factory=lambda: SampleTree(_MOST_VALUES))
    _settled: bool = False

    @property
    def events(self) -> int:
        """How many events were looked at."""
        return self._tree.events

    @property
    def full(self) -> bool:
        """Whether no more are looked at."""
        return self._tree.full or self._tree.events >= MOST_EVENTS

    def take(self, data: bytes) -> None:
        """Look at lines."""
        if self.full:
            return
        block = scan_block(data, PathTree([]), self.limits)
        texts = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        for number in block.lines[: MOST_EVENTS - self._tree.events].tolist():
            self._tree.add(json.loads(texts[number - 1], parse_int=_nothing, parse_float=_nothing))
            if self._tree.full:
                break

    def dropped(self, policy: EventPolicy) -> tuple[DroppedPath, ...]:
        """Return the places with values that no rule of a policy writes."""
        if not self._settled:
            self._tree.settle()
            self._settled = True
        whole = policy.containers()
        rules = [
            rule for number, rule in enumerate(policy.rules) if rule.steps and number not in whole
        ]
        return tuple(
            DroppedPath(path=str(Path(steps=steps)), events=len(set(node.events)))
            for steps, node in self._tree.places()
            if node.values and not any(_writes(rule.place, steps) for rule in rules)
        )


def _nothing(text: str) -> int:  # noqa: ARG001 # numbers aren't looked at
    return 0


def _writes(rule: Path, steps: tuple[str | Step, ...]) -> bool:
    names = tuple(_ANY if step is Step.FIELD else step for step in steps)
    return rule.matches(Path(steps=names))


class Watched:
    """A source whose first events are looked at as they pass."""

    def __init__(self, source: Source, seen: SeenPaths) -> None:
        self._source = source
        self._seen = seen

    @property
    def endless(self) -> bool:
        """Whether lines go on until the run is stopped."""
        return self._source.endless

    def chunks(self, position: Position | None, stop: threading.Event) -> Iterator[Chunk]:
        """Yield the chunks of the source."""
        chunks = self._source.chunks(position, stop)
        try:
            for chunk in chunks:
                if not chunk.oversized:
                    self._seen.take(chunk.data)
                yield chunk
        finally:
            _close(chunks)

    def reread(self) -> Source | None:
        """Return what the source is read again by; nobody watches it."""
        return self._source.reread()

    def share(self, position: Position) -> float | None:
        """Return which share of the input is before a position."""
        return self._source.share(position)

    def saved(self, position: Position) -> None:
        """Inform the source that a checkpoint is on the disk."""
        self._source.saved(position)

    def counts(self) -> dict[str, int]:
        """Return the source's counts."""
        return self._source.counts()


def _close(chunks: Any) -> None:  # noqa: ANN401 # an iterator, or a generator that wants an end
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
