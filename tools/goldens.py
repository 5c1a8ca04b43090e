"""Compare what halfmask writes under fixed keys with what it wrote before.

    python tools/goldens.py            # compare; the exit code is 1 if anything differs
    python tools/goldens.py --write    # write tests/goldens/ anew, after a change on purpose
    python tools/goldens.py masked     # only cases whose name has this word

A case writes files into an empty folder: a release, or what a command says. Data files are compared
by their hash, JSON by its keys and values. Times, versions, paths and drawn noise are left out.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import inspect
import io
import json
import os
import pkgutil
import re
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import polars as pl

import halfmask as hm
from halfmask.cli import main as halfmask
from halfmask.crosstabs import TablesPolicy
from halfmask.databases import DatabasePolicy, protect_database
from halfmask.dp.learning import PrivateGaussianNB, release_model
from halfmask.dp.ledger import release_ledger
from halfmask.dp.queries import query_sql, release_answer
from halfmask.encode import SeriesCodec
from halfmask.hashing import LabelCodes
from halfmask.trainer.learner import OnlineLearner

ROOT = Path(__file__).resolve().parents[1]
GOLDENS: Final = ROOT / "tests" / "goldens"
KEY: Final = bytes(range(32))
#: What differs from run to run, or with a new version of halfmask.
_LEFT_OUT: Final = frozenset({"created", "software", "seconds", "fingerprint", "charged", "report"})
#: Drawn by the operating system for differential privacy: these cases are compared by their keys.
_DRAWN: Final = frozenset({"answer", "ledger", "model", "private-rows", "epsilon", "query"})

Case = Callable[[Path], None]


def people(n: int = 600) -> pl.DataFrame:
    """Return a table with a column of each kind, and missing cells."""
    rng = np.random.default_rng(45)
    age = rng.integers(18, 90, n)
    born = np.datetime64("1930-01-01") + rng.integers(0, 25_000, n)
    frame = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": age,
            "town": rng.choice(["Aa", "Bee", "Cee", "Dee"], n),
            "born": pl.Series(born).cast(pl.Date),
            "wage": (rng.integers(10, 60, n) * 100 + age).astype(float),
            "ill": np.where(rng.random(n) < age / 100, "yes", "no"),
        }
    )
    gaps = pl.Series(rng.random(n) < 0.05)
    return frame.with_columns(pl.when(gaps).then(None).otherwise(pl.col("town")).alias("town"))


COLUMNS: Final = """
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric" }
town = { role = "quasi_identifier", kind = "categorical" }
born = { role = "quasi_identifier", kind = "datetime" }
wage = { role = "insensitive", kind = "numeric" }
ill = { role = "sensitive", kind = "categorical", label = true }
[output]
format = "FORMAT"
"""
GUARANTEES: Final = """
[[guarantees]]
model = "k-anonymity"
k = 5
[[guarantees]]
model = "distinct-l-diversity"
l = 2
column = "ill"
"""
LEVELS: Final = """
halfmask = 1
[columns]
name = { role = "identifier" }
born = { role = "identifier" }
wage = { role = "identifier" }
ill = { role = "quasi_identifier", kind = "categorical", LEVEL0 }
[columns.age]
role = "quasi_identifier"
kind = "numeric"
hierarchy = { intervals = [10, 20, 40] }
LEVEL2
[columns.town]
role = "quasi_identifier"
kind = "categorical"
hierarchy = { groups = { north = ["Aa", "Bee"], south = ["Cee", "Dee"] } }
LEVEL1
"""
MASKS: Final = (
    ("wage = { role", 'wage = { mask = { name = "round", base = 100 }, role'),
    ("town = { role", 'town = { mask = { name = "token" }, role'),
    ("born = { role", 'born = { mask = { name = "coarsened-dates", to = "month" }, role'),
    (
        "age = { role",
        'age = { mask = { name = "noise", law = "gaussian", scale = 2, decimals = 0 }, role',
    ),
)
DATABASE: Final = """
halfmask-database = 1
[tables.people.columns]
name = { mask = { name = "token" } }
age = { mask = { name = "round", base = 10 } }
ill = "keep"
town = "drop"
"""
TABLES: Final = """
halfmask-tables = 1
[[tables]]
name = "wages"
dimensions = ["town", "ill"]
value = "wage"
derived = ["mean", "share"]
[[tables]]
name = "people"
dimensions = ["town", "ill"]
[[rules]]
rule = "minimum-frequency"
n = 3
margin = 10.0
[[rules]]
rule = "p-percent"
p = 10.0
"""
EVENTS: Final = """
halfmask-events = 1
release = "golden"
[stream]
time = "time"
zone = "UTC"
[[rule]]
path = "time"
do = "coarsen-time"
every = "1 hour"
zone = "UTC"
[[rule]]
path = "user"
do = "sequence"
scope = "event"
[[rule]]
path = "items[].price"
do = "round"
step = 10
[[rule]]
path = "kind"
do = "keep"
"""


def policy(text: str = "", *, columns: str = COLUMNS, file_format: str = "csv") -> hm.Policy:
    """Return a policy of the columns with more sections."""
    return hm.Policy.from_toml(columns.replace("FORMAT", file_format) + text)


def _classes(method: str, recoding: str = "ranges", file_format: str = "csv") -> Case:
    def write(out: Path) -> None:
        more = f'[method]\nname = "{method}"\n[recoding]\nname = "{recoding}"\n'
        wanted = policy(more + GUARANTEES, file_format=file_format)
        hm.protect(people(), wanted, key=KEY).write(out / "release")

    return write


def _full_domain(out: Path) -> None:
    plain = re.sub(r"(, )?LEVEL\d", "", LEVELS)
    more = '[method]\nname = "full-domain"\n[recoding]\nname = "level"\n'
    more += '[[guarantees]]\nmodel = "k-anonymity"\nk = 20\n'
    hm.protect(people(), hm.Policy.from_toml(plain + more), key=KEY).write(out / "release")


def _private_rows(out: Path) -> None:
    fixed = re.sub(r"LEVEL(\d)", r"least_level = \1\ngreatest_level = \1", LEVELS)
    inline = fixed.replace("\ngreatest_level = 0 }", ", greatest_level = 0 }")
    more = '[[guarantees]]\nmodel = "differential-privacy"\nepsilon = 2.0\ndelta = 1e-3\n'
    wanted = hm.Policy.from_toml(inline + more + "sampling_fraction = 0.5\n")
    hm.protect(people(4000), wanted).write(out / "release")


def _masked(out: Path) -> None:
    columns = COLUMNS
    for old, new in MASKS:
        columns = columns.replace(old, new)
    hm.mask(people(), policy(columns=columns), key=KEY).write(out / "release")


def _synthetic(section: str) -> Case:
    def write(out: Path) -> None:
        rows = people(1200)
        hm.synthesize(rows, policy(f"[synthesis]\n{section}"), key=KEY).write(out / "release")

    return write


def _private_synthesis(out: Path) -> None:
    domain = (
        'kind = "full"\nepsilon = 1.0\ndelta = 1e-6\n'
        "[synthesis.domain.age]\nedges = [18, 40, 60, 90]\nwhole = true\n"
        '[synthesis.domain.ill]\nvalues = ["yes", "no"]\n'
    )
    columns = re.sub(r'(town|born|wage) = \{ role = "\w+"', r'\1 = { role = "identifier"', COLUMNS)
    hm.synthesize(people(), policy(f"[synthesis]\n{domain}", columns=columns)).write(
        out / "release"
    )


def _answered(out: Path) -> tuple[hm.PrivacyLedger, Any, Any]:
    rows = people().select("age", "ill")
    ledger = hm.PrivacyLedger.create(
        out / "vault", rows, dataset="people", epsilon=3.0, delta=1e-6,
        bounds={"age": (18, 90)}, keys={"ill": ["yes", "no"]},
    )  # fmt: skip
    table = hm.PrivateTable.open(rows, ledger=ledger)
    query = query_sql(table, "SELECT ill, COUNT(*), AVG(age) FROM people GROUP BY ill")
    return ledger, query, query.answer(epsilon=0.5)


def _answer(out: Path) -> None:
    _, query, answer = _answered(out)
    release_answer(query, answer, out / "release")


def _ledger(out: Path) -> None:
    ledger, _, _ = _answered(out)
    release_ledger(ledger, out / "release")


def _model(out: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    model = PrivateGaussianNB(epsilon=1.0, delta=1e-5, bounds=(-3.0, 3.0), classes=[0, 1])
    release_model(model.fit(rows, (rows[:, 0] > 0).astype(int)), out / "release")


def _database(out: Path) -> None:
    rows = people().select("name", "age", "ill", "town").rows()
    with contextlib.closing(sqlite3.connect(out / "raw.db")) as base, base:
        base.execute("create table people (name text primary key, age int, ill text, town text)")
        base.executemany("insert into people values (?, ?, ?, ?)", rows)
    wanted = DatabasePolicy.from_toml(DATABASE)
    source, target = f"sqlite:///{out / 'raw.db'}", f"sqlite:///{out / 'masked.db'}"
    protect_database(source, wanted, target, report=out / "report", key=KEY)
    with contextlib.closing(sqlite3.connect(out / "masked.db")) as base:
        found = base.execute("select * from people order by name").fetchall()
        schema = base.execute("select sql from sqlite_master order by name").fetchall()
    (out / "copy.json").write_text(json.dumps({"rows": found, "schema": schema}))
    for name in ("raw.db", "masked.db"):  # their pages hold a version of SQLite
        (out / name).unlink()


def _tables(out: Path) -> None:
    rows = people(24).drop_nulls("town")
    hm.protect(rows, TablesPolicy.from_toml(TABLES)).write(out / "release")
    (out / "release.owner.html").unlink()


def _encoded(learner: Literal["trees", "linear"]) -> Case:
    def write(out: Path) -> None:
        rows = people()
        codec = hm.Codec(learner=learner, secret=hm.Secret(KEY)).fit(rows, target="ill")
        codec.encode(rows, batch=0).write_csv(out / "encoded.csv")
        (out / "codec").write_bytes(codec.to_bytes())

    return write


def _series(out: Path) -> None:
    rng = np.random.default_rng(0)
    days = np.datetime64("2023-01-01") + np.arange(400)
    sold = rng.poisson(200 + 90 * (np.arange(400) % 7 > 4))
    table = pl.DataFrame({"day": pl.Series(days).cast(pl.Date), "sold": sold})
    codec = SeriesCodec(time="day", secret=hm.Secret(KEY)).fit(table)
    codec.encode(table).write_csv(out / "encoded.csv", float_precision=6)


def _hashed(out: Path) -> None:
    rows, secret = people(), hm.Secret(KEY)
    hasher = hm.KeyedHasher(secret=secret, bits=14, interactions=[("age", "town")])
    codes = LabelCodes.fit(rows["ill"], secret=secret)
    features = rows.drop("ill", "name")
    batch = hasher.fit(features).hash_batch(features, codes.encode(rows["ill"]))
    (out / "hasher").write_bytes(hasher.to_bytes())
    learner = OnlineLearner(bits=14)
    learner.learn(batch)
    (out / "learner").write_bytes(learner.to_bytes())


def _events(name: str, *options: str) -> Case:
    def write(out: Path) -> None:
        rng = np.random.default_rng(0)
        lines = [
            json.dumps(
                {
                    "time": f"2026-01-{1 + i // 24:02}T{i % 24:02}:{i % 60:02}:00Z",
                    "user": f"u{rng.integers(9)}",
                    "kind": "buy",
                    "items": [{"price": int(it)} for it in rng.integers(1, 99, i % 4)],
                    "secret": "dropped",
                }
            )
            for i in range(300)
        ]
        (out / "in.jsonl").write_text("\n".join(lines) + "\n")
        (out / "policy.toml").write_text(EVENTS)
        lock = ("--vault", str(out / "vault"), "--key-file", str(out / "key"))
        _run(out, "created", "vault", "create", str(out / "vault"), "--key-file", str(out / "key"))
        files = (str(out / "policy.toml"), str(out / "in.jsonl"), str(out / name))
        once = ("--checkpoint-seconds", "3600")  # on a slow machine ten seconds pass
        _run(out, "run", "events", "run", *files, *lock, *once, *options, "--json")
        for made in ("in.jsonl", "policy.toml", "created.json"):
            (out / made).unlink()

    return write


def _commands(out: Path) -> None:
    rows = out / "people.csv"
    people().write_csv(rows)
    (out / "policy.toml").write_text(policy(GUARANTEES).to_toml())
    (out / "key").write_bytes(KEY)
    (out / "key").chmod(0o600)
    table, release = str(rows), str(out / "release")
    _run(out, "describe", "describe", table, "--json")
    protect = ("protect", table, str(out / "policy.toml"), release)
    _run(out, "protect", *protect, "--key-file", str(out / "key"), "--json")
    _run(out, "verify", "verify", release, "--json")
    _run(out, "assess-risk", "assess", "risk", table, "--quasi-identifiers", "age,town", "--json")
    _run(out, "schema", "schema")
    _run(out, "usage", "protect", "--json")
    for made in ("people.csv", "policy.toml", "key"):
        (out / made).unlink()


def _run(out: Path, name: str, *words: str) -> None:
    """Run a command, and write what it said and its exit code."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        status = halfmask([*words])
    text = said.getvalue()
    answer = json.loads(text) if text.startswith("{") else text.splitlines()
    (out / f"{name}.json").write_text(json.dumps({"status": status, "answer": answer}))


