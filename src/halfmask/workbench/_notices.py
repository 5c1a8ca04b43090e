"""Notices: sentences at the top of a page, and what may be shown of an error."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from typing import Final, Literal

from halfmask._errors import HalfmaskError
from halfmask._foreign import missing

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_WHOLE: Final = "What is written is there whole or not at all."


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence at the top of a page, and a way out if it says that something failed."""

    what: str
    hint: str | None = None
    style: Literal["good", "bad"] = "good"


def notice_of(error: BaseException) -> Notice:
    """Return what may be shown of an error: libraries may quote cells, so only ours speak.

    Examples
    --------
    >>> notice_of(KeyError("somebody's name")).what
    "halfmask failed in a way that it didn't expect (KeyError)."
    """
    if isinstance(error, ModuleNotFoundError):
        error = missing(error) or error
    if isinstance(error, HalfmaskError):
        what, hint = error.at_terminal
        if "--" in what:
            what = str(error.what)
        return Notice(what, None if hint is None else _without_options(hint), "bad")
    if isinstance(error, MemoryError):
        what = "Memory ran out."
        hint = f"Take fewer rows or columns, or a machine with more memory. {_WHOLE}"
    elif isinstance(error, OSError) and error.errno in _FULL:
        what, hint = "The disk is full.", f"Make room, then start again. {_WHOLE}"
    elif isinstance(error, OSError):
        # The number's own words; the error's may hold the path.
        reason = errno.errorcode.get(error.errno or 0, type(error).__name__)
        what = f"The system refused to read or write a file ({reason})."
        hint = f"Check that the file is there, and that you may read and write it. {_WHOLE}"
    else:
        what = f"halfmask failed in a way that it didn't expect ({type(error).__name__})."
        hint = f"Undo the last step, or choose another way. {_WHOLE}"
    return Notice(what, hint, "bad")


def _without_options(hint: str) -> str | None:
    """Return a hint without options of the command line: they are no way out of a page."""
    sentences = []
    for sentence in re.split(r"(?<=[.?!]) ", hint):
        before, option, _ = sentence.partition("--")
        if not option:
            sentences.append(sentence)
        elif ":" in before:
            sentences.append(f"{before.partition(':')[0]}.")
    return " ".join(sentences) or None
