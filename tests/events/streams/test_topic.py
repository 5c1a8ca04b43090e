"""A topic: by a stand-in that speaks the client's interface, and by the client itself.

The client's library has brokers of its own for tests; that part runs where it is installed.
"""

from __future__ import annotations

import json
import threading
import time
from types import SimpleNamespace

import pytest

from events.visits import POLICY, straight, visits  # type: ignore[import-not-found] # beside
from halfmask import DataError
from halfmask._errors import MissingDependencyError
from halfmask.events import run_events
from halfmask.events.streams import TopicSource, open_sink

LINES = visits(500)


class Message:
    """A message, or what went wrong."""

    def __init__(self, partition, offset, value=None, error=None):
        self._all = partition, offset, value, error

    def partition(self):
        return self._all[0]

    def offset(self):
        return self._all[1]

    def value(self):
        return self._all[2]

    def error(self):
        return self._all[3]


class Wrong:
    """An error of the client."""

    def __init__(self, code, *, fatal=False):
        self._code, self._fatal = code, fatal

    def code(self):
        return self._code

    def fatal(self):
        return self._fatal

    def name(self):
        return f"ERROR_{self._code}"


class Brokers:
    """Partitions in memory, read through what the client offers."""

    def __init__(self, partitions, *, first=0, at_once=7):
        self.partitions, self.first, self.at_once = partitions, first, at_once
        self.committed = {}
        self.errors = []

    def list_topics(self, topic, timeout):
        del timeout
        found = SimpleNamespace(error=None, partitions=dict.fromkeys(range(len(self.partitions))))
        return SimpleNamespace(topics={topic: found})

    def get_watermark_offsets(self, partition, timeout):
        del timeout
        return self.first, self.first + len(self.partitions[partition[1]])

    def assign(self, partitions):
        self.at = {number: offset for _, number, offset in partitions}

    def consume(self, num_messages, timeout):
        del timeout
        if self.errors:
            return [Message(0, 0, error=self.errors.pop())]
        found = []
        for number, values in enumerate(self.partitions):
            start = self.at[number] - self.first
            for value in values[start : start + min(self.at_once, num_messages)]:
                found.append(Message(number, self.at[number], value))
                self.at[number] += 1
        return found

    def commit(self, *, offsets, asynchronous):
        assert not asynchronous
        self.committed = {number: offset for _, number, offset in offsets}

    def close(self):
        self.at = {}


def partition_of(topic, number, offset=None):
    return topic, number, offset


def source_of(brokers, **more):
    return TopicSource(brokers, "visits", partition_of=partition_of, **more)


def values(lines):
    return [line.rstrip(b"\n") for line in lines]


def test_messages_of_a_partition_are_run_in_their_order(tmp_path, vault):
    brokers = Brokers([values(LINES)], first=40)

    run_events(POLICY, source_of(brokers, until_end=True), open_sink(tmp_path / "out"), vault=vault)

    assert (tmp_path / "out").read_bytes() == straight(b"".join(LINES), vault)
    assert brokers.committed == {0: 540}


@pytest.mark.slow
def test_a_run_goes_on_at_its_own_offsets(tmp_path, vault):
    """Whatever the brokers were told: nothing twice, nothing lost, in a topic of two partitions."""
    brokers, out = Brokers([values(LINES[::2]), values(LINES[1::2])]), tmp_path / "out"
    stop = threading.Event()
    seen = []

    def stopping(_stage, _share=None):
        seen.append(1)
        if len(seen) == 4:
            stop.set()

    sink = open_sink(out, appending=True)
    more = {"vault": vault, "checkpoint_seconds": 0}
    first = run_events(POLICY, source_of(brokers), sink, stop=stop, progress=stopping, **more)
    assert 0 < first.events < 500
    assert not first.complete
    brokers.committed = {0: 3}

    last = threading.Event()
    source = source_of(brokers)
    work = threading.Thread(
        target=run_events,
        args=(POLICY, source, open_sink(out, appending=True)),
        kwargs={"stop": last, **more},
    )
    work.start()
    end = time.monotonic() + 60
    while out.read_bytes().count(b"\n") < 500:
        assert time.monotonic() < end, "they didn't come"
        time.sleep(0.005)
    last.set()
    work.join(60)

    tokens = [json.loads(line).get("items", []) for line in out.read_bytes().splitlines()]
    wanted = [
        json.loads(line).get("items", []) for line in straight(b"".join(LINES), vault).splitlines()
    ]
    assert sorted(map(json.dumps, tokens)) == sorted(map(json.dumps, wanted))
    assert brokers.committed == {0: 250, 1: 250}


