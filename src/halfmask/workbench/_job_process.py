"""The process of a job: it does the work, and writes what came of it into the job's folder."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from halfmask.workbench._json_files import read_json, write_json
from halfmask.workbench._notices import notice_of

#: The same stage is written again after so many seconds.
_AGAIN = 0.1
_STOPPED = 130


def main(folder: Path) -> int:
    """Do the work that a job's folder asks for, and return the exit code."""
    asked = read_json(folder / "job.json")
    module, _, name = asked["work"].partition(":")
    try:
        work = getattr(import_module(module), name)
        result = work(_Report(folder), folder, **asked["arguments"])
        write_json(folder / "end.json", {"state": "done", "result": result, "at": time.time()})
    except KeyboardInterrupt:  # cancelled: what was half written is gone by now
        return _STOPPED
    except BaseException as error:  # noqa: BLE001 # nobody but this file is here to say it
        failed = {"state": "failed", "error": asdict(notice_of(error)), "at": time.time()}
        write_json(folder / "end.json", failed)
        return 1
    return 0


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
