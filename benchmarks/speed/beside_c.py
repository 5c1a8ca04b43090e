"""Our kernel beside a bare Mondrian in C, compiled here and now, on the same codes.

A part of `anonymize.py`; not run by itself.

The stopwatch stands around the kernel as the engine calls it: from the start of the first call to
the end of the last, so that threads count as what they save. Coding, packing and recoding are
outside, on both sides.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ours import release

import workloads
from bars import RUNS, Bar, say
from halfmask.guarantees import DistinctLDiversity, Guarantee, KAnonymity

if TYPE_CHECKING:
    import polars as pl

SOURCE = Path(__file__).resolve().parent / "mondrian_baseline.c"
K = 10
TIMES_C = 3.0


class NoCompilerError(RuntimeError):
    """There is no gcc."""


def compiled(folder: Path) -> Path:
    """Compile the baseline for this machine."""
    compiler = shutil.which("gcc")
    if compiler is None:
        message = "no gcc on this machine"
        raise NoCompilerError(message)
    program = folder / "mondrian_baseline"
    flags = ["-O3", "-march=native", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, "-o", program, SOURCE], check=True)
    return program


def baseline(program: Path, frame: pl.DataFrame, folder: Path) -> Callable[[], tuple[float, int]]:
    """Write the records once; return what runs C once more and gives seconds and cells."""
    records = folder / "records.bin"
    workloads.packed(frame).tofile(records)

    def run() -> tuple[float, int]:
        said = subprocess.run(
            [program, records, str(K), "3"], check=True, capture_output=True, text=True
        )
        line = json.loads(said.stdout)
        return median(line["seconds"]), line["cells"]

    return run


@contextmanager
def stopwatch() -> Iterator[list[tuple[float, float]]]:
    """Note when each call of the kernel starts and ends."""
    from halfmask.anonymize import _growth  # noqa: PLC0415 # loads with the kernel
    from halfmask.kernels.partition import growing as partition  # noqa: PLC0415 # compiled late

    several = _growth.PARALLEL_ROWS
    _growth.PARALLEL_ROWS = sys.maxsize  # C runs in one thread: so does ours here
    calls: list[tuple[float, float]] = []
    kernel = partition.grow

    def timed(*arguments: Any) -> Any:  # noqa: ANN401 # the kernel's own arguments
        start = time.perf_counter()
        result = kernel(*arguments)
        calls.append((start, time.perf_counter()))
        return result

    partition.grow = timed  # type: ignore[assignment] # stands in for the compiled function
    try:
        yield calls
    finally:
        partition.grow = kernel
        _growth.PARALLEL_ROWS = several


def kernel_seconds(frame: pl.DataFrame, guarantees: list[Guarantee]) -> tuple[float, int]:
    """Run a whole release; return the kernel's share of it, and the cells."""
    with stopwatch() as calls:
        released = release(frame, "mondrian", guarantees)
    if not calls:
        message = "the kernel wasn't called where the stopwatch stands"
        raise RuntimeError(message)
    seconds = max(end for _, end in calls) - min(start for start, _ in calls)
    return seconds, released.n_unique(list(workloads.QUASI_IDENTIFIERS))


def compare(name: str, frame: pl.DataFrame, *, runs: int = RUNS) -> list[Bar]:
    """Take turns with C on one table; the bars are the ratios of medians."""
    k_only: list[Guarantee] = [KAnonymity(k=K)]
    with_l = [*k_only, DistinctLDiversity(l=2, column=workloads.LABEL)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run_c = baseline(compiled(folder), frame, folder)
        turns = [
            (run_c(), kernel_seconds(frame, k_only), kernel_seconds(frame, with_l))
            for _ in range(runs)
        ]
    c, ours, diverse = (median(turn[i][0] for turn in turns) for i in range(3))
    c_cells, our_cells = turns[-1][0][1], turns[-1][1][1]
    say(
        f"{name}: C {c:.4f} s ({c_cells} cells)  kernel {ours:.4f} s ({our_cells} cells)  "
        f"with l-diversity {diverse:.4f} s"
    )
    same = f"C {c:.4f} s, {c_cells} cells; ours {our_cells} cells"
    return [
        Bar(
            name=f"{name} k={K}: kernel's time over C's",
            value=ours / c,
            goal=TIMES_C,
            side="at most",
            why=same,
        ),
        Bar(
            name=f"{name} k={K} and l=2: kernel's time over C's with k alone",
            value=diverse / c,
            goal=TIMES_C,
            side="at most",
        ),
    ]


def bars(frames: dict[str, Callable[[], pl.DataFrame]]) -> list[Bar]:
    """Compare on each table; without gcc, say so."""
    found: list[Bar] = []
    for name, frame in frames.items():
        try:
            found += compare(name, frame())
        except NoCompilerError as error:
            bar = f"{name} k={K}: kernel's time over C's"
            found.append(Bar(name=bar, value=None, goal=TIMES_C, side="at most", why=str(error)))
    return found
