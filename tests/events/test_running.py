"""A run over a stream: the same bytes as the transform gives, with breaks and without."""

from __future__ import annotations

import gzip
import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from events.visits import POLICY, straight, visits  # type: ignore[import-not-found] # beside
from halfmask import DataError, HalfmaskError, ReleaseError
from halfmask._errors import KeyMismatchError, ParameterError, VaultError
from halfmask.events import (
    DeadLetters,
    EventPolicy,
    Limits,
    SecretTable,
    Transform,
    run_events,
    table_entry,
)
from halfmask.events.running._checkpoint import CheckpointStore
from halfmask.events.streams import (
    FileSink,
    FileSource,
    FolderSink,
    PipeSink,
    open_sink,
    open_source,
)

LINES = visits(2_000)
SMALL = 7_000  # bytes of a block


class BrokenError(Exception):
    """Raised where a test breaks a run off."""


class Breaking:
    """A sink that breaks at its nth write, before or after it wrote."""

    def __init__(self, sink, at, *, after):
        self._sink, self._at, self._after = sink, at, after

    def __getattr__(self, name):
        return getattr(self._sink, name)

    def write(self, data):
        self._at -= 1
        if self._at < 0:
            if self._after:
                self._sink.write(data[: len(data) // 2])
            raise BrokenError
        self._sink.write(data)


class Counting:
    """A sink that counts the lines that it is given."""

    def __init__(self, sink):
        self._sink, self.n_lines = sink, 0

    def __getattr__(self, name):
        return getattr(self._sink, name)

    def write(self, data):
        self.n_lines += bytes(data).count(b"\n")
        self._sink.write(data)


def source_of(path, **more):
    return FileSource(path, block_bytes=SMALL, **more)


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(LINES))
    return path


def test_a_run_gives_what_the_transform_gives(given, tmp_path, vault):
    out = tmp_path / "out.jsonl"

    summary = run_events(POLICY, source_of(given), open_sink(out), vault=vault)

    assert out.read_bytes() == straight(b"".join(LINES), vault)
    assert summary.complete
    assert not summary.resumed
    assert (summary.lines, summary.events, summary.passed) == (2_000, 2_000, 2_000)
    assert not (tmp_path / "out.jsonl.partial").exists()


@pytest.mark.mostly_slow
@pytest.mark.parametrize("packing", [None, "gzip", "zstd"])
@pytest.mark.parametrize("after", [False, True])
def test_a_broken_run_goes_on_with_the_same_bytes(given, tmp_path, vault, packing, after):
    whole = tmp_path / "whole"
    other = EventPolicy.from_toml(POLICY.to_toml())
    run_events(other, source_of(given), FileSink(whole, packing=packing), vault=vault, stream="w")
    out = tmp_path / "out"

    for at in (0, 1, 5, 20):
        sink = Breaking(FileSink(out, packing=packing), at, after=after)
        with pytest.raises(BrokenError):
            run_events(POLICY, source_of(given), sink, vault=vault, checkpoint_seconds=0)
        assert not out.exists()
    summary = run_events(POLICY, source_of(given), FileSink(out, packing=packing), vault=vault)

    assert summary.resumed
    assert summary.complete
    assert summary.events == 2_000
    assert out.read_bytes() == whole.read_bytes()


def test_a_stop_ends_between_two_blocks_and_the_next_run_goes_on(given, tmp_path, vault):
    out, stop = tmp_path / "out.jsonl", threading.Event()

    def stopping(_stage, share=None):
        if share is not None and share > 0.4:
            stop.set()

    first = run_events(
        POLICY, source_of(given), open_sink(out), vault=vault, stop=stop, progress=stopping
    )
    second = run_events(POLICY, source_of(given), open_sink(out), vault=vault)

    assert not first.complete
    assert 500 < first.events < 2_000
    assert second.complete
    assert second.events == 2_000
    assert out.read_bytes() == straight(b"".join(LINES), vault)


def test_a_run_that_is_done_does_nothing_when_it_is_started_again(given, tmp_path, vault):
    out = tmp_path / "out.jsonl"
    first = run_events(POLICY, source_of(given), open_sink(out), vault=vault)
    before = out.stat()

    second = run_events(POLICY, source_of(given), open_sink(out), vault=vault)

    assert second.complete
    assert (second.events, second.passed) == (first.events, first.passed)
    assert out.stat().st_mtime_ns == before.st_mtime_ns


def test_numbers_go_on_in_the_next_input(tmp_path, vault):
    """Who was numbered yesterday keeps the number, and line numbers start again."""
    days = [LINES[:1_000], [*LINES[1_000:2_000], b"broken\n"]]
    told = []
    for number, day in enumerate(days):
        path, out = tmp_path / f"{number}.jsonl", tmp_path / f"out-{number}.jsonl"
        path.write_bytes(b"".join(day))
        told.append(
            run_events(POLICY, source_of(path), open_sink(out), vault=vault, on_error="skip")
        )

    both = (tmp_path / "out-0.jsonl").read_bytes() + (tmp_path / "out-1.jsonl").read_bytes()
    assert both == straight(b"".join([*days[0], *days[1]]), vault)
    assert [each.events for each in told] == [1_000, 1_000]
    assert told[1].bad == {"not-json": 1}
    assert told[1].bad_lines == {"not-json": ((1, 1_001),)}


def test_a_restart_forgets_the_numbers(tmp_path, vault):
    (tmp_path / "a").write_bytes(LINES[0])
    (tmp_path / "b").write_bytes(LINES[1])
    for name in ("a", "b"):
        source, sink = open_source(tmp_path / name), open_sink(tmp_path / f"{name}.out")
        run_events(POLICY, source, sink, vault=vault, restart=True)

    assert json.loads((tmp_path / "b.out").read_text())["who"] == 1


def test_an_output_that_is_there_stays(given, tmp_path, vault):
    out = tmp_path / "out.jsonl"
    out.write_text("mine")

    with pytest.raises(ReleaseError, match="exists"):
        run_events(POLICY, source_of(given), open_sink(out), vault=vault)
    assert out.read_text() == "mine"
    run_events(POLICY, source_of(given), open_sink(out, overwrite=True), vault=vault)

    assert out.read_bytes() == straight(b"".join(LINES), vault)


def test_another_input_or_output_isnt_gone_on_with(given, tmp_path, vault):
    out = tmp_path / "out.jsonl"
    sink = Breaking(FileSink(out), 9, after=True)
    with pytest.raises(BrokenError):
        run_events(POLICY, source_of(given), sink, vault=vault, checkpoint_seconds=0)
    other = tmp_path / "other.jsonl"
    other.write_bytes(b"".join(visits(2_000, seed=1)))

    with pytest.raises(DataError, match="isn't the one"):
        run_events(POLICY, source_of(other), open_sink(out), vault=vault)
    with pytest.raises(ReleaseError, match="isn't there any more"):
        run_events(POLICY, source_of(given), open_sink(tmp_path / "new"), vault=vault)
    partial = tmp_path / "out.jsonl.partial"
    partial.write_bytes(b"x" * partial.stat().st_size)
    with pytest.raises(ReleaseError, match="isn't there any more"):
        run_events(POLICY, source_of(given), open_sink(out), vault=vault)


def test_another_policy_isnt_gone_on_with(given, tmp_path, vault):
    run_events(POLICY, source_of(given), open_sink(tmp_path / "a"), vault=vault)
    other = EventPolicy.from_toml(POLICY.to_toml().replace("1 minute", "1 hour"))

    with pytest.raises(KeyMismatchError, match="another policy"):
        run_events(other, source_of(given), open_sink(tmp_path / "b"), vault=vault)


def test_two_runs_dont_write_one_output(given, tmp_path, vault):
    out, sink = tmp_path / "out.jsonl", open_sink(tmp_path / "out.jsonl")
    started, go_on = threading.Event(), threading.Event()

    def waiting(_stage, _share=None):
        started.set()
        go_on.wait(60)

    work = threading.Thread(
        target=run_events,
        args=(POLICY, source_of(given), sink),
        kwargs={"vault": vault, "progress": waiting},
    )
    work.start()
    assert started.wait(60)
    try:
        with pytest.raises(ReleaseError, match="Another run"):
            run_events(POLICY, source_of(given), open_sink(out), vault=vault)
    finally:
        go_on.set()
        work.join(60)
    assert out.read_bytes() == straight(b"".join(LINES), vault)


def test_who_was_overtaken_writes_no_checkpoint(given, tmp_path, vault):
    """A run that another one replaced (restarted elsewhere) ends at its next checkpoint."""
    other = tmp_path / "other.jsonl"
    other.write_bytes(LINES[0])
    done: list[object] = []

    def overtaking(_stage, _share=None):
        if not done:
            done.append(
                run_events(
                    POLICY, source_of(other), open_sink(tmp_path / "o"), vault=vault, restart=True
                )
            )

    with pytest.raises(VaultError, match="Another run"):
        run_events(
            POLICY,
            source_of(given),
            open_sink(tmp_path / "out"),
            vault=vault,
            checkpoint_seconds=0,
            progress=overtaking,
        )


BAD = {
    "not-json": b"{nope\n",
    "not-utf8": b'{"who": "\xff"}\n',
    "too-deep": b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}\n",
    "duplicate-key": b'{"who": 1, "who": 2}\n',
    "not-an-object": b"[1]\n",
    "too-long": b'{"who": "' + b"x" * 5_000_000 + b'"}\n',
}
LIMITS = Limits(line_bytes=100_000)