def _names(out: Path) -> None:
    """Write each public name of a room with its signature, and those of its methods."""
    lines: list[str] = []
    for module in sorted(_rooms()):
        room = importlib.import_module(module)
        for name in sorted(getattr(room, "__all__", ())):
            lines += _signatures(f"{module}.{name}", getattr(room, name))
    (out / "names.txt").write_text("\n".join(lines) + "\n")


def _rooms() -> Iterator[str]:
    yield "halfmask"
    for each in pkgutil.walk_packages(hm.__path__, "halfmask."):
        if each.ispkg and "._" not in each.name and ".kernels" not in each.name:
            yield each.name


def _signatures(name: str, it: object) -> Iterator[str]:
    if not callable(it):
        yield f"{name}: {type(it).__name__}"
        return
    yield name + _signature(it)
    if isinstance(it, type):
        for method, inner in sorted(_members(it).items()):
            if not method.startswith("_") and inspect.isroutine(getattr(it, method, None)):
                yield f"{name}.{method}{_signature(getattr(it, method))}"
            elif not method.startswith("_") and isinstance(inner, property):
                yield f"{name}.{method}: property"


@functools.cache
def _listed() -> frozenset[int]:
    """Return what rooms list, by identity."""
    rooms = map(importlib.import_module, _rooms())
    return frozenset(id(getattr(it, name)) for it in rooms for name in getattr(it, "__all__", ()))


