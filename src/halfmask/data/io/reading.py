"""One gate for what goes wrong while a file is read: foreign errors quote cells and paths."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from halfmask._errors import DataError, HalfmaskError

_REASONS = {
    errno.ENOENT: (
        "is not there",
        "Check its path: a relative one starts at the folder that halfmask runs in.",
    ),
    errno.EACCES: ("may not be read", "Check its permissions."),
    errno.EPERM: ("may not be read", "Check its permissions."),
    errno.EISDIR: ("is a folder", "Give a file, or a folder of files."),
    errno.EMFILE: ("can't be opened: too many files are open", "Raise the limit of open files."),
    errno.ENOSPC: ("can't be kept: the disk is full", "Free some space for temporary files."),
}


@contextmanager
def reading(what: str, form: str | None = None) -> Iterator[None]:
    """Turn every foreign error into a `DataError` that quotes nothing of the file."""
    try:
        yield
    except HalfmaskError:
        raise
    except MemoryError:
        # A damaged file asks for any number of bytes; so does one huge record batch.
        raise DataError(
            f"{what} asks for more memory than there is: it is damaged, or its batches are huge.",
            hint="Write it again, in Parquet or in smaller batches.",
        ) from None
    except UnicodeError as error:
        raise DataError(*_undecodable(what, error)) from None
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001 - any library's
        raise _unreadable(what, form, error) from None


def _undecodable(what: str, error: UnicodeError) -> tuple[str]:
    where = f" (near byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
    return (f"{what} has bytes that are not of the encoding it is read in{where}.",)


def _unreadable(what: str, form: str | None, error: BaseException) -> DataError:
    number = error.errno if isinstance(error, OSError) else None
    if number in _REASONS:
        reason, hint = _REASONS[number]
        return DataError(f"{what} {reason}.", hint=hint)
    if isinstance(error, OSError) and "Truncated" in str(error):
        return DataError(f"{what} ends too early: its compressed data is cut off.")
    if isinstance(error, ValueError) and "straddl" in str(error):
        return DataError(
            f"{what} has a row longer than 4 million bytes.",
            hint="Check for a quote that is opened and never closed.",
        )
    as_form = "" if form is None else f" as {form}"
    return DataError(
        f"{what} can't be read{as_form}: it is damaged, or of another format.",
        hint="Give its format with [[format=|--format]], or write it again.",
    )
