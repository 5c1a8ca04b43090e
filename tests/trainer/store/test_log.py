"""What is acknowledged is in the log; what is torn is cut off; altered records are reported."""

from __future__ import annotations

import errno
import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import IntegrityError
from halfmask.trainer.store import EXAMPLES, Entry, ExampleLog, RefusedError
from halfmask.trainer.store._log import SEGMENT_HEAD_BYTES

CLIENT = b"8 bytes!"


def entry(body, key=b""):
    return Entry(
        kind=EXAMPLES, body=body, checksum=zlib.crc32(body), rows=1, client=CLIENT, key=key
    )


def bodies(log, after=0):
    return [record.entry.body for record in log.records(after=after)]


def recorded(calls, name, real):
    def call(*given):
        calls.append(name)
        return real(*given)

    return call


def only_segment(folder):
    (path,) = folder.glob("*.log")
    return path


def test_what_is_appended_is_read_in_order(tmp_path):
    log = ExampleLog(tmp_path)

    assert log.append([entry(b"one", b"k"), entry(b"two")]) == [1, 2]
    assert log.append([entry(b"three")]) == [3]
    log.close()

    again = ExampleLog(tmp_path)
    assert bodies(again) == [b"one", b"two", b"three"]
    assert bodies(again, after=2) == [b"three"]
    assert [record.group for record in again.records()] == [1, 1, 3]
    assert again.append([entry(b"four")]) == [4]


@pytest.mark.slow
@given(st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=9)), min_size=1, max_size=20))
def test_every_body_and_key_comes_back(tmp_path_factory, items):
    folder = tmp_path_factory.mktemp("log")
    log = ExampleLog(folder, segment_bytes=200)
    for body, key in items:
        log.append([entry(body, key)])
    log.close()

    found = [record.entry for record in ExampleLog(folder).records()]

    assert [(each.body, each.key) for each in found] == items


def test_a_tail_torn_at_any_byte_is_cut(tmp_path):
    """The last record, cut at each of its bytes, leaves those before it, and room for the next."""
    log = ExampleLog(tmp_path)
    log.append([entry(b"kept", b"key")])
    start = only_segment(tmp_path).stat().st_size
    log.append([entry(b"HMR1 torn", b"another")])
    log.close()
    whole = only_segment(tmp_path).read_bytes()

    for end in range(start, len(whole)):
        only_segment(tmp_path).write_bytes(whole[:end])
        torn = ExampleLog(tmp_path)

        assert bodies(torn) == [b"kept"]
        assert torn.append([entry(b"next")]) == [2]
        torn.close()
        assert bodies(ExampleLog(tmp_path)) == [b"kept", b"next"]
        os.truncate(only_segment(tmp_path), start)


def test_a_tail_whose_end_was_written_before_its_beginning_is_cut(tmp_path):
    """Of a group that was being flushed, any part may be there."""
    log = ExampleLog(tmp_path)
    log.append([entry(b"kept")])
    start = only_segment(tmp_path).stat().st_size
    log.append([entry(b"first of a group"), entry(b"second of it")])
    log.close()
    path = only_segment(tmp_path)
    whole = bytearray(path.read_bytes())
    whole[start : start + 20] = bytes(20)
    path.write_bytes(whole)

    assert bodies(ExampleLog(tmp_path)) == [b"kept"]


def test_a_record_that_was_flushed_and_then_altered_is_told(tmp_path):
    """A damaged record before a later group is no torn tail: it had been acknowledged."""
    log = ExampleLog(tmp_path)
    log.append([entry(b"first")])
    end = only_segment(tmp_path).stat().st_size
    log.append([entry(b"second")])
    log.close()
    path = only_segment(tmp_path)
    whole = path.read_bytes()

    for place in range(SEGMENT_HEAD_BYTES, end):
        altered = bytearray(whole)
        altered[place] ^= 0x40
        path.write_bytes(altered)
        with pytest.raises(IntegrityError):
            ExampleLog(tmp_path)


def test_a_head_of_a_segment_that_was_altered_is_told(tmp_path):
    """Its salt is what records are checked by: with another, all would look torn."""
    log = ExampleLog(tmp_path)
    log.append([entry(b"only")])
    log.close()
    path = only_segment(tmp_path)
    whole = path.read_bytes()

    for place in range(SEGMENT_HEAD_BYTES):
        altered = bytearray(whole)
        altered[place] ^= 0x40
        path.write_bytes(altered)
        with pytest.raises(IntegrityError):
            ExampleLog(tmp_path)


def test_bytes_of_a_client_that_look_like_a_record_dont_make_a_torn_end_an_altered_log(tmp_path):
    """What a client sends may hold a whole record of a later group, as its own log would write it.

    If the service died while that was written, the model could never be opened again.
    """
    (tmp_path / "own").mkdir()
    (tmp_path / "log").mkdir()
    own = ExampleLog(tmp_path / "own")
    for _ in range(9):
        own.append([entry(b"forged")])
    own.close()
    forged = only_segment(tmp_path / "own").read_bytes()[SEGMENT_HEAD_BYTES:]
    log = ExampleLog(tmp_path / "log")
    log.append([entry(b"kept")])
    start = only_segment(tmp_path / "log").stat().st_size
    log.append([entry(forged + b"end")])
    log.close()
    path = only_segment(tmp_path / "log")
    whole = bytearray(path.read_bytes())

    path.write_bytes(whole[:-1])
    assert bodies(ExampleLog(tmp_path / "log")) == [b"kept"]
    whole[start : start + 20] = bytes(20)  # its end was written before its beginning
    path.write_bytes(whole)
    assert bodies(ExampleLog(tmp_path / "log")) == [b"kept"]