def _members(it: type) -> dict[str, object]:
    """Return the members of a class, and of its bases that no room lists."""
    ours = [base for base in it.__mro__ if base.__module__.startswith("halfmask.")]
    hidden = [base for base in ours if base is not it and id(base) not in _listed()]
    return {name: each for base in (*reversed(hidden), it) for name, each in vars(base).items()}


def _signature(it: Callable[..., object]) -> str:
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(it)))
    except (TypeError, ValueError):
        return "(...)"


CASES: Final[Mapping[str, Case]] = {
    "classes-mondrian": _classes("mondrian"),
    "classes-mondrian-parquet": _classes("mondrian", file_format="parquet"),
    "classes-guided": _classes("guided"),
    "classes-mdav": _classes("mdav", "centroid"),
    "classes-median": _classes("mondrian", "representative", "jsonl"),
    "classes-full-domain": _full_domain,
    "masked": _masked,
    "synthetic-full": _synthetic('kind = "full"'),
    "synthetic-copies": _synthetic('kind = "full"\ncopies = 2'),
    "synthetic-partial": _synthetic('kind = "partial"\ncolumns = ["wage", "age"]'),
    "synthetic-hybrid": _synthetic('kind = "hybrid"\nk = 5'),
    "epsilon": _private_synthesis,
    "private-rows": _private_rows,
    "answer": _answer,
    "ledger": _ledger,
    "model": _model,
    "database": _database,
    "tables": _tables,
    "encoded-trees": _encoded("trees"),
    "encoded-linear": _encoded("linear"),
    "series": _series,
    "hashed": _hashed,
    "events-jsonl": _events("out.jsonl"),
    "events-gzip": _events("out.jsonl.gz"),
    "events-parquet": _events("out.parquet"),
    "events-arrow": _events("out.arrow"),
    "commands": _commands,
    "names": _names,
}


