"""Long work in a process of its own: its progress, its end, and how it is stopped.

A job is a folder, so that it survives a reload of its page and a restart of the workbench::

    job.json        what was asked for, and when
    progress.json   the stage, and the share of it that is done
    end.json        its state then: with what the work returned, or with an error in words
    lock            held by the process as long as it lives, however it ends
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote

from halfmask._errors import ParameterError
from halfmask.data import is_database_url
from halfmask.workbench._json_files import read_json, write_json
from halfmask.workbench._notices import Notice

JobState: TypeAlias = Literal["running", "done", "failed", "cancelled", "lost"]

#: Finished jobs of a kind that are kept.
KEPT = 20
#: How long a job may take to clean up when it is cancelled; then it is killed.
PATIENCE = 3.0
#: How long the kernel may take to end one that is killed.
_KILLED = 60.0
_PAUSE = 0.02
#: What the end of a job holds in each state; a file that is damaged is no end.
_ENDS: Final = {"done": {"result", "at"}, "failed": {"error", "at"}, "cancelled": {"at"}}
_ID: Final = re.compile(r"[0-9a-f]{16}")
_KIND: Final = re.compile(r"[a-z][a-z-]{0,30}")
#: Processes that this one started, by the folder: their ends are to be collected.
_CHILDREN: Final[dict[Path, subprocess.Popen[bytes]]] = {}


LOST: Final = Notice(
    "The work ended without a result: its process was stopped from outside.",
    "Start it again. If it ends so again, memory may have run out: take fewer rows.",
    "bad",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it was when it was looked at."""

    id: str
    kind: str
    state: JobState
    #: What it was given.
    arguments: Mapping[str, Any]
    stage: str
    share: float | None
    #: When it was started, as of `time.time`, and how long it has run.
    started: float
    seconds: float
    #: Seconds until the stage is done, where its share says so.
    remaining: float | None
    error: Notice | None
    result: Any
    folder: Path

    @property
    def is_running(self) -> bool:
        """Whether its process is still at it."""
        return self.state == "running"


class Jobs:
    """The jobs of a folder; only functions of one package are run."""

    def __init__(self, folder: Path, package: str = "halfmask.workbench") -> None:
        self.folder = folder
        self._work = re.compile(rf"{re.escape(package)}(\.\w+)*:[a-z]\w*")
        self._starting = threading.Lock()

    def start(self, kind: str, work: str, /, **arguments: Any) -> Job:  # noqa: ANN401 # JSON
        """Run ``work(report, folder, **arguments)``, given as ``module:function``."""
        if not _KIND.fullmatch(kind) or not self._work.fullmatch(work):
            raise ParameterError(f"The work of a job must be a function here. Got {work!r}.")
        text = json.dumps(arguments)
        if any(has_password(each) for each in arguments.values()):
            raise ParameterError(
                "The address of the database has a password, which the workbench doesn't write "
                "down.",
                hint="Keep the password in ~/.pgpass, and give the address without it.",
            )
        with self._starting:
            earlier = [job for job in self.all() if job.kind == kind]
            if any(job.is_running for job in earlier):
                raise ParameterError(
                    "The last work of this kind is still running.",
                    hint="Wait until it is done, or cancel it first.",
                )
            for job in earlier[KEPT - 1 :]:
                shutil.rmtree(job.folder, ignore_errors=True)
            folder = self.folder / secrets.token_hex(8)
            folder.mkdir(mode=0o700, parents=True)
            asked = {"kind": kind, "work": work, "arguments": json.loads(text)}
            _spawn(folder, {**asked, "started": time.time()})
        started = _read(folder)
        if started is None:
            raise AssertionError("a job that was just written can be read")
        return started

    def get(self, job_id: str) -> Job | None:
        """Return a job by its id; ``None`` if there is none, or if it isn't an id at all."""
        return _read(self.folder / job_id) if _ID.fullmatch(job_id) else None

    def all(self) -> list[Job]:
        """Return all jobs, the newest first."""
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        found = [job for path in there if (job := self.get(path.name)) is not None]
        return sorted(found, key=lambda job: job.started, reverse=True)

    def latest(self, kind: str) -> Job | None:
        """Return the newest job of a kind."""
        return next((job for job in self.all() if job.kind == kind), None)

    def cancel_own(self) -> None:
        """End the jobs of this process: they must not go on when the terminal is closed."""
        for folder in list(_CHILDREN):
            with suppress(Exception):  # one that can't be ended doesn't keep the others
                self.cancel(folder.name)

    def wait(self, job_id: str, seconds: float = 60.0) -> Job | None:
        """Return a job when it has ended, or as it is after some seconds."""
        if _ID.fullmatch(job_id):
            _wait(self.folder / job_id, seconds)
        return self.get(job_id)

    def cancel(self, job_id: str) -> Job | None:
        """End a job with all its processes; what is half written goes, and has no name yet."""
        job = self.get(job_id)
        if job is None or not job.is_running:
            return job
        _send(job.folder, signal.SIGTERM)
        if not _wait(job.folder, PATIENCE):
            _send(job.folder, signal.SIGKILL)
            _wait(job.folder, _KILLED)
        job = self.get(job_id)
        if job is not None and job.state == "lost":
            write_json(job.folder / "end.json", {"state": "cancelled", "at": time.time()})
        return self.get(job_id)