def test_an_older_segment_that_was_altered_or_lost_is_told(tmp_path):
    log = ExampleLog(tmp_path, segment_bytes=1)
    for body in (b"one", b"two", b"three"):
        log.append([entry(body)])
    log.close()
    first, second, _ = sorted(tmp_path.glob("*.log"))
    kept = second.read_bytes()

    second.write_bytes(kept[:-1])
    with pytest.raises(IntegrityError):
        bodies(ExampleLog(tmp_path))
    second.unlink()
    with pytest.raises(IntegrityError):
        bodies(ExampleLog(tmp_path))
    second.write_bytes(kept)
    assert bodies(ExampleLog(tmp_path)) == [b"one", b"two", b"three"]
    first.unlink()
    assert ExampleLog(tmp_path).first_seq == 2


@pytest.mark.parametrize("length", range(SEGMENT_HEAD_BYTES))
def test_a_segment_that_had_just_been_begun_is_begun_again(tmp_path, length):
    log = ExampleLog(tmp_path, segment_bytes=1)
    log.append([entry(b"one")])
    log.close()
    head = only_segment(tmp_path).read_bytes()[:length]
    (tmp_path / f"{2:020d}.log").write_bytes(head)

    again = ExampleLog(tmp_path)

    assert again.append([entry(b"two")]) == [2]
    assert bodies(again) == [b"one", b"two"]


def test_old_segments_are_dropped_and_the_last_one_stays(tmp_path):
    log = ExampleLog(tmp_path, segment_bytes=1)
    for body in (b"one", b"two", b"three"):
        log.append([entry(body)])

    log.drop_until(1)
    assert log.first_seq == 2
    log.drop_until(3)
    assert log.first_seq == 3
    assert bodies(log, after=2) == [b"three"]


@pytest.mark.parametrize("call", ["pwritev", "fdatasync"])
def test_a_full_disk_leaves_the_log_as_it_was(tmp_path, monkeypatch, call):
    """Half of a write, or a flush that fails, is cut off; the log goes on when there is room."""
    log = ExampleLog(tmp_path)
    log.append([entry(b"one")])
    before = only_segment(tmp_path).read_bytes()
    real = os.pwritev

    def refuse(*given):
        if call == "pwritev":
            real(given[0], [b"half of a record"], given[2])
        raise OSError(errno.ENOSPC, "CANARY")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(OSError, match="CANARY"):
            log.append([entry(b"two")])
    assert only_segment(tmp_path).read_bytes() == before
    assert log.append([entry(b"three")]) == [2]
    log.close()
    assert bodies(ExampleLog(tmp_path)) == [b"one", b"three"]


def test_a_log_that_cant_be_set_back_takes_nothing_more(tmp_path, monkeypatch):
    log = ExampleLog(tmp_path)
    log.append([entry(b"one")])

    def refuse(*_):
        raise OSError(errno.EIO, "CANARY")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(OSError, match="CANARY"):
            log.append([entry(b"two")])
    with pytest.raises(RefusedError, match="restarted") as caught:
        log.append([entry(b"three")])
    assert caught.value.status == 503


def test_what_is_appended_is_flushed_before_it_is_told(tmp_path, monkeypatch):
    """The flush comes after the last write, and before `append` returns."""
    log = ExampleLog(tmp_path)
    calls: list[str] = []
    log.append([entry(b"one")])
    for call in ("pwritev", "fdatasync"):
        monkeypatch.setattr(os, call, recorded(calls, call, getattr(os, call)))

    log.append([entry(b"two"), entry(b"three")])

    assert calls == ["pwritev", "fdatasync"]


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no such advice")
@pytest.mark.parametrize("refused", [False, True])
def test_what_was_flushed_needs_no_memory(tmp_path, monkeypatch, refused):
    calls, ranges, flush = [], [], os.fdatasync

    def advise(_, start, size, advice):
        calls.append("advise")
        ranges.append((start, start + size))
        assert advice == os.POSIX_FADV_DONTNEED
        if refused:
            raise OSError(errno.EINVAL, "CANARY")

    monkeypatch.setattr(os, "fdatasync", recorded(calls, "flush", flush))
    monkeypatch.setattr(os, "posix_fadvise", advise)
    log = ExampleLog(tmp_path)
    log.append([entry(b"one")])
    first = only_segment(tmp_path).stat().st_size
    log.append([entry(b"two"), entry(b"three")])
    log.close()

    assert calls[-4:] == ["flush", "advise", "flush", "advise"]
    assert ranges[-1] == (first, only_segment(tmp_path).stat().st_size)
    assert bodies(ExampleLog(tmp_path)) == [b"one", b"two", b"three"]