def golden_of(name: str) -> dict[str, Any]:
    """Run a case in an empty folder; return each file that it wrote, without what may differ."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = Path(folder, "case")
        out.mkdir()
        with contextlib.chdir(out):
            CASES[name](out)
        drawn = name in _DRAWN
        return {
            str(path.relative_to(out)): _stated(path, folder, drawn=drawn)
            for path in sorted(out.rglob("*"))
            if path.is_file() and "vault" not in path.relative_to(out).parts and path.name != "key"
        }


def _stated(path: Path, folder: str, *, drawn: bool) -> object:
    """Return a file as it is compared."""
    if path.suffix == ".json":
        return _cleaned(json.loads(path.read_text().replace(folder, "FOLDER")), drawn=drawn)
    if path.suffix == ".txt":
        return path.read_text().splitlines()
    if path.suffix == ".html":
        return "a page"
    return "drawn" if drawn else hashlib.sha256(path.read_bytes()).hexdigest()


def _cleaned(value: object, *, drawn: bool) -> object:
    if isinstance(value, dict):
        kept = {name: it for name, it in value.items() if name not in _LEFT_OUT}
        return {name: _cleaned(it, drawn=drawn) for name, it in kept.items()}
    if isinstance(value, list):
        return [_cleaned(each, drawn=drawn) for each in value]
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int | float):
        return "a number" if drawn else float(f"{value:.9g}")
    digest = r"[0-9a-f]{64}|\d+\.\d+(e-?\d+)?" if drawn else r"\d+\.\d s\b"
    return re.sub(digest, "_", str(value))


def differences(old: object, new: object, where: str = "") -> Iterator[str]:
    """Yield the places where two values of JSON differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from differences(old.get(name), new.get(name), f"{where}/{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, f"{where}/{i}")
    elif old != new:
        yield f"{where}: {json.dumps(old)[:200]} -> {json.dumps(new)[:200]}"


def read_golden(name: str) -> object:
    """Return what a case wrote before; None if it is new."""
    path = GOLDENS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def main(words: list[str]) -> int:
    """Compare or write the cases; return the exit code."""
    os.environ["NO_COLOR"] = "1"
    chosen = [word for word in words if word != "--write"]
    names = [name for name in CASES if not chosen or any(word in name for word in chosen)]
    broken = 0
    for name in names:
        found = golden_of(name)
        if "--write" in words:
            GOLDENS.mkdir(exist_ok=True)
            text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False)
            (GOLDENS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
            continue
        said = list(differences(read_golden(name), found))
        broken += bool(said)
        print(f"{name}: {'equal' if not said else 'differs'}", *said[:20], sep="\n  ")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
