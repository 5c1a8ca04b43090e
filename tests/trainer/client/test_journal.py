"""A journal keeps every record whose writing ended, and takes nothing torn for one."""

from __future__ import annotations

import secrets

import pytest

from halfmask import DataError, ReleaseError
from halfmask.trainer.client import Journal

WORK = "0" * 32


def _open(where, *, work=WORK, batch_rows=10):
    return Journal(where, work=work, batch_rows=batch_rows)


@pytest.fixture
def written(tmp_path):
    """A journal of three records, and their keys."""
    keys = [secrets.token_bytes(16) for _ in range(3)]
    with _open(tmp_path / "journal") as journal:
        for number, key in enumerate(keys):
            journal.add(number, key, rows=10, answer=b"answer" * number)
    return tmp_path / "journal", keys


def test_what_was_added_is_there_again(written):
    where, keys = written

    with _open(where) as journal:
        assert len(journal) == 3
        assert journal.rows == 30
        assert 2 in journal
        assert 3 not in journal
        assert journal.answer(2) == b"answeranswer"
        for number, key in enumerate(keys):
            journal.check(number, key)


def test_a_torn_end_at_every_byte_is_cut_off(written):
    """Whatever is left of the last record: the others are there, and writing goes on."""
    where, keys = written
    whole = where.read_bytes()
    start = whole.index(b"\n") + 1
    lengths = [36, 42, 48]
    assert len(whole) == start + sum(lengths)

    for end in range(start, len(whole)):
        where.write_bytes(whole[:end])
        kept = sum(end >= start + sum(lengths[: n + 1]) for n in range(3))
        with _open(where) as journal:
            assert len(journal) == kept
            journal.add(kept, keys[kept], rows=10)
        with _open(where) as journal:
            assert len(journal) == kept + 1


def test_a_flipped_bit_ends_it(written):
    where, _ = written
    whole = bytearray(where.read_bytes())
    whole[-40] ^= 1
    where.write_bytes(bytes(whole))

    with _open(where) as journal:
        assert len(journal) == 2


@pytest.mark.parametrize("junk", [b"", b"\n", b"{}\n", b"[]\n", b'{"format": 1}\n', b"\xff" * 9000])
def test_a_file_that_is_none_is_refused_and_stays(tmp_path, junk):
    where = tmp_path / "journal"
    where.write_bytes(junk)

    with pytest.raises(DataError, match="is none"):
        _open(where)

    assert where.read_bytes() == junk


def test_another_s_journal_is_refused_and_stays(written):
    where, _ = written
    before = where.read_bytes()

    with pytest.raises(DataError, match="another service"):
        _open(where, work="1" * 32)
    with pytest.raises(DataError, match="another number of rows"):
        _open(where, batch_rows=11)

    assert where.read_bytes() == before


def test_two_processes_can_t_write_one(written):
    where, _ = written

    with _open(where), pytest.raises(DataError, match="Another process"):
        _open(where)
    with _open(where):
        pass


def test_other_rows_are_refused(written):
    where, keys = written

    with _open(where) as journal, pytest.raises(DataError, match="aren't those"):
        journal.check(0, keys[1])


def test_a_folder_that_isn_t_there_is_an_error_without_its_name(tmp_path):
    with pytest.raises(ReleaseError) as caught:
        _open(tmp_path / "CANARY" / "journal")

    assert "CANARY" not in str(caught.value)


def test_it_is_for_its_owner_alone(written):
    where, _ = written

    assert where.stat().st_mode & 0o777 == 0o600
