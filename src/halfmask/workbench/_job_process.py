"""The process of a job: it does the work, and writes what came of it into the job's folder."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

from halfmask._errors import HalfmaskError
from halfmask._foreign import missing
from halfmask.workbench._jobs import write_json

#: The same stage is written again after so many seconds.
_AGAIN = 0.1
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_STOPPED = 130
WHOLE = "What is written is there whole or not at all."


def main(folder: Path) -> int:
    """Do the work that a job's folder asks for, and return the exit code."""
    asked = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    module, _, name = asked["work"].partition(":")
    try:
        work = getattr(import_module(module), name)
        result = work(_Report(folder), folder, **asked["arguments"])
        write_json(folder / "result.json", {"result": result})
    except KeyboardInterrupt:  # cancelled: what was half written is gone by now
        return _STOPPED
    except BaseException as error:  # noqa: BLE001 # nobody but this file is here to say it
        write_json(folder / "error.json", words_of(error))
        return 1
    return 0


def words_of(error: BaseException) -> dict[str, str | None]:
    """Return what may be shown of an error: of a library's only its type, for it may quote cells.

    Examples
    --------
    >>> words_of(KeyError("somebody's name"))["what"]
    "The work failed in a way that halfmask didn't expect (KeyError)."
    """
    if isinstance(error, ModuleNotFoundError):
        error = missing(error) or error
    if isinstance(error, HalfmaskError):
        return {"what": str(error.what), "hint": None if error.hint is None else str(error.hint)}
    if isinstance(error, MemoryError):
        what, hint = "Memory ran out.", f"Take fewer rows, or a machine with more memory. {WHOLE}"
    elif isinstance(error, OSError) and error.errno in _FULL:
        what, hint = "The disk is full.", f"Make room, then start again. {WHOLE}"
    elif isinstance(error, OSError):
        # The number's own words; the error's may hold the path.
        reason = errno.errorcode.get(error.errno or 0, type(error).__name__)
        what = f"The system refused to read or write a file ({reason})."
        hint = f"Check that the file is there, and that you may read and write it. {WHOLE}"
    else:
        kind = type(error).__name__
        what = f"The work failed in a way that halfmask didn't expect ({kind})."
        hint = f"Try it on fewer rows or other settings; the policy file is unchanged. {WHOLE}"
    return {"what": what, "hint": hint}


class _Report:
    """Writes how far a job is."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "progress.json"
        self._stage = ""
        self._since = self._at = 0.0

    def __call__(self, stage: str, share: float | None = None) -> None:
        """Write a new stage at once, and the share of the same one now and then."""
        now = time.time()
        if stage != self._stage:
            self._stage, self._since = stage, now
        elif now - self._at < _AGAIN:
            return
        self._at = now
        said = {"stage": stage, "share": share, "at": now, "stage_started": self._since}
        write_json(self._file, said)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # What the work starts doesn't hold the job's lock.
    os.set_inheritable(int(sys.argv[2]), False)
    sys.exit(main(Path(sys.argv[1])))
