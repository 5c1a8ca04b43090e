"""The verifier of synthetic rows: it passes what holds and fails what was changed."""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask import Policy
from halfmask.claims import Claim
from halfmask.verifier import CheckedRelease
from halfmask.verifier.synthetic._synthetic_checks import check_at_most, check_sum
from halfmask.verifier.tables.part import open_part

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = """
halfmask = 1
[columns.start]
role = "quasi_identifier"
kind = "numeric"
[columns.end]
role = "insensitive"
kind = "numeric"
[columns.town]
role = "quasi_identifier"
kind = "categorical"
[columns.land]
role = "insensitive"
kind = "categorical"
[columns.wage]
role = "insensitive"
kind = "numeric"
[columns.more]
role = "insensitive"
kind = "numeric"
[columns.sum]
role = "insensitive"
kind = "numeric"
[output]
format = "FORMAT"
[synthesis]
kind = "full"
rules = [
  { rule = "at-most", low = "start", high = "end" },
  { rule = "fixed-combinations", columns = ["town", "land"] },
  { rule = "sum-of", total = "sum", parts = ["wage", "more"] },
]
"""

#: The same without rows set aside: no attack is run, which takes most of the time.
UNATTACKED = TEXT + "control_fraction = 0\n"
#: The number of a row.
ROW = pl.int_range(pl.len())


