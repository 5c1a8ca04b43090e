"""A job's first run compiles its kernels; runs on tables of other types compile nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba.core import caching
from numba.core.event import Event, EventStatus

from halfmask.kernels.compiling import Compilation, njit


@pytest.fixture
def uncached(monkeypatch):
    """Neither the package's folder nor the user's can be written."""
    places: Any = caching.FunctionCache._impl_class  # where numba looks for a folder
    monkeypatch.setattr(places, "_locator_classes", [])


@pytest.mark.usefixtures("uncached")
def test_a_kernel_is_compiled_once_for_kernels_and_can_be_called_from_python():
    """Numba's own `njit` compiles it for 0 and again for 1."""

    @njit()
    def taken(codes, place):
        return codes[place]

    @njit()
    def taken_twice(codes):
        return 10 * taken(codes, 0) + taken(codes, 1)

    codes = np.array([3, 4])
    kernel: Any = taken
    called = kernel.get_overload.__self__  # what kernels call: it has no entry for Python

    assert taken_twice(codes) == 34
    assert len(called.signatures) == 1
    assert taken(codes, 1) == 4


@pytest.mark.parametrize("module", ["halfmask.kernels.attacks.linkage", "a_users.module"])
def test_it_is_told_that_kernels_are_compiled(module):
    """Not what a user compiles with numba: numba tells each listener of all that it compiles."""
    said: list[str] = []
    function = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    compiled = Event("numba:compile", EventStatus.START, data={"dispatcher": function})
    compilation = Compilation(lambda stage, _=None: said.append(stage))
    compilation.on_start(compiled)
    compilation.on_start(compiled)  # for the first
    compilation.on_end(compiled)
    compilation.on_end(compiled)

    expected = [*(f"Compiling kernels, once: {it} done" for it in (0, 1)), "done"]
    assert said == (expected if module.startswith("halfmask.") else [])


JOBS = """
import sys
from types import SimpleNamespace
import polars as pl
import halfmask as hm
from halfmask.masks import TABLE_MASKS, mask_table
from halfmask.data import open_table
from numba.core import event

class Count(event.Listener):
    n = 0
    def on_start(self, _): self.n += 1
    def on_end(self, _): pass

def table(kind):
    n = range(300)
    age = pl.Series("age", [18 + 7 * i % 70 for i in n])
    if kind == "missing":
        age = pl.Series("age", [None if i % 9 == 0 else i % 70 for i in n])
    columns = [age.cast({"float": pl.Float64, "small": pl.Int8}.get(kind, pl.Int64))]
    columns += [pl.Series("town", ["abcde"[i % 5] for i in n])]
    if kind == "wide":
        columns += [pl.Series(f"q{at}", [(at + 3) * i % 299 for i in n]) for at in range(9)]
    return pl.DataFrame(columns)

def protect(rows, method):
    columns = []
    for name, dtype in rows.schema.items():
        kind = "numeric" if dtype.is_numeric() else "categorical"
        columns.append(f'{name} = {{ role = "quasi_identifier", kind = "{kind}" }}')
    text = "halfmask = 1\\n[columns]\\n" + "\\n".join(columns)
    text += f'\\n[method]\\nname = "{method}"\\n[[guarantees]]\\nmodel = "k-anonymity"\\nk = 5\\n'
    hm.protect(rows, hm.Policy.from_toml(text), key=bytes(32))

def mask(rows, mask):
    mask_table(open_table(rows), {}, key=bytes(32), table_masks=[mask]).read()

def run(job, rows):
    if job in ("mondrian", "full-domain", "mdav"):
        return protect(rows, job)
    options = {"rank-swapping": {"max_rank_distance": 0.1}, "microaggregation": {"k": 3}}[job]
    mask(rows, TABLE_MASKS[job](columns=("age",), **options))

first, other = Count(), Count()
with event.install_listener("numba:compile", first):
    run(sys.argv[1], table("plain"))
with event.install_listener("numba:compile", other):
    # Of missing values risks are counted otherwise; codes of more values are wider.
    more = () if sys.argv[1] in ("mondrian", "full-domain", "mdav") else ("missing", "wide")
    for kind in ("float", "small", *more):
        run(sys.argv[1], table(kind))
print(first.n, other.n)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "job", ["mondrian", "full-domain", "mdav", "rank-swapping", "microaggregation"]
)
def test_other_tables_compile_nothing(tmp_path, job):
    """With other types; for masks with missing values, more columns and more values, too."""
    done = subprocess.run(
        [sys.executable, "-c", JOBS, job], check=True, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    first, other = map(int, done.stdout.split())

    assert first > 0
    assert other == 0