def test_a_message_is_one_line_whatever_is_in_it():
    """A line feed between tokens is white space; within text it stays what JSON forbids."""
    told = [b'{\n"n": 1\r\n}', b'{"n": "a\nb"}', None]
    found = list(source_of(Brokers([told]), until_end=True).chunks(None, threading.Event()))

    lines = b"".join(chunk.data for chunk in found).split(b"\n")
    assert json.loads(lines[0]) == {"n": 1}
    with pytest.raises(ValueError, match="control character"):
        json.loads(lines[1])
    assert lines[2:] == [b"", b""]
    assert found[-1].position == {"offsets": {"0": 3}, "line": 3}


def test_what_the_client_says_is_told_by_its_name():
    brokers = Brokers([values(LINES)])
    brokers.errors = [Wrong(-195)]  # it will connect again by itself
    source = source_of(brokers, until_end=True)
    assert sum(chunk.lines for chunk in source.chunks(None, threading.Event())) == 500
    for wrong in (Wrong(29), Wrong(-1, fatal=True)):
        brokers.errors = [wrong]
        with pytest.raises(DataError, match="ERROR_"):
            list(source_of(brokers, until_end=True).chunks(None, threading.Event()))


def test_messages_that_were_deleted_are_said():
    position = {"offsets": {"0": 3}, "line": 3}

    with pytest.raises(DataError, match="lost"):
        list(source_of(Brokers([[b"{}"]], first=5)).chunks(position, threading.Event()))


def test_a_client_that_fails_is_said_without_its_words():
    brokers = Brokers([[b"{}"]])
    brokers.consume = lambda *_: 1 / 0  # type: ignore[method-assign] # it fails

    with pytest.raises(DataError, match="ZeroDivisionError"):
        list(source_of(brokers).chunks(None, threading.Event()))


def test_without_the_client_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "confluent_kafka", None)

    with pytest.raises(MissingDependencyError, match="confluent-kafka"):
        TopicSource.connect("visits", {})


def test_the_client_itself_reads_from_brokers(tmp_path, vault):
    """librdkafka's brokers for tests, in this process, and its consumer: killed in between."""
    client = pytest.importorskip("confluent_kafka")
    made = client.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "no:1"})
    found = made.list_topics("visits", 30).brokers.values()
    settings = {"bootstrap.servers": ",".join(f"{it.host}:{it.port}" for it in found)}
    for line in values(LINES):
        made.produce("visits", line, partition=0)
    assert made.flush(30) == 0
    out, seen = tmp_path / "out", []

    def breaking(_stage, _share=None):
        seen.append(1)
        raise KeyboardInterrupt

    more = {"vault": vault, "checkpoint_seconds": 0}
    with pytest.raises(KeyboardInterrupt):
        run_events(
            POLICY,
            TopicSource.connect("visits", settings, until_end=True),
            open_sink(out),
            progress=breaking,
            **more,
        )
    source = TopicSource.connect("visits", settings, until_end=True)
    summary = run_events(POLICY, source, open_sink(out), **more)
    source.close()

    assert seen
    assert summary.complete
    assert out.read_bytes() == straight(b"".join(LINES), vault)
