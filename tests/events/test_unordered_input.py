"""Inputs that have an end: no event is late, whatever the order and the zones of their times."""

from __future__ import annotations

import gzip
import json
import os
import random
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from halfmask import DataError
from halfmask.events import EventPolicy, Transform, run_events, stage_of
from halfmask.events.streams import FileSource, PipeSource, open_sink, open_source
from halfmask.vault import KeyFile, Secret, Vault

HEAD = """
halfmask-events = 1
release = "unordered"
[stream]
time = "time"
entity = "who"
[[rule]]
path = "place"
do = "keep"
[window]
every = "1 hour"
zone = "UTC"
"""
AGGREGATE = '[[aggregate]]\nwindow = "hour"\ncount = "events"\nmin-events = 1\n'
GUARANTEE = '[[guarantee]]\nkind = "distinct"\npaths = ["place"]\nk = 2\nfails = "event"\n'
START = datetime(2024, 3, 1, tzinfo=UTC)


def events(n=1_000, *, seed=0):
    """Return events of ten hours in order: their time in UTC, and what is written in four zones."""
    draw = random.Random(seed)
    found = []
    for i in range(n):
        at = START + timedelta(seconds=36 * i)
        zone = timezone(timedelta(hours=draw.choice([0, 1, 5.5, -8])))
        told = {"time": at.astimezone(zone).isoformat(), "who": i % 7, "place": f"p{i % 3}"}
        found.append((at, told))
    return found


def lines(found):
    return b"".join(json.dumps(told).encode() + b"\n" for _, told in found)


def unordered(found):
    """Return the events in the order of the clocks that they were written by."""
    return sorted(found, key=lambda it: it[1]["time"])


def hours(found):
    counts: dict[str, int] = {}
    for at, _ in found:
        hour = at.replace(minute=0, second=0).strftime("%Y-%m-%dT%H:%M:%SZ")
        counts[hour] = counts.get(hour, 0) + 1
    return [{"hour": hour, "events": count} for hour, count in sorted(counts.items())]


@pytest.fixture
def vault(tmp_path):
    return Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))


def made(tmp_path, vault, source, text, **more):
    policy = EventPolicy.from_toml(HEAD + text)
    out = tmp_path / "out.jsonl"
    summary = run_events(
        policy, source, open_sink(out, overwrite=True), vault=vault, restart=True, **more
    )
    return summary, out.read_bytes()


@pytest.mark.parametrize("kind", ["plain", "gzip", "folder", "parquet"])
def test_no_event_of_a_finite_input_is_late(tmp_path, vault, kind):
    """280 of 1,000 such events were dropped, with exit code 0."""
    found = events()
    mixed = unordered(found)
    if kind == "folder":
        where = tmp_path / "in"
        where.mkdir()
        (where / "a.jsonl").write_bytes(lines(mixed[500:]))
        (where / "b.jsonl").write_bytes(lines(mixed[:500]))
    elif kind == "parquet":
        import polars as pl  # noqa: PLC0415 # for tables alone

        where = tmp_path / "in.parquet"
        pl.DataFrame([told for _, told in mixed]).write_parquet(where)
    else:
        where = tmp_path / "in"
        data = lines(mixed)
        where.write_bytes(gzip.compress(data) if kind == "gzip" else data)

    summary, out = made(tmp_path, vault, open_source(where), AGGREGATE)

    assert [json.loads(line) for line in out.splitlines()] == hours(found)
    assert "late" not in summary.stage


@pytest.mark.parametrize("block", [300, 5_000, 1 << 20])
def test_guarantees_see_windows_as_if_events_were_sorted(tmp_path, vault, block):
    """Windows leave in their order; within one, events stay in the order of the input."""
    mixed = unordered(events())
    path = tmp_path / "in"
    path.write_bytes(lines(mixed))
    by_hour = sorted(mixed, key=lambda it: it[0].replace(minute=0, second=0))

    summary, out = made(tmp_path, vault, FileSource(path, block_bytes=block), GUARANTEE)

    assert out.splitlines() == [b'{"place":"%s"}' % it["place"].encode() for _, it in by_hour]
    assert summary.stage["events-written"] == 1_000


