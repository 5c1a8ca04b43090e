"""A topic of Kafka, or of what speaks its protocol, through a client of confluent-kafka."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from halfmask._errors import DataError, MissingDependencyError
from halfmask.events.streams._chunk import Chunk, Source

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from halfmask.events.streams._chunk import Position

_MESSAGES = 10_000
_WAIT_SECONDS = 0.2
_ANSWER_SECONDS = 30.0
#: Numbers that librdkafka has for errors: the end of a partition; no offset, no topic, no right.
_END_OF_PARTITION = -191
_HOPELESS = {-140, -169, -188, 1, 3, 29, 30}


class Message(Protocol):
    """A message as confluent-kafka has it."""

    def error(self) -> object | None:
        """Return what went wrong; None for a message."""
        ...

    def value(self) -> bytes | None:
        """Return the event."""
        ...

    def partition(self) -> int | None:
        """Return which partition it is from."""
        ...

    def offset(self) -> int | None:
        """Return its number in the partition."""
        ...


class TopicConsumer(Protocol):
    """What is used of `confluent_kafka.Consumer`."""

    def list_topics(self, topic: str, timeout: float) -> Any:  # noqa: ANN401 # the client's types
        """Return what there is of the topic."""
        ...

    def get_watermark_offsets(self, partition: Any, timeout: float) -> Any:  # noqa: ANN401 # the same
        """Return the first offset that a partition still has, and the next that it will give."""
        ...

    def assign(self, partitions: list[Any]) -> None:
        """Read these partitions from these offsets on."""
        ...

    def consume(self, num_messages: int, timeout: float) -> Sequence[Message]:
        """Return messages that are there, or come before the time is over."""
        ...

    def commit(self, *, offsets: list[Any], asynchronous: bool) -> object:
        """Tell the brokers how far we are."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


