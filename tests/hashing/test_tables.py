"""Tables of Arrow: what fails within a frame of another library quotes no cell."""

from __future__ import annotations

import pytest

from halfmask._errors import DataError
from halfmask.hashing._cells import arrow_of


class Broken:
    """A frame of some library whose stream fails, and says of which cell."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError(f"xqcanary {requested_schema}")


def test_a_stream_that_fails_quotes_no_cell():
    failed = r"turned into a table of Arrow \(RuntimeError\)"
    with pytest.raises(DataError, match=failed) as caught:
        arrow_of(Broken())
    assert "xqcanary" not in str(caught.value)
    assert caught.value.__context__ is None