def with_bad(lines):
    """Lines with each bad one twice, at places of their own; and where they are."""
    found, places = list(lines), {}
    for turn in (0, 1):
        for number, line in enumerate(BAD.values()):
            at = 40 + 150 * number + 900 * turn
            found.insert(at, line)
    for reason, line in BAD.items():
        places[reason] = [at + 1 for at, each in enumerate(found) if each is line]
    return found, places


@pytest.mark.parametrize("block_bytes", [1_000, 60_000, 1 << 22])
def test_each_bad_line_is_counted_and_noted_once(tmp_path, vault, block_bytes):
    lines, places = with_bad(LINES)
    path, letters = tmp_path / "in.jsonl", tmp_path / "letters"
    path.write_bytes(b"".join(lines))

    summary = run_events(
        POLICY,
        FileSource(path, block_bytes=block_bytes, limits=LIMITS),
        open_sink(tmp_path / "out"),
        vault=vault,
        limits=LIMITS,
        on_error="skip",
        dead_letters=DeadLetters(letters),
    )

    noted = [json.loads(line) for line in letters.read_text().splitlines()]
    assert summary.bad == dict.fromkeys(sorted(BAD), 2)
    assert {why: [n for _, n in at] for why, at in summary.bad_lines.items()} == places
    assert sorted((each["reason"], each["line"]) for each in noted) == sorted(
        (why, line) for why, at in places.items() for line in at
    )
    assert [each["line"] for each in noted] == sorted(each["line"] for each in noted)
    assert all(set(each) == {"file", "line", "reason"} for each in noted)
    assert letters.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out").read_bytes() == straight(b"".join(LINES), vault)
    assert summary.lines == len(lines)