class TopicSource(Source):
    """All partitions of a topic: each message is an event.

    Parameters
    ----------
    consumer
        A `confluent_kafka.Consumer`, or what does the same. It must not commit by itself
        (``enable.auto.commit`` is false), and must report ends (``enable.partition.eof``).
    topic
        Its name.
    until_end
        Whether to end where the topic ended when the run began, rather than when it is stopped.
    partition_of
        Makes a partition at an offset; by default `confluent_kafka.TopicPartition`.

    Notes
    -----
    **Guarantees.** Where to go on is known by offset for each partition, and kept in the run's
    checkpoint, so that no message is worked on twice or left out. Offsets are committed to the
    brokers after a checkpoint, for others to watch; nothing is read from there.

    **Edge cases.** Messages of one partition keep their order; between partitions there is none,
    so that after a break the same bytes are guaranteed for a topic of one partition only. Line
    feeds within a message become tabs, so that each is one line. A message without a value is an
    empty line, which is skipped. If the brokers deleted messages before they were read, it is an
    error. Line numbers count the messages of a run.
    """

    def __init__(
        self,
        consumer: TopicConsumer,
        topic: str,
        *,
        until_end: bool = False,
        partition_of: Any = None,  # noqa: ANN401 # the client's class
    ) -> None:
        self._consumer = consumer
        self._topic = topic
        self._until_end = until_end
        self._partition_of = partition_of or _partition_class()
        self._ends: dict[int, int] = {}

    @property
    def endless(self) -> bool:
        """Whether messages are read until the run is stopped."""
        return not self._until_end

    @classmethod
    def connect(
        cls, topic: str, settings: Mapping[str, str], *, until_end: bool = False
    ) -> TopicSource:
        """Connect to brokers by confluent-kafka.

        Parameters
        ----------
        topic
            Its name.
        settings
            Of the client, such as ``bootstrap.servers``.
        until_end
            As above.

        Raises
        ------
        MissingDependencyError
            If confluent-kafka isn't installed.
        """
        _partition_class()
        from confluent_kafka import Consumer  # type: ignore[import-not-found] # noqa: PLC0415 # as above

        fixed = {
            "group.id": "halfmask",
            **settings,
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "auto.offset.reset": "error",
        }
        return cls(Consumer(fixed), topic, until_end=until_end)

    def chunks(self, position: Position | None, stop: threading.Event) -> Iterator[Chunk]:
        """Yield messages as they come."""
        offsets = {int(key): at for key, at in (position or {"offsets": {}})["offsets"].items()}
        line = 0 if position is None else int(position["line"])
        self._assign(offsets)
        while not stop.is_set() and not self._at_end(offsets):
            values = self._values(offsets)
            if values:
                yield Chunk(
                    view=b"".join(values),
                    lines=len(values),
                    first_line=line + 1,
                    position={
                        "offsets": {str(key): at for key, at in sorted(offsets.items())},
                        "line": line + len(values),
                    },
                )
                line += len(values)

    def saved(self, position: Position) -> None:
        """Inform the brokers that all before a position is worked on.

        Raises
        ------
        DataError
            If they don't answer.
        """
        offsets = [
            self._partition_of(self._topic, int(key), at) for key, at in position["offsets"].items()
        ]
        with _answering():
            self._consumer.commit(offsets=offsets, asynchronous=False)

    def close(self) -> None:
        """Disconnect from the brokers."""
        with suppress(Exception):
            self._consumer.close()

    def _assign(self, offsets: dict[int, int]) -> None:
        with _answering():
            found = self._consumer.list_topics(self._topic, _ANSWER_SECONDS).topics[self._topic]
            if found.error is not None or not found.partitions:
                raise DataError("The brokers have no such topic.")
            for partition in found.partitions:
                there = self._partition_of(self._topic, partition)
                low, high = self._consumer.get_watermark_offsets(there, _ANSWER_SECONDS)
                if offsets.setdefault(partition, low) < low:
                    raise DataError(
                        "The brokers deleted messages that weren't read yet: they are lost.",
                        hint="Start again with [[restart=True|--restart]].",
                    )
                self._ends[partition] = high
            assigned = [self._partition_of(self._topic, key, at) for key, at in offsets.items()]
            self._consumer.assign(assigned)

    def _at_end(self, offsets: dict[int, int]) -> bool:
        return self._until_end and all(offsets[key] >= end for key, end in self._ends.items())

    def _values(self, offsets: dict[int, int]) -> list[bytes]:
        """Return what came, one line each, and move the offsets behind it."""
        with _answering():
            messages = self._consumer.consume(_MESSAGES, _WAIT_SECONDS)
        values = []
        for message in messages:
            error: Any = message.error()
            partition, offset = int(message.partition() or 0), int(message.offset() or 0)
            if error is None:
                offsets[partition] = offset + 1
                values.append(_line(message.value() or b""))
            elif error.code() == _END_OF_PARTITION:
                # Behind the last message there may be marks of transactions, which have offsets.
                offsets[partition] = max(offsets[partition], offset)
            elif error.fatal() or error.code() in _HOPELESS:
                raise DataError(
                    f"The topic can't be read on: the client says {error.name()}.",
                    hint="Check the topic's name, its permissions, and how long it keeps messages.",
                )
        return values


def _line(value: bytes) -> bytes:
    """Return a message as one line: within text, JSON has neither line feeds nor tabs."""
    if b"\n" in value or b"\r" in value:
        value = value.replace(b"\n", b"\t").replace(b"\r", b"\t")
    return value + b"\n"


@contextmanager
def _answering() -> Iterator[None]:
    """Turn the client's own errors, which may hold addresses, into ours."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 # the client may not be there to be imported
        raise DataError(
            f"The brokers didn't answer, or refused ({type(error).__name__}).",
            hint="Check their addresses and the client's settings.",
        ) from None


def _partition_class() -> Any:  # noqa: ANN401 # the client's class
    try:
        from confluent_kafka import TopicPartition  # noqa: PLC0415 # an extra
    except ImportError:
        raise MissingDependencyError(
            "Reading a topic needs confluent-kafka, which isn't installed.",
            hint="Install it: pip install 'halfmask[kafka]'.",
        ) from None
    return TopicPartition
