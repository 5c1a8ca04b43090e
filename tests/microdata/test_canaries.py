"""Canaries: 128 random bits in every place that must not leave, looked for in all that does."""

from __future__ import annotations

import base64
import html
import random
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfmask._errors import HalfmaskError
from halfmask.cli import main
from halfmask.microdata import Policy, protect, protect_to
from halfmask.microdata._classed_rows import ClassedRows

PLACES = (
    "identifier cell",
    "identifier name",
    "suppressed town",
    "suppressed note",
    "suppressed illness",
    "rare town",
    "unused leaf of a file",
    "unused node of a file",
    "unused leaf of a list",
    "unused node of a list",
    "unused category",
    "index name",
    "index value",
    "name of the columns",
    "attribute",
    "input folder",
    "input file",
    "policy file",
    "policy comment",
    "hierarchy file",
)


def forms(token):
    """Return how a token may be spelt in bytes."""
    found = []
    for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le"):
        raw = token.encode(encoding)
        found += [raw, raw.hex().encode(), raw.hex().upper().encode()]
        for shift in range(3):
            coded = base64.b64encode(bytes(shift) + raw)
            found.append(coded[4 if shift else 0 : -4])  # what doesn't depend on its neighbours
    return found


@dataclass
class Canaries:
    """A token for each place."""

    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        rng = random.Random(20261121)
        self.tokens = {place: f"{rng.getrandbits(128):032x}" for place in PLACES}

    def __getitem__(self, place):
        return self.tokens[place]

    def seen_in(self, *texts):
        """Return the places whose canary is in any of the texts or bytes."""
        blobs = [text.encode() if isinstance(text, str) else text for text in texts]
        return {
            place
            for place, token in self.tokens.items()
            if any(form in blob for form in forms(token) for blob in blobs)
        }

    def leaked(self, folder):
        """Return the places whose canary is in any file, decompressed, or in any name."""
        blobs = [str(path.relative_to(folder)).encode() for path in folder.rglob("*")]
        for path in folder.rglob("*"):
            if path.is_file():
                blobs += [path.read_bytes(), *_inside(path)]
        return self.seen_in(*blobs)


def _inside(path):
    """Yield what a file holds where its bytes are compressed."""
    if path.suffix == ".html":
        yield html.unescape(path.read_text()).encode()
    if path.suffix == ".arrow":
        table = pa.ipc.open_file(path).read_all()
    elif path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        yield repr(file.metadata.to_dict()).encode()
        yield repr(file.metadata.metadata).encode()
        # A dictionary page may hold more than the rows use; bloom filters hold nothing readable.
        table = pq.read_table(path, read_dictionary=file.schema_arrow.names, partitioning=None)
        yield from _buffers(pq.read_table(path, partitioning=None))
    else:
        return
    yield repr(table.schema.metadata).encode() + repr(list(table.schema)).encode()
    yield from _buffers(table)


def _buffers(table):
    for column in table.columns:
        for chunk in column.chunks:
            parts = [chunk.dictionary, chunk] if isinstance(chunk, pa.DictionaryArray) else [chunk]
            for part in parts:
                yield from (buffer.to_pybytes() for buffer in part.buffers() if buffer)


@pytest.fixture
def canaries():
    return Canaries()


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files, that must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    assert not list(folder.iterdir())


def table(canaries, n=300):
    """Return people of whom the first three are suppressed, and the fourth has a rare town."""
    rng = np.random.default_rng(3)
    towns = rng.choice(["Aa", "Bee", "Cee", "Dee"], n).tolist()
    notes = rng.choice(["well", "ill"], n).tolist()
    illness = rng.choice(["flu", "cold", "ache"], n).tolist()
    for row in range(3):
        towns[row] = canaries["suppressed town"]
        notes[row] = canaries["suppressed note"]
        illness[row] = canaries["suppressed illness"]
    towns[3] = canaries["rare town"]
    return pl.DataFrame(
        {
            canaries["identifier name"]: [canaries["identifier cell"]] * n,
            "age": rng.integers(18, 80, n),
            "town": towns,
            "illness": illness,
            "note": notes,
            "visits": [None, None, None, *rng.integers(0, 9, n - 3).tolist()],
            "buys": rng.choice(["yes", "no"], n),
        }
    )


def policy_toml(canaries, recoding="level", k=5, output="parquet"):
    town_tree = f'hierarchy = {{ file = "{canaries["hierarchy file"]}.csv" }}'
    return f"""# {canaries["policy comment"]}
halfmask = 1
[columns.{canaries["identifier name"]}]
role = "identifier"
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.town]
role = "quasi_identifier"
kind = "categorical"
{town_tree}
[columns.illness]
role = "sensitive"
kind = "categorical"
[columns.illness.hierarchy.groups]
lungs = ["flu", "cold"]
other = ["ache", "{canaries["suppressed illness"]}", "{canaries["unused leaf of a list"]}"]
"{canaries["unused node of a list"]}" = ["nobody has this"]
[columns.note]
role = "insensitive"
kind = "text"
[columns.visits]
role = "insensitive"
kind = "numeric"
missing = "suppress"
[columns.buys]
role = "insensitive"
kind = "categorical"
label = true
[[guarantees]]
model = "k-anonymity"
k = {k}
[[guarantees]]
model = "t-closeness"
t = 0.6
distance = "hierarchical"
column = "illness"
[recoding]
name = "{recoding}"
[output]
format = "{output}"
"""