@pytest.mark.slow
def test_dead_letters_are_cut_back_too(tmp_path, vault):
    lines, _ = with_bad(LINES)
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(lines))
    more = {"vault": vault, "limits": LIMITS, "on_error": "skip", "checkpoint_seconds": 0}

    def letters(name):
        return DeadLetters(tmp_path / name, with_content=True)

    for at in (3, 9):
        sink = Breaking(FileSink(tmp_path / "out"), at, after=True)
        source = source_of(path, limits=LIMITS)
        with pytest.raises(BrokenError):
            run_events(POLICY, source, sink, dead_letters=letters("letters"), **more)
    for name, stream in (("letters", None), ("again", "again")):
        last = open_sink(tmp_path / ("out" if stream is None else "out-again"))
        source = FileSource(path, block_bytes=1 << 20, limits=LIMITS)
        run_events(POLICY, source, last, dead_letters=letters(name), stream=stream, **more)

    assert (tmp_path / "letters").read_bytes() == (tmp_path / "again").read_bytes()
    told = [json.loads(line) for line in (tmp_path / "again").read_text().splitlines()]
    assert {"raw", "raw_base64"} == {key for each in told for key in each if "raw" in key}
    assert all("raw" not in "".join(each) for each in told if each["reason"] == "too-long")