def table(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    town = rng.choice(["Lyon", "Nice", "Rome"], n)
    start, wage, more = rng.integers(0, 99, n), rng.integers(0, 99, n), rng.integers(0, 9, n)
    return pl.DataFrame(
        {
            "start": start,
            "end": start + rng.integers(0, 9, n),
            "town": town,
            "land": np.where(town == "Rome", "Italy", "France"),
            "wage": wage,
            "more": more,
            "sum": wage + more,
        }
    )


def checked(out: Path, originals: pl.DataFrame | None = None) -> CheckedRelease:
    found = halfmask.verify(out, originals=table() if originals is None else originals)
    assert isinstance(found, CheckedRelease)
    return found


@functools.cache
def files_of(text: str) -> dict[str, bytes]:
    """Return the files that a policy's release has: made once, and changed by many tests."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        halfmask.synthesize(table(), Policy.from_toml(text), key=bytes(32)).write(out)
        paths = (path for path in out.rglob("*") if path.is_file())
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in paths}


def written(folder: Path, form: str = "parquet", text: str = TEXT) -> Path:
    for name, content in files_of(text.replace("FORMAT", form)).items():
        path = folder / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / "out"


def restated(out: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest."""
    manifest = json.loads((out / "manifest.json").read_text())
    change(manifest)
    (out / "manifest.json").write_text(json.dumps(manifest))


def rewritten(out: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the rows, and everything that the manifest says of the file."""
    path = next((out / "data").iterdir())
    rows = change(pl.read_parquet(path))
    rows.write_parquet(path)

    def state(manifest: dict[str, Any]) -> None:
        file = manifest["files"][0]
        file["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        for key in ("bytes", "n_bytes"):
            if key in file:
                file[key] = path.stat().st_size

    restated(out, state)


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow", "jsonl"])
def test_a_release_holds_in_each_format(tmp_path, form):
    found = checked(written(tmp_path, form, UNATTACKED))
    assert found.holds, [*found.problems, *(it.sentence for it in found.claims)]
    assert {each.claim.model for each in found.claims} == {
        "released-columns",
        "at-most",
        "fixed-combinations",
        "sum-of",
        "copied-rows",
    }


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("at-most", pl.when(ROW == 0).then(-1).otherwise(pl.col("end")).alias("end")),
        ("sum-of", (pl.col("sum") + (ROW == 5)).alias("sum")),
        (
            "fixed-combinations",
            pl.when(ROW == 3).then(pl.lit("Spain")).otherwise(pl.col("land")).alias("land"),
        ),
    ],
)
def test_one_row_that_breaks_a_rule_is_found(tmp_path, model, change):
    out = written(tmp_path)
    rewritten(out, lambda rows: rows)
    assert checked(out).holds  # the power of it: written anew without a change it holds
    name = change.meta.output_name()
    rewritten(out, lambda rows: rows.with_columns(change.cast(rows.schema[name])))
    found = checked(out)
    assert not found.holds
    assert [each.claim.model for each in found.claims if not each.holds] == [model]


def of(manifest: dict[str, Any], model: str) -> dict[str, Any]:
    claim: dict[str, Any] = next(it for it in manifest["claims"] if it["model"] == model)
    return claim


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "change",
    [
        lambda it: it["claims"].remove(of(it, "at-most")),
        lambda it: it["claims"].remove(of(it, "copied-rows")),
        lambda it: it["claims"].remove(of(it, "released-columns")),
        lambda it: of(it, "copied-rows")["evidence"].update(copied=1),
        lambda it: of(it, "copied-rows")["evidence"].update(repeated=1),
        lambda it: of(it, "copied-rows")["evidence"].update(repeated_of_few=300),
        lambda it: of(it, "copied-rows")["evidence"].pop("copied_of_few"),
        lambda it: of(it, "copied-rows")["evidence"].update(repeated_of_one=300),
        lambda it: of(it, "copied-rows")["evidence"].update(moved_of_few=300),
        lambda it: of(it, "copied-rows")["evidence"].pop("copied_of_one"),
        lambda it: of(it, "copied-rows").update(parameters={"copy": 2}),
        lambda it: of(it, "copied-rows")["evidence"].pop("copied"),
        lambda it: of(it, "copied-rows")["about"]["columns"].pop(),
        lambda it: of(it, "copied-rows").update(basis="measured"),
        lambda it: of(it, "fixed-combinations")["evidence"].update(combinations=1),
        lambda it: of(it, "sum-of")["about"].update(columns=["sum", "wage"]),
        lambda it: of(it, "at-most").update(model="at-least"),
        lambda it: it["details"]["rows"].update(out=7),
        lambda it: it["details"]["rows"].update(control=7),
        lambda it: it["details"]["columns"][0].update(role="identifier"),
        lambda it: it["details"]["columns"][0].update(dtype="String"),
        lambda it: it["details"]["columns"].pop(),
    ],
)
def test_a_manifest_that_states_something_else_does_not_hold(tmp_path, change):
    out = written(tmp_path)
    restated(out, change)
    found = checked(out)
    assert not found.holds
    assert found.is_broken


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow", "jsonl"])
def test_copied_rows_are_counted_from_the_originals(tmp_path, form):
    """The power of the check: a release of the original rows themselves, as stated, is found."""
    out = written(tmp_path, form, UNATTACKED)
    claim = next(it for it in checked(out).claims if it.claim.model == "copied-rows")
    assert claim.holds
    assert claim.found["original_rows"] == 400
    rows, known = (set(map(str, it.rows())) for it in (read(out, form), table()))
    assert claim.found["copied"] == sum(str(row) in known for row in read(out, form).rows())
    assert len(rows) > 100


def test_a_release_of_original_rows_does_not_hold(tmp_path):
    out = written(tmp_path)
    rewritten(out, lambda rows: table()[: rows.height])

    def state(manifest: dict[str, Any]) -> None:
        of(manifest, "copied-rows")["evidence"].update(copied=360)

    restated(out, state)
    found = checked(out)
    assert [it.claim.model for it in found.claims if not it.holds] == ["copied-rows"]
    assert next(it for it in found.claims if not it.holds).found["copied"] == 360


def copies(folder: Path, form: str) -> tuple[Path, list[Path]]:
    out = written(folder, form, TEXT + "copies = 3\n")
    return out, sorted((out / "data").iterdir())


def as_before(manifest: dict[str, Any]) -> None:
    """State one claim for all copies, without rows of few people, as earlier versions did."""
    found = [it for it in manifest["claims"] if it["model"] == "copied-rows"]
    for each in found[1:]:
        manifest["claims"].remove(each)
    found[0]["parameters"] = {}
    rows = {name: sum(it["evidence"][name] for it in found) for name in ("rows", "copied")}
    found[0]["evidence"].update(rows)
    added = ("copied_of_few", "repeated_of_few", "copied_of_one", "repeated_of_one")
    for name in (*added, "moved_of_few"):
        del found[0]["evidence"][name]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_each_copy_is_judged_by_itself(tmp_path, form):
    """Two copies at chance hid a third with half again as many copied rows."""
    out, paths = copies(tmp_path, form)
    assert checked(out).holds
    raw = (out / "manifest.json").read_text()
    restated(out, as_before)
    assert checked(out).holds
    (out / "manifest.json").write_text(raw)
    restated(out, lambda it: it["claims"].remove(of(it, "copied-rows")))
    assert "lacks the claim 'copied-rows' of a copy" in " ".join(checked(out).problems)
    (out / "manifest.json").write_text(raw)
    copying = table()[:360]
    copying.write_parquet(paths[2]) if form == "parquet" else copying.write_csv(paths[2])

    def state(manifest: dict[str, Any]) -> None:
        file = manifest["files"][2]
        file["sha256"] = hashlib.sha256(paths[2].read_bytes()).hexdigest()
        file["bytes"] = paths[2].stat().st_size
        last = [it for it in manifest["claims"] if it["model"] == "copied-rows"][2]
        last["evidence"].update(copied=360, copied_of_few=360, copied_of_one=360)

    restated(out, state)
    found = checked(out)
    broken = [it for it in found.claims if not it.holds]
    assert [it.claim.parameters for it in broken] == [{"copy": 3}]
    assert "360 of 360 rows equal one that at most 5 people have; by chance" in broken[0].sentence
    assert "360 of 360 rows equal one that one person has; by chance" in broken[0].sentence
    assert "leave out columns" in broken[0].cure
    restated(out, as_before)
    assert [it.claim.model for it in checked(out).claims if not it.holds] == ["copied-rows"]


def test_without_the_originals_copied_rows_are_not_checked(tmp_path):
    found = halfmask.verify(written(tmp_path))
    assert isinstance(found, CheckedRelease)
    assert not found.holds
    assert not found.is_broken
    assert [it.claim.model for it in found.claims if not it.checked] == ["copied-rows"]
    with pytest.raises(halfmask.VerificationError, match="could be checked"):
        found.raise_if_broken()


def test_other_rows_than_the_originals_do_not_confirm_the_claim(tmp_path):
    out = written(tmp_path)
    for others in (table(500), table().with_columns(pl.col("wage") + 1)[:399]):
        assert not halfmask.verify(out, originals=others).holds
    table().write_csv(tmp_path / "originals.csv")
    assert halfmask.verify(out, originals=tmp_path / "originals.csv").holds
    with pytest.raises(halfmask.ColumnNotFoundError, match="'wage'"):
        halfmask.verify(out, originals=table().drop("wage"))
    with pytest.raises(halfmask.VerificationError, match="frame or a path"):
        halfmask.verify(out, originals=7)


@pytest.mark.slow
def test_rows_of_all_types_are_compared_in_all_formats(tmp_path):
    """Dates, times with and without zones, truths, fractions, decimals and texts like formulas."""
    n = 400
    rng = np.random.default_rng(0)
    day = pl.Series(rng.integers(0, 3, n)).cast(pl.Date)
    moment = pl.Series(rng.integers(0, 3, n) * 1_500_000).cast(pl.Datetime("us"))
    originals = pl.DataFrame(
        {
            "day": day,
            "moment": moment,
            "zoned": moment.dt.replace_time_zone("Europe/Paris"),
            "truth": rng.random(n) < 0.5,
            "share": rng.choice([0.1, np.nan, 1e16], n),
            "small": pl.Series(rng.choice([0.1, 0.7], n)).cast(pl.Float32),
            "hour": pl.Series(rng.integers(0, 3, n) * 3_600_500_000_000).cast(pl.Time),
            "price": pl.Series(rng.integers(1, 3, n)).cast(pl.Decimal(9, 2)),
            "note": rng.choice(["=1+1", "fine", "-5"], n),
        }
    )
    kinds = dict.fromkeys(originals.columns, "categorical")
    columns = "".join(
        f'[columns.{name}]\nrole = "insensitive"\nkind = "{it}"\n' for name, it in kinds.items()
    )
    for form in ("parquet", "csv", "arrow", "jsonl"):
        text = f'halfmask = 1\n{columns}[output]\nformat = "{form}"\n[synthesis]\nkind = "full"'
        text += "\ncontrol_fraction = 0"
        release = halfmask.synthesize(originals, Policy.from_toml(text), key=bytes(32))
        release.write(tmp_path / form)
        found = checked(tmp_path / form, originals)
        assert found.holds
        claim = next(it for it in found.claims if it.claim.model == "copied-rows")
        assert int(str(claim.found["copied"])) > 40, form


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([2**53 + 1], [2**53]),
        ([0.1 + 0.2], [0.3]),
        ([2**53 + 1], [float(2**53)]),
        ([float(2**53)], [2**53 - 1]),
    ],
)
def test_numbers_beyond_floats_are_compared_exactly(tmp_path, form, low, high):
    rows = pl.DataFrame({"low": low * 3, "high": high * 3})
    for names, breaking in ((["low", "high"], 3), (["high", "low"], 0)):
        found = check_at_most(claim_of("at-most", *names), opened(rows, tmp_path, form))
        assert found.found["rows_breaking"] == breaking


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_sums_of_whole_numbers_are_exact_and_those_of_fractions_are_not(tmp_path, form):
    claim = claim_of("sum-of", "sum", "a", "b")
    whole = pl.DataFrame({"a": [10**15] * 2, "b": [1, 2], "sum": [10**15 + 1] * 2})
    found = check_sum(claim, opened(whole, tmp_path, form))
    assert found.found["rows_breaking"] == 1
    parts = pl.DataFrame({"a": [0.1, 0.1], "b": [0.2, 0.2], "sum": [0.3, 0.31]})
    assert check_sum(claim, opened(parts, tmp_path, form)).found["rows_breaking"] == 1


def claim_of(model: str, *columns: str) -> Claim:
    about: dict[str, Any] = {"columns": list(columns)}
    return Claim(model=model, parameters={}, about=about, basis="counted", evidence={})


def opened(rows: pl.DataFrame, folder: Path, form: str) -> pl.LazyFrame:
    if form == "parquet":
        rows.write_parquet(folder / "rows")
    elif form == "csv":
        rows.write_csv(folder / "rows")
    else:
        rows.write_ndjson(folder / "rows")
    return open_part(folder / "rows", form)


def read(out: Path, form: str) -> pl.DataFrame:
    path = next((out / "data").iterdir())
    readers: dict[str, Any] = {
        "parquet": pl.read_parquet,
        "csv": pl.read_csv,
        "arrow": pl.read_ipc,
        "jsonl": pl.read_ndjson,
    }
    rows: pl.DataFrame = readers[form](path)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("basis", ["stated", "accounted"])  # as earlier versions wrote it
def test_groups_of_a_hybrid_are_only_stated(tmp_path, basis):
    """Any k agrees with the same files: 40 was "accounted" and held, and nothing was counted."""
    text = TEXT.partition("[synthesis]")[0] + '[synthesis]\nkind = "hybrid"\nk = 4'
    out = written(tmp_path, text=text)
    restated(out, lambda it: of(it, "hybrid-groups").update(basis=basis))
    found = halfmask.verify(out)
    assert isinstance(found, CheckedRelease)
    claim = found.claims[-1]
    assert found.holds
    assert (claim.holds, claim.checked, claim.is_stated) == (False, False, True)
    assert claim.sentence == (
        "hybrid-groups with k = 4: stated by the maker of the release; the files can't show it, so "
        "nothing is verified."
    )
    restated(out, lambda it: it["claims"].remove(of(it, "released-columns")))
    assert not halfmask.verify(out).holds
    for changes in ({"smallest": 3}, {"groups": 400}, {"rows": 7}):
        out = written(tmp_path, text=text)
        restated(out, functools.partial(_change_groups, changes))
        broken = halfmask.verify(out)
        assert isinstance(broken, CheckedRelease)
        assert broken.is_broken


def _change_groups(changes: dict[str, int], manifest: dict[str, Any]) -> None:
    of(manifest, "hybrid-groups")["evidence"].update(changes)