def test_only_what_is_out_of_order_waits(tmp_path, vault):
    """Each window leaves with its last event; it isn't the whole input that is held."""
    found = events()
    late = found[:10] + found[20:40] + found[10:20] + found[40:]
    policy = EventPolicy.from_toml(HEAD + GUARANTEE)
    transform, stage = Transform(policy, secret=Secret.from_bytes(bytes(32))), stage_of(policy)
    path = tmp_path / "in"
    path.write_bytes(lines(late))
    stage.look_ahead(FileSource(path).chunks(None, threading.Event()), transform.limits)
    most = 0
    for start in range(0, 1_000, 20):
        block = transform.scan(lines(late[start : start + 20]))
        stage.take(transform.change(block), block)
        most = max(most, stage.summary()["events-waiting"])
    assert most <= 100  # an hour's events
    assert stage.summary()["events-waiting"] == 0
    del vault


def test_a_pipe_that_lost_events_is_an_error(tmp_path, vault):
    mixed = unordered(events(200))

    def piped():
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb") as file:
            file.write(lines(mixed))
        return PipeSource(reading)

    with pytest.raises(DataError, match=r"of 200 events came after their window was closed"):
        made(tmp_path, vault, piped(), AGGREGATE)
    assert not (tmp_path / "out.jsonl").exists()

    said = AGGREGATE.replace("[[aggregate]]", 'late = "drop"\n[[aggregate]]')
    summary, _ = made(tmp_path, vault, piped(), said)
    assert summary.stage["late"] > 0
    assert any("came after their window was closed" in it for it in summary.warnings())


def test_a_torn_archive_is_gone_on_with_in_order(tmp_path, vault):
    """Its windows stay open: what comes with the whole archive belongs to them, too."""
    found = events()
    mixed = unordered(found)
    path, out = tmp_path / "in.gz", tmp_path / "out.jsonl"
    packed = gzip.compress(lines(mixed))
    path.write_bytes(packed[: len(packed) // 2])
    policy = EventPolicy.from_toml(HEAD + AGGREGATE)
    with pytest.raises(DataError, match="ends before its end"):
        run_events(policy, open_source(path), open_sink(out), vault=vault)
    path.write_bytes(packed)

    summary = run_events(policy, open_source(path), open_sink(out), vault=vault)

    assert summary.resumed
    assert [json.loads(line) for line in out.read_text().splitlines()] == hours(found)


def test_tomorrows_input_may_go_back_in_time(tmp_path, vault):
    """Windows of an earlier input of the stream don't make events of the next one late."""
    found = events(200)
    policy = EventPolicy.from_toml(HEAD + AGGREGATE)
    for name, part in (("one", found[50:]), ("two", found[:50])):
        (tmp_path / name).write_bytes(lines(part))
        sink = open_sink(tmp_path / f"{name}.out")
        run_events(policy, open_source(tmp_path / name), sink, vault=vault)
        told = [json.loads(line) for line in (tmp_path / f"{name}.out").read_text().splitlines()]
        assert told == hours(part)


def test_a_broken_run_goes_on_with_the_windows_that_it_foresaw(tmp_path, vault):
    found = events()
    mixed = unordered(found)
    path, out = tmp_path / "in", tmp_path / "out.jsonl"
    path.write_bytes(lines(mixed))
    policy = EventPolicy.from_toml(HEAD + GUARANTEE)
    made_at_once = made(tmp_path, vault, open_source(path), GUARANTEE)[1]
    out.unlink()
    stop = threading.Event()

    def progress(stage, share=None):
        if share and share > 0.5 and stage == "changing events":
            stop.set()

    source = FileSource(path, block_bytes=5_000)
    first = run_events(
        policy, source, open_sink(out, overwrite=True), vault=vault, restart=True, stop=stop,
        progress=progress, checkpoint_seconds=0,
    )  # fmt: skip
    assert not first.complete
    run_events(policy, source, open_sink(out), vault=vault)
    assert out.read_bytes() == made_at_once