@dataclass
class Desk:
    """A policy and a table in a folder whose names are all canaries."""

    canaries: Canaries
    root: Path

    def __post_init__(self):
        self.folder = self.root / self.canaries["input folder"]
        self.folder.mkdir()
        self.table = self.folder / f"{self.canaries['input file']}.csv"
        self.policy = self.folder / f"{self.canaries['policy file']}.toml"
        table(self.canaries).write_csv(self.table)
        leaves = {"Aa": "north", "Bee": "north", "Cee": "south", "Dee": "south"}
        leaves |= {self.canaries["rare town"]: "south", self.canaries["suppressed town"]: "north"}
        leaves[self.canaries["unused leaf of a file"]] = self.canaries["unused node of a file"]
        rows = [f"{leaf};{node};*" for leaf, node in leaves.items()]
        (self.folder / f"{self.canaries['hierarchy file']}.csv").write_text("\n".join(rows))
        self.write_policy()

    def write_policy(self, **options):
        self.policy.write_text(policy_toml(self.canaries, **options))
        return Policy.load(self.policy)


@pytest.fixture
def desk(canaries, tmp_path):
    return Desk(canaries, tmp_path)


def pandas_table(canaries):
    """Return the table in pandas, with everything that pandas carries along."""
    frame = table(canaries).to_pandas()
    for name in ("town", "illness", "note"):
        values = [*dict.fromkeys(frame[name]), canaries["unused category"]]
        frame[name] = pd.Categorical(frame[name], categories=values)
    frame.index = pd.Index(
        [canaries["index value"]] * len(frame), name=canaries["index name"], dtype=object
    )
    frame.columns.name = canaries["name of the columns"]
    frame.attrs["source"] = canaries["attribute"]
    return frame


def arrow_table(canaries):
    found = table(canaries).to_arrow()
    fields = [each.with_metadata({"was": canaries["attribute"]}) for each in found.schema]
    return found.cast(pa.schema(fields, metadata={"file": canaries["input file"]}))


FRAMES = {"pandas": pandas_table, "pyarrow": arrow_table, "polars": table}


@pytest.mark.slow
@pytest.mark.parametrize("output", ["parquet", "csv", "arrow", "jsonl"])
@pytest.mark.parametrize("kind", FRAMES)
def test_nothing_of_a_frame_leaks(desk, canaries, tmp_path, kind, output):
    """No byte of a release, page, footer, dictionary or name has anything that must not leave."""
    wanted = desk.write_policy(output=output)

    release = protect_to(FRAMES[kind](canaries), wanted, tmp_path / "out")

    assert release.rows["suppressed"] == 3
    assert canaries.leaked(tmp_path / "out") == set()
    data = release.data
    written = data.to_csv() if kind == "pandas" else str(data)
    assert canaries.seen_in(written, repr(release), repr(release.utility), repr(wanted)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("recoding", ["ranges", "centroid", "representative"])
def test_nothing_of_a_file_leaks(desk, canaries, tmp_path, recoding):
    """With other recodings a rare category may be named, for its row leaves; nothing else may."""
    wanted = desk.write_policy(recoding=recoding)

    protect_to(desk.table, wanted, tmp_path / "out")

    assert canaries.leaked(tmp_path / "out") <= {"rare town"}


@pytest.mark.slow
def test_nothing_leaks_through_parts_and_samples(desk, canaries, tmp_path, monkeypatch):
    """The ways that large tables take, spilled parts and samples, leak nothing either."""
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 60)
    monkeypatch.setattr("halfmask.data.io._source._MAX_TEXT_ROWS", 50)
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", 150)

    release = protect_to(desk.table, Policy.load(desk.policy), tmp_path / "out")

    assert release.source.cells is None
    assert len(list((tmp_path / "out" / "data").iterdir())) == 5
    assert canaries.leaked(tmp_path / "out") == set()


@pytest.mark.slow
def test_the_command_says_nothing(desk, canaries, tmp_path, capsys, monkeypatch):
    """Neither output nor errors of commands that succeed hold a canary."""
    monkeypatch.chdir(tmp_path)
    words = [str(desk.table), str(desk.policy), "out"]
    for options in ([], ["--overwrite", "-v"], ["--overwrite", "--json"]):
        assert main(["protect", *words, *options]) == 0
    assert main(["verify", "out"]) == 0
    assert main(["verify", "out", "--json"]) == 0

    said = capsys.readouterr()
    assert canaries.seen_in(said.out, said.err) == set()
    assert canaries.leaked(tmp_path / "out") == set()


