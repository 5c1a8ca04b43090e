"""Foreign errors while a file is read: told without what they quote."""

from __future__ import annotations

import errno
import os

import polars as pl
import pytest

from halfmask._errors import DataError, HierarchyError
from halfmask.data.io.places import reading


def told(error, form=None):
    with pytest.raises(DataError) as caught, reading("File 2", form):
        raise error
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "CANARY" not in f"{caught.value} {caught.value.hint}"
    return caught.value.what


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOENT, "File 2 is not there."),
        (errno.EACCES, "File 2 may not be read."),
        (errno.EISDIR, "File 2 is a folder."),
        (errno.ENOSPC, "File 2 can't be kept: the disk is full."),
    ],
)
def test_the_system_s_number_is_told_and_not_its_path(number, said):
    assert told(OSError(number, os.strerror(number), "/home/CANARY")) == said


@pytest.mark.parametrize(
    "error",
    [
        ValueError("CANARY"),
        KeyError("CANARY"),
        OSError("CANARY"),
        pl.exceptions.ComputeError("CANARY"),
        pl.exceptions.PanicException("CANARY"),
    ],
)
def test_whatever_a_library_says_is_not_passed_on(error):
    assert told(error, "CSV") == "File 2 can't be read as CSV: it is damaged, or of another format."
    assert told(error).startswith("File 2 can't be read: ")


def test_bytes_of_another_encoding_are_told_by_their_place():
    error = UnicodeDecodeError("utf-8", b"CANARY\xff", 6, 7, "invalid")

    assert (
        told(error) == "File 2 has bytes that are not of the encoding it is read in (near byte 6)."
    )


def test_memory_that_ran_out_is_reported():
    assert "asks for more memory than there is" in told(MemoryError("CANARY"))


def test_our_own_errors_and_the_interrupt_key_pass():
    with pytest.raises(HierarchyError, match="mine"), reading("File 2"):
        raise HierarchyError("mine")
    with pytest.raises(KeyboardInterrupt), reading("File 2"):
        raise KeyboardInterrupt