def has_password(value: object) -> bool:
    """Return whether a value is an address of a database with a password in it.

    Examples
    --------
    >>> [has_password(f"postgresql://{it}") for it in ("me:x@h/db", "h/db?sslpassword=x", "h/db")]
    [True, True, False]
    """
    if not isinstance(value, str) or not is_database_url(value):
        return False
    place, _, query = value.partition("://")[2].partition("?")
    user, at, _ = place.rpartition("@")
    return bool(at and ":" in user) or "pass" in unquote(query).lower()


def _spawn(folder: Path, asked: Mapping[str, object]) -> None:
    """Start a job's process, out of reach of the terminal's interrupt key."""
    command = [sys.executable, "-P", "-m", "halfmask.workbench._job_process", str(folder)]
    with _held_lock(folder) as lock:
        write_json(folder / "job.json", asked)
        child = subprocess.Popen(  # noqa: S603 # ourselves, without a shell
            [*command, str(lock)],
            pass_fds=[lock],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            # What a library prints may quote cells.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _CHILDREN[folder] = child
        write_json(folder / "process.json", {"pid": child.pid})


@contextmanager
def _held_lock(folder: Path) -> Iterator[int]:
    """Lock a job for a process that inherits the descriptor: it is locked until both let go.

    A number of a process may be another's later; a lock of the kernel ends with its holder.
    """
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def _is_alive(folder: Path) -> bool:
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that two that look at the same time don't see each other.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _wait(folder: Path, seconds: float) -> bool:
    """Wait until the process of a job has ended, and return whether it has."""
    until = time.monotonic() + seconds
    while _is_alive(folder):
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    child = _CHILDREN.pop(folder, None)
    if child is not None:
        child.wait()  # its lock is free: it has ended, or is about to
    return True


def _send(folder: Path, asked: signal.Signals) -> None:
    """Send a signal to the processes of a job that lives, so that the number is still its own."""
    pid = read_json(folder / "process.json").get("pid")
    if isinstance(pid, int) and _is_alive(folder):
        with suppress(ProcessLookupError):
            os.killpg(pid, asked)


def _read(folder: Path) -> Job | None:
    # Asked first: what ends after it has written its end by then.
    alive = _is_alive(folder)
    asked, progress, end = (read_json(folder / f"{it}.json") for it in ("job", "progress", "end"))
    if "started" not in asked:
        return None
    if not alive:
        _wait(folder, 0.0)
    is_whole = end.keys() >= _ENDS.get(str(end.get("state")), {"another state"})
    state: JobState = end["state"] if is_whole else "running" if alive else "lost"
    started = float(asked["started"])
    at = float(progress.get("at", started))
    now = time.time() if state == "running" else float(end.get("at", at))
    error = Notice(**end["error"]) if state == "failed" else LOST if state == "lost" else None
    return Job(
        id=folder.name,
        kind=asked["kind"],
        state=state,
        arguments=asked["arguments"],
        stage=progress.get("stage", "starting"),
        share=progress.get("share"),
        started=started,
        seconds=max(0.0, now - started),
        remaining=_remaining(progress, now - at) if state == "running" else None,
        error=error,
        result=end.get("result"),
        folder=folder,
    )


def _remaining(progress: Mapping[str, Any], since: float) -> float | None:
    """Return how long a stage will still take, if it goes on as it did."""
    share = progress.get("share")
    if not share or share >= 1:
        return None
    taken = progress["at"] - progress["stage_started"]
    return max(0.0, float(taken * (1 - share) / share - since))
