"""Headers of Parquet's pages are read as they are written, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.kernels.hashing.parquet_pages import (
    BODY,
    COUNT,
    ENCODING,
    FIELDS,
    KIND,
    LEVELS,
    PACKED,
    RAW,
    REPEATED,
    STORED,
    find_pages,
)

#: By Thrift's compact protocol: the step to the next number and the type of a field, then it.
FIRST = bytes(
    [0x15, 0, 0x15, 20, 0x15, 6, 0x2C, 0x15, 8, 0x15, 16, 0x15, 6, 0x15, 6, 0, 0, 1, 2, 3]
)
SECOND = bytes.fromhex("15061514 1506 5c 1508 1500 1508 1510 1502 1500 12 00 00 010203")
#: Where the types stand that are looked at.
FIRST_TYPES, SECOND_TYPES = (0, 2, 4, 6, 7, 9, 11), (0, 2, 4, 6, 7, 13, 15, 17)


def found(data, room=2):
    pages = np.empty((room, FIELDS), np.int64)
    array = np.frombuffer(data, np.uint8).copy()
    count = find_pages(array, len(data), np.empty(1, np.int64), pages)
    return None if count < 0 else pages[:count].tolist()


def test_both_versions_of_a_page_are_read():
    first, second = found(FIRST + SECOND)

    assert [first[it] for it in (KIND, RAW, PACKED, COUNT, ENCODING, LEVELS)] == [0, 10, 3, 4, 8, 3]
    assert first[BODY] == len(FIRST) - 3
    assert [second[it] for it in (KIND, RAW, PACKED, COUNT, ENCODING)] == [3, 10, 3, 4, 8]
    assert [second[it] for it in (LEVELS, REPEATED, STORED)] == [1, 0, 1]
    assert second[BODY] == len(FIRST) + len(SECOND) - 3


@pytest.mark.parametrize(
    ("header", "places"), [(FIRST, FIRST_TYPES), (SECOND, SECOND_TYPES)], ids=["first", "second"]
)
@pytest.mark.parametrize("kind", range(16))
def test_a_field_of_another_type_is_no_header(header, places, kind):
    """Other readers refuse such files, which are damaged."""
    for place in places:
        if kind not in {0, header[place] & 15}:
            changed = bytearray(header)
            changed[place] = changed[place] & 0xF0 | kind
            assert found(bytes(changed)) is None


def test_no_cut_and_no_byte_leads_beyond_the_end():
    whole = FIRST + SECOND
    for end in range(1, len(whole)):
        if end != len(FIRST):
            assert found(whole[:end]) is None
    for place in range(len(whole)):
        for byte in (0, 0x7F, 0x80, 0xFF):
            changed = bytearray(whole)
            changed[place] = byte
            for page in found(bytes(changed)) or ():
                assert 0 <= page[BODY] <= page[BODY] + page[PACKED] <= len(whole)
                assert min(page[RAW], page[COUNT], page[LEVELS], page[REPEATED]) >= 0
    assert found(whole, room=1) is None
