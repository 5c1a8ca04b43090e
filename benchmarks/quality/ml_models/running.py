"""Run groups of cells in two processes of one thread each, until they are done or time is up."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bars import say
from ml_models import accuracy, attributes, membership
from ml_models.scene import Scene
from ml_models.store import Key, Store

if TYPE_CHECKING:
    from ml_models.plan import Group

WORKERS = 2
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")
#: Networks ask for megabytes at every step and give them back. Told so, glibc keeps them for the
#: next step, rather than ask the system for the same pages again. No other C library reads these.
MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**28),
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_TOP_PAD_": str(2**26),
}

#: For each kind of group what measures its cells, one after the other.
KINDS: dict[str, Callable[[Scene, list[tuple[str, int]]], Iterator[dict[str, Any]]]] = {
    "accuracy": accuracy.measure,
    "membership": membership.measure,
    "strangers": membership.measure,
    "shadows": membership.measure,
    "attribute": attributes.measure,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run is done: where its lines go, what it may use, when it must end."""

    file: Path
    version: str
    cache: Path
    most_rows: int | None
    deadline: float

    def store(self) -> Store:
        """Open what was measured so far."""
        store = Store(self.file, self.version)
        store.load()
        return store


def run(run: Run, groups: list[Group], *, workers: int = WORKERS) -> list[str]:
    """Measure every cell that isn't there yet; return what wasn't begun when time was up."""
    store = run.store()
    left = [group for group in groups if missing(group, store)]
    say(f"{len(groups) - len(left)} of {len(groups)} groups of cells are there already")
    started = time.time()
    # for the processes: they share the cores
    os.environ.update(dict.fromkeys(THREADS, "1") | MEMORY)
    waiting, running = iter(left), dict[Future[str], float]()
    done = 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=end_with_the_run) as pool:
        while True:
            while len(running) < workers and time.time() < run.deadline:
                group = next(waiting, None)
                if group is None:
                    break
                running[pool.submit(work, run, group)] = time.time()
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                done += 1
                took = time.time() - running.pop(future)
                say(
                    f"[{(time.time() - started) / 60:5.1f} min] {done}/{len(left)} "
                    f"{future.result()} ({took:.1f} s)"
                )
    after = run.store()
    return [group.name for group in groups if missing(group, after)]


def end_with_the_run() -> None:
    """Let this process end when the one that started it was killed, rather than go on unseen."""
    run = multiprocessing.parent_process()

    def watch() -> None:
        if run is not None:
            run.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def missing(group: Group, store: Store) -> list[tuple[str, int]]:
    """Return the cells of a group that aren't measured, or failed."""
    keys = {cell: group.key(*cell) for cell in group.cells}
    return [c for c, key in keys.items() if key not in store.lines or "failed" in store.lines[key]]


def work(run: Run, group: Group) -> str:
    """Measure a group's missing cells, in a process of its own; return what to say of it."""
    store = run.store()
    cells = missing(group, store)
    try:
        scene = Scene.of(group, run.cache, run.most_rows)
    except Exception as error:  # noqa: BLE001 # a group that fails is said, the others go on
        return f"{group.name}: FAILED: {_said(error)}"
    failed: list[str] = []
    measuring = KINDS[group.kind](scene, cells)
    for method, k in cells:
        if time.time() > run.deadline:
            return f"{group.name}: stopped, time is up"
        key = group.key(method, k)
        try:
            store.add(key, **next(measuring))
        except Exception as error:  # noqa: BLE001 # the same for one cell
            failed.append(f"{method} k={k}: {_said(error)}")
            store.add(key, failed=_said(error))
            measuring = KINDS[group.kind](scene, cells[cells.index((method, k)) + 1 :])
    return f"{group.name}: {len(cells) - len(failed)} cells" + "".join(
        f"\n    FAILED {why}" for why in failed
    )


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def measured(store: Store, **fields: object) -> dict[Key, dict[str, Any]]:
    """Return the lines whose key has these fields and that didn't fail."""
    return {
        key: line
        for key, line in store.lines.items()
        if "failed" not in line and all(getattr(key, name) == v for name, v in fields.items())
    }
