"""Text files as UTF-8, whatever their encoding and compression."""

from __future__ import annotations

import codecs
import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halfmask._errors import DataError
from halfmask.data.io import places
from halfmask.data.io.places import Place, TextStream, start_of

TEXT = "größe,名前\n1,ü\n" * 50


def place(tmp_path, raw):
    path = tmp_path / "people.csv"
    path.write_bytes(raw)
    return Place("The table to read", name=path.name, path=path)


def read(where, encoding="utf-8", size=7):
    with TextStream(where, encoding=encoding) as stream:
        parts = []
        while part := stream.read(size):
            assert len(part) == size or not stream.read(1)
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be", "gb18030"])
@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_characters_are_read_wherever_a_chunk_ends(tmp_path, monkeypatch, encoding, chunk):
    monkeypatch.setattr(places, "_CHUNK", chunk)

    assert read(place(tmp_path, TEXT.encode(encoding)), encoding) == TEXT


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_goes_before_the_declaration(tmp_path, encoding):
    assert read(place(tmp_path, TEXT.encode(encoding)), "latin-1") == TEXT


def test_a_compressed_file_is_read_as_its_text(tmp_path):
    where = place(tmp_path, gzip.compress(TEXT.encode()))

    assert read(where) == TEXT
    assert start_of(where, 10) == TEXT.encode()[:10]


@given(st.binary(max_size=30), st.integers(1, 5))
@example(raw=b"\x00\xc3", size=1)
@example(raw=b"\x00\xc2\x80\xc2", size=1)
def test_bytes_that_are_not_utf_8_are_named_by_their_place(raw, size):
    class Held(Place):
        def open(self):
            import io  # noqa: PLC0415 # only here

            return io.BytesIO(raw)

    compressed = raw.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))
    marked = raw.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        expected = raw.decode()
    except UnicodeDecodeError:
        expected = None
    if compressed or marked or (expected and "\0" in expected):
        return
    if expected is None:
        # Text that is broken and holds a NUL is refused for whichever is noticed first.
        with pytest.raises(DataError, match="near byte|NUL" if b"\0" in raw else "near byte"):
            read(Held("It"), size=size)
    else:
        assert read(Held("It"), size=size) == expected