@pytest.mark.parametrize("reason", sorted(BAD))
def test_a_bad_line_stops_the_run_and_all_before_is_kept(tmp_path, vault, reason):
    """The message says line and reason; the input is mended, and the run goes on."""
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_bytes(b"".join([*LINES[:700], BAD[reason], *LINES[700:]]))

    source = source_of(path, limits=LIMITS)
    with pytest.raises(DataError, match=f"Line 701 of the input is no event: {reason}"):
        run_events(POLICY, source, open_sink(out), vault=vault, limits=LIMITS)
    kept = (tmp_path / "out.partial").read_bytes()
    path.write_bytes(b"".join(LINES))
    rest = Counting(open_sink(out))
    run_events(POLICY, source_of(path, limits=LIMITS), rest, vault=vault, limits=LIMITS)

    assert kept.count(b"\n") > 600
    assert rest.n_lines == 2_000 - kept.count(b"\n")
    assert out.read_bytes() == straight(b"".join(LINES), vault)
    assert out.read_bytes().startswith(kept)


def test_a_torn_archive_loses_nothing_of_before(tmp_path, vault):
    """What can be unpacked is worked on; with the whole archive the run goes on."""
    path, out = tmp_path / "in.jsonl.gz", tmp_path / "out"
    whole = gzip.compress(b"".join(LINES[:1_500])) + gzip.compress(b"".join(LINES[1_500:]))
    path.write_bytes(whole[: len(whole) * 9 // 10])

    with pytest.raises(DataError, match="ends before its end"):
        run_events(POLICY, source_of(path), open_sink(out), vault=vault)
    kept = (tmp_path / "out.partial").read_bytes()
    path.write_bytes(whole)
    rest = Counting(open_sink(out))
    summary = run_events(POLICY, source_of(path), rest, vault=vault)

    assert kept.count(b"\n") > 1_500
    assert rest.n_lines == 2_000 - kept.count(b"\n")
    assert summary.events == 2_000
    assert out.read_bytes() == straight(b"".join(LINES), vault)


def test_a_rule_that_stops_the_run_leaves_the_last_checkpoint(tmp_path, vault):
    """Its block is half changed: with the line mended the run goes on before that block."""
    policy = EventPolicy.from_toml(
        """
        halfmask-events = 1
        release = "r"
        [[rule]]
        path = "a"
        do = "sequence"
        scope = "stream"
        [[rule]]
        path = "m"
        do = "coarsen-time"
        every = "1 hour"
        zone = "UTC"
        otherwise = "stop"
        [[rule]]
        path = "z"
        do = "sequence"
        scope = "stream"
        """
    )
    time = "2014-09-04T23:02:59+02:00"
    lines = [
        json.dumps({"a": f"{n:05}", "m": time, "z": f"{n:05}"}).encode() + b"\n" for n in range(900)
    ]
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    bad = b'{"a": "who", "m": "soon", "z": "else"}\n'  # one of them is numbered before it stops
    path.write_bytes(b"".join([*lines[:700], bad, *lines[701:]]))

    with pytest.raises(DataError, match="Rule 2 of the policy can't do its work in line 701"):
        run_events(policy, source_of(path), open_sink(out), vault=vault, checkpoint_seconds=0)
    path.write_bytes(b"".join(lines))
    rest = Counting(open_sink(out))
    run_events(policy, source_of(path), rest, vault=vault)

    found = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert [(each["a"], each["z"]) for each in found] == [(n, n) for n in range(1, 901)]
    assert 200 < rest.n_lines < 500


def test_numbers_of_any_size_and_wrong_types_dont_stop_it(tmp_path, vault):
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    huge = b"1" * 5_000
    path.write_bytes(
        b'{"time": "2024-01-01T00:00:00", "items": [{"n": %b}, {"n": 1e999}]}\n' % huge
        + b'{"time": {"not": "a time"}, "items": 3, "who": [1]}\n'
        + b'{"time": "2023-01-01T00:00:00"}\n'
    )

    summary = run_events(POLICY, source_of(path), open_sink(out), vault=vault)

    lines = out.read_bytes().splitlines()
    assert huge in lines[0]
    assert b"1e999" in lines[0]
    assert summary.clock_went_back == 1
    assert summary.unmet == (3, 4)
    assert (1, "wrong-type", 1) in summary.failures
    assert (2, "wrong-type", 1) in summary.failures


def test_a_time_without_zone_is_counted(tmp_path, vault):
    path = tmp_path / "in.jsonl"
    path.write_bytes(LINES[0] + b'{"time": "2024-01-01T00:00:00Z"}\n')
    policy = EventPolicy.from_toml(
        POLICY.to_toml().replace('zone = "UTC"\n\n[[rule]]', "\n[[rule]]", 1)
    )

    summary = run_events(policy, source_of(path), open_sink(tmp_path / "out"), vault=vault)

    assert (1, "no-zone", 1) in summary.failures


def test_what_went_into_a_pipe_begins_anew(given, vault):
    """A pipe can't be cut back: the next run begins at the beginning, with the same numbers."""
    first, second = io.BytesIO(), io.BytesIO()

    sink = Breaking(PipeSink(first), 9, after=True)
    with pytest.raises(BrokenError):
        run_events(POLICY, source_of(given), sink, vault=vault, checkpoint_seconds=0)
    summary = run_events(POLICY, source_of(given), PipeSink(second), vault=vault)

    assert not summary.resumed
    assert second.getvalue() == straight(b"".join(LINES), vault)


def test_tables_come_from_the_vault(tmp_path, vault):
    policy = EventPolicy.from_toml("""
halfmask-events = 1
release = "r"
[[rule]]
path = "n"
do = "recode"
table = "amounts"
""")
    (tmp_path / "in").write_text('{"n": 1}\n')
    more = {"vault": vault}
    with pytest.raises(ParameterError, match="amounts"):
        run_events(policy, open_source(tmp_path / "in"), open_sink(tmp_path / "out"), **more)
    SecretTable(kind="recode", values={"1": 7}).seal(vault, table_entry("amounts"))

    run_events(policy, open_source(tmp_path / "in"), open_sink(tmp_path / "out"), **more)

    assert (tmp_path / "out").read_text() == '{"n":7}\n'


@pytest.mark.parametrize("changed", ["table", "file"])
def test_a_broken_run_goes_on_with_the_same_tables_alone(tmp_path, vault, changed):
    """Else one output would be of two tables; the next run may have others."""
    (tmp_path / "policy.toml").write_text("""
halfmask-events = 1
release = "r"
[[rule]]
path = "who"
do = "recode"
table = "people"
[[rule]]
path = "town"
do = "generalize"
hierarchy = { file = "towns.csv" }
level = 1
""")
    policy = EventPolicy.load(tmp_path / "policy.toml")
    (tmp_path / "in").write_text('{"who":"ann","town":"Rome"}\n' * 2_000)
    (tmp_path / "towns.csv").write_text("Rome;south;*\n")
    tables = {"people": SecretTable(kind="recode", values={"ann": "x"})}
    more = {"vault": vault, "checkpoint_seconds": 0}
    broken = Breaking(FileSink(tmp_path / "out"), 3, after=False)
    with pytest.raises(BrokenError):
        run_events(policy, source_of(tmp_path / "in"), broken, tables=tables, **more)

    others, towns = tables, (tmp_path / "towns.csv").read_text()
    if changed == "table":
        others = {"people": SecretTable(kind="recode", values={"ann": "y"})}
    else:
        (tmp_path / "towns.csv").write_text("Rome;north;*\n")
    source, sink = source_of(tmp_path / "in"), FileSink(tmp_path / "out")
    with pytest.raises(KeyMismatchError, match="interrupted"):
        run_events(policy, source, sink, tables=others, **more)

    (tmp_path / "towns.csv").write_text(towns)
    assert run_events(policy, source, sink, tables=tables, **more).complete
    assert (tmp_path / "out").read_text() == '{"who":"x","town":"south"}\n' * 2_000
    following = FileSink(tmp_path / "next")
    assert run_events(policy, source, following, tables=others, **more).complete


def test_what_cant_be_is_refused(given, vault, tmp_path):
    for more in ({"checkpoint_seconds": -1}, {"checkpoint_seconds": float("nan")}, {"threads": 0}):
        with pytest.raises(ParameterError):
            run_events(POLICY, source_of(given), open_sink(tmp_path / "o"), vault=vault, **more)
    assert not list(tmp_path.glob("o*"))


def test_nothing_says_what_is_in_a_line(given, tmp_path, vault):
    """Neither messages nor summaries hold a value, a token or a path of a file."""
    said = []
    given.write_bytes(b"".join(LINES[:100]) + b'{"who": "canary-5e1f", "who": 1}\n')
    with pytest.raises(HalfmaskError) as caught:
        run_events(POLICY, source_of(given), open_sink(tmp_path / "a"), vault=vault)
    said.append(str(caught.value))
    summary = run_events(
        POLICY, source_of(given), open_sink(tmp_path / "a"), vault=vault, on_error="skip"
    )
    said.append(json.dumps(summary.to_dict()) + repr(summary))

    assert not [text for text in said if "canary" in text or str(tmp_path) in text]
    assert b"canary" not in b"".join(
        path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file()
    )


@pytest.mark.mostly_slow
@pytest.mark.parametrize("packing", [None, "gzip", "zstd"])
def test_a_folder_of_parts_is_cut_back_and_gone_on_with(given, tmp_path, vault, packing):

    def sink(name):
        return FolderSink(tmp_path / name, packing=packing, part_bytes=20_000)

    run_events(POLICY, source_of(given), sink("whole"), vault=vault, stream="whole")
    for at in (2, 12, 30):
        broken = Breaking(sink("out"), at, after=False)
        with pytest.raises(BrokenError):
            run_events(POLICY, source_of(given), broken, vault=vault, checkpoint_seconds=0)
    run_events(POLICY, source_of(given), sink("out"), vault=vault)

    parts = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert parts == {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert len(parts) > 5
    together = b"".join(unpacked(parts[name], packing) for name in sorted(parts))
    assert together == straight(b"".join(LINES), vault)


@pytest.mark.parametrize("meanwhile", ["removed", "changed"])
def test_a_part_that_is_whole_and_goes_is_missed(given, tmp_path, vault, meanwhile):
    def sink():
        return FolderSink(tmp_path / "out", part_bytes=20_000)

    broken = Breaking(sink(), 12, after=False)
    with pytest.raises(BrokenError):
        run_events(POLICY, source_of(given), broken, vault=vault, checkpoint_seconds=0)
    parts = sorted((tmp_path / "out.partial").iterdir())
    assert len(parts) > 2
    if meanwhile == "removed":
        parts[0].unlink()
    else:
        parts[0].write_bytes(parts[0].read_bytes() + b"{}\n")

    with pytest.raises(ReleaseError, match="isn't there any more"):
        run_events(POLICY, source_of(given), sink(), vault=vault)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_was_to_be_overwritten_isnt_taken_for_the_output(given, tmp_path, vault, kind):
    """The lines of the broken run are removed; the release of before stays where it is."""
    out, partial = tmp_path / "out", tmp_path / "out.partial"
    old = out / "part-00001.jsonl" if kind == "folder" else out
    old.parent.mkdir(exist_ok=True)
    old.write_bytes(b'{"old":1}\n' * 2_000)

    def sink():
        return (FolderSink if kind == "folder" else FileSink)(out, overwrite=True)

    broken = Breaking(sink(), 9, after=False)
    with pytest.raises(BrokenError):
        run_events(POLICY, source_of(given), broken, vault=vault, checkpoint_seconds=0)
    partial.rename(tmp_path / "elsewhere")

    with pytest.raises(ReleaseError, match="isn't there any more"):
        run_events(POLICY, source_of(given), sink(), vault=vault)
    assert old.read_bytes().startswith(b'{"old":1}')
    assert not partial.exists()


def unpacked(data, packing):
    if packing is None:
        return data
    if packing == "gzip":
        return gzip.decompress(data)
    return pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()


STAGES = {
    "held": """
[window]
every = "10 minutes"
zone = "UTC"

[[guarantee]]
kind = "distinct"
paths = ["page"]
k = 2
fails = "event"
""",
    "aggregated": """
[window]
every = "10 minutes"
zone = "UTC"

[[aggregate]]
by = { who = "who" }
count = "visits"
min-events = 2
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_what_stands_between_rules_and_output_goes_on_too(given, tmp_path, vault, stage):
    said = POLICY.to_toml().replace('session = "session"', 'session = "session"\nentity = "who"')
    policy = EventPolicy.from_toml(said + STAGES[stage])
    whole, out = tmp_path / "whole", tmp_path / "out"
    run_events(policy, source_of(given), FileSink(whole), vault=vault, stream="whole")

    for at in (3, 30):
        sink = Breaking(FileSink(out), at, after=True)
        with pytest.raises(BrokenError):
            run_events(policy, source_of(given), sink, vault=vault, checkpoint_seconds=0)
    summary = run_events(policy, source_of(given), FileSink(out), vault=vault)

    assert summary.resumed
    assert whole.read_bytes() == out.read_bytes()
    assert 0 < out.read_bytes().count(b"\n") < 2_000


def test_the_first_checkpoint_is_of_nothing_though_blocks_are_changed_meanwhile(
    given, tmp_path, vault, monkeypatch
):
    changed = threading.Event()
    change, claim = Transform.change, CheckpointStore.claim

    def changing(transform, block):
        found = change(transform, block)
        changed.set()
        return found

    def claiming(store):
        assert changed.wait(60)
        claim(store)

    monkeypatch.setattr(Transform, "change", changing)
    monkeypatch.setattr(CheckpointStore, "claim", claiming)
    sink = Breaking(FileSink(tmp_path / "out"), 0, after=False)
    with pytest.raises(BrokenError):
        run_events(POLICY, source_of(given), sink, vault=vault)
    monkeypatch.undo()
    summary = run_events(POLICY, source_of(given), FileSink(tmp_path / "out"), vault=vault)

    assert summary.resumed
    assert summary.events == 2_000
    assert (tmp_path / "out").read_bytes() == straight(b"".join(LINES), vault)


class BreakingAtTheEnd:
    """A sink that breaks where it would get its name, before or after."""

    def __init__(self, sink, where):
        self._sink, self._where = sink, where

    def __getattr__(self, name):
        return getattr(self._sink, name)

    def finish(self):
        if self._where == "after the name":
            self._sink.finish()
        raise BrokenError


ENDS: dict[str, Callable[[Path], Any]] = {
    "a file": FileSink,
    "packed": lambda path: FileSink(path, packing="gzip"),
    "a folder": lambda path: FolderSink(path, part_bytes=20_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("between", [*STAGES, "nothing"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("where", ["before the name", "after the name", "at the last checkpoint"])
def test_a_run_that_breaks_at_its_very_end_is_gone_on_with(  # a case each
    given, tmp_path, vault, monkeypatch, between, end, where
):
    """Also if it was too short for a checkpoint, and whatever became of a second attempt."""
    said = POLICY.to_toml().replace('session = "session"', 'session = "session"\nentity = "who"')
    policy = EventPolicy.from_toml(said + STAGES.get(between, ""))
    run_events(policy, source_of(given), ENDS[end](tmp_path / "whole"), vault=vault, stream="whole")
    save = CheckpointStore.save

    def broken(store, checkpoint):
        if checkpoint.status == "complete":
            raise BrokenError
        save(store, checkpoint)

    for _ in range(2):
        sink = ENDS[end](tmp_path / "out")
        if where == "at the last checkpoint":
            monkeypatch.setattr(CheckpointStore, "save", broken)
        else:
            sink = BreakingAtTheEnd(sink, where)
        with pytest.raises(BrokenError):
            run_events(policy, source_of(given), sink, vault=vault)
    monkeypatch.undo()
    summary = run_events(policy, source_of(given), ENDS[end](tmp_path / "out"), vault=vault)

    assert summary.complete
    assert summary.events == 2_000
    assert _all_of(tmp_path / "whole") == _all_of(tmp_path / "out")


def _all_of(path):
    """Return the bytes of a file, or of the files in a folder by their names."""
    if path.is_file():
        return path.read_bytes()
    return {each.name: each.read_bytes() for each in path.iterdir()}


NOTHING = {
    "an empty input": (b"\n\n", "keep", "", "The input has no event."),
    "no event": (b"no\n", "keep", "", "No line of the input is an event."),
    "a refused event": (b'{"a": "x"}\n', "round", 'otherwise = "refuse-event"', "refused every"),
    "no path": (b'{"b": 1}\n' * 3, "keep", "", "but 3 empty lines. No value passed the rules."),
    "no value": (b'{"a": "x"}\n', "round", "", "but 1 empty lines. No value passed the rules."),
    "one value": (b'{"a": "x"}\n{"a": 1}\n', "round", "", None),
}


@pytest.mark.parametrize("case", NOTHING)
def test_a_run_that_wrote_nothing_says_so(case, tmp_path, vault):
    """And why; the same when it is started once more, and nothing where a value was written."""
    data, do, more, said = NOTHING[case]
    rule = f'path = "a"\ndo = "{do}"\n{more}\n' + ("decimals = 1" if do == "round" else "")
    policy = EventPolicy.from_toml(f'halfmask-events = 1\nrelease = "r"\n[[rule]]\n{rule}')
    given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    given.write_bytes(data)

    for _ in range(2):
        found = run_events(policy, source_of(given), open_sink(out), vault=vault, on_error="skip")
        assert found.complete
        assert len(found.warnings()) == (said is not None)
        assert (said or "") in "".join(found.warnings())
        assert found.to_dict()["warnings"] == list(found.warnings())


def test_a_window_that_let_nothing_out_says_so(tmp_path, vault):
    """All were held back: the output is empty, and why is said."""
    policy = EventPolicy.from_toml("""
halfmask-events = 1
release = "r"
[stream]
time = "t"
entity = "a"
[window]
every = "1 day"
zone = "UTC"
[[rule]]
path = "a"
do = "keep"
[[guarantee]]
kind = "distinct"
paths = ["a"]
k = 2
fails = "event"
""")
    given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    given.write_bytes(b'{"t": "2014-09-04T22:57:55Z", "a": 1}\n')

    found = run_events(policy, source_of(given), open_sink(out), vault=vault)
    assert out.read_bytes() == b""
    assert "let nothing out" in found.warnings()[0]


def test_rules_of_stars_that_no_event_met(tmp_path, vault):
    """They are told as the others are."""
    rules = "".join(
        f'[[rule]]\npath = "{path}"\nnames = "keep"\ndo = "keep"\n' for path in ("a.*", "b.**")
    )
    policy = EventPolicy.from_toml(f'halfmask-events = 1\nrelease = "r"\n{rules}')
    given = tmp_path / "in.jsonl"
    given.write_bytes(b'{"a": 5}\n{"b": {"c": {"d": 1}}}\n')

    found = run_events(policy, source_of(given), open_sink(tmp_path / "out"), vault=vault)
    assert (found.unmet, found.warnings()) == ((1,), ())