def broken_writer(patch, canaries):
    def fail(_self, _placed):
        raise RuntimeError(canaries["suppressed note"])

    patch.setattr(ClassedRows, "finished", fail)


def lying_engine(patch, _canaries):
    whole = ClassedRows.finished
    patch.setattr(ClassedRows, "finished", lambda self, placed: whole(self, placed)[1:])


def full_disk(patch, _canaries):
    def fail(*_args, **_options):
        raise OSError(28, "No space left on device", "somewhere")

    patch.setattr("halfmask.microdata._writing.write_table", fail)


FAILURES: dict[str, Any] = {
    "k above n": {"k": 301},
    "a value that no leaf has": {"town": "Zed"},
    "a column that nobody named": {"extra": 1},
    "an infinite age": {"age": float("inf")},
    "words for numbers": {"age": "CANARY"},
    "a writer that breaks": {"sabotage": broken_writer},
    "an engine that lies": {"sabotage": lying_engine},
    "a disk that is full": {"sabotage": full_disk},
    "a policy that isn't TOML": {"policy": "["},
    "a policy with a word too many": {"policy": "x = 1"},
    "ragged rows": {"rows": "a,b\n"},
    "an open quote": {"rows": '"a,b\n'},
    "bytes of another encoding": {"rows": "ä\n"},
}


def _break(desk, monkeypatch, *, rows="", policy="", sabotage=None, k=5, **cells):
    canaries = desk.canaries
    frame = table(canaries)
    if cells:
        last = frame.tail(1).with_columns(**{n: pl.lit(v) for n, v in cells.items()})
        frame = pl.concat([frame.cast(pl.String), last.cast(pl.String)], how="diagonal")
    text = frame.write_csv() + rows
    desk.table.write_bytes(text.encode("latin-1"))
    desk.write_policy(k=k)
    if policy:
        own = f'"{canaries["unused leaf of a list"]}"'
        desk.policy.write_text(f"{policy}\n{own}\n" + desk.policy.read_text())
    if sabotage:
        sabotage(monkeypatch, canaries)


@pytest.mark.slow
@pytest.mark.parametrize("failure", FAILURES)
def test_failures_say_nothing(desk, canaries, tmp_path, capsys, monkeypatch, caplog, failure):
    """No error, note, traceback, log or output holds a canary, and nothing is left on disk."""
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    _break(desk, monkeypatch, **FAILURES[failure])

    status = main(["protect", str(desk.table), str(desk.policy), "out"])
    machine = main(["protect", str(desk.table), str(desk.policy), "out", "--json"])
    said = capsys.readouterr()
    with pytest.raises((HalfmaskError, RuntimeError)) as caught:
        protect(desk.table, Policy.load(desk.policy)).write("out")

    assert (status, machine) == (1, 1)
    assert canaries.seen_in(said.out, said.err, caplog.text) == set()
    if caught.type is not RuntimeError:  # a foreign fault, that only Python sees, may say anything
        notes = getattr(caught.value, "__notes__", [])
        told = "".join(traceback.format_exception(caught.value))
        assert canaries.seen_in(told, *notes, repr(caught.value), str(vars(caught.value))) == set()
    assert before == sorted(tmp_path.rglob("*"))


def test_naive_pipelines_are_caught(canaries, tmp_path):
    """The search above finds what pandas, Arrow and a careless report leave behind."""
    out = tmp_path / "out"
    out.mkdir()
    frame = pandas_table(canaries).drop(columns=canaries["identifier name"])
    frame["town"] = frame["town"].replace(canaries["suppressed town"], "Aa")
    frame.iloc[4:].to_parquet(out / "naive.parquet")

    seen = canaries.leaked(out)
    assert {"unused category", "suppressed note", "index name", "index value"} <= seen
    assert "identifier cell" not in seen

    arrow = arrow_table(canaries).slice(4).select(["note"])
    with pa.ipc.new_file(out / "naive.arrow", arrow.schema) as writer:
        writer.write_table(arrow)
    assert {"attribute", "input file"} <= canaries.leaked(out)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "hex", "base64", "base64 of a line"])
def test_every_spelling_is_found(canaries, encoding):
    """A canary is found however it is written."""
    token = canaries["index name"]
    text = {
        "utf-8": token.encode(),
        "utf-16": token.encode("utf-16"),
        "hex": token.encode().hex().encode(),
        "base64": base64.b64encode(token.encode()),
        "base64 of a line": base64.b64encode(f"it is {token}, as said".encode()),
    }[encoding]

    assert canaries.seen_in(b"<p>" + text + b"</p>") == {"index name"}
    assert canaries.seen_in(b"<p>" + text[:-20] + b"</p>") == set()
