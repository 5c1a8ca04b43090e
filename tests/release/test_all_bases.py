"""One kind from outside with a claim on each basis: counted, accounted and measured."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import stat
from contextlib import nullcontext
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halfmask
from halfmask._errors import ParameterError, ReleaseError, VerificationError
from halfmask.claims import Claim, DataFile, Manifest, read_manifest
from halfmask.release import Release, ReleaseKind, RowFiles, TextBlock, html_page, publish_beside
from halfmask.release.release import StatedPolicy
from halfmask.verifier import CHECKS, CheckedRelease, ClaimCount, add_check

KIND = "toy-noisy-counts"
#: What an attack guessed of eight people, and whether they were in the data: 3 of 4 and 1 of 4.
ANSWERS = [(1, 1), (1, 1), (1, 1), (0, 1), (1, 0), (0, 0), (0, 0), (0, 0)]
COUNTED = Claim(
    model="regions", parameters={"n": 8}, about={}, basis="counted", evidence={"rows": 8}
)
ACCOUNTED = Claim(
    model="epsilon",
    parameters={"epsilon": 0.5},
    about={"unit": "person", "mechanism": "laplace"},
    basis="accounted",
    evidence={"sensitivity": 1.0, "scale": 2.0},
)
MEASURED = Claim(
    model="membership-advantage",
    parameters={"advantage": 0.6},
    about={"attack": "toy"},
    basis="measured",
    evidence={"advantage": 0.5, "answers": 8},
)


def rows_of(path):
    """Read the answers, with code of the verifier's side alone."""
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def count_rows(claim, files):
    rows = len(rows_of(files[0]))
    holds = claim.parameters["n"] <= rows == claim.evidence["rows"]
    return ClaimCount(holds=holds, found={"rows": rows})


def repeat_arithmetic(claim, files):  # noqa: ARG001 # the noise can't be seen in them
    epsilon = claim.evidence["sensitivity"] / claim.evidence["scale"]
    return ClaimCount(holds=epsilon <= claim.parameters["epsilon"], found={"epsilon": epsilon})


def measure_again(claim, files):
    rows = rows_of(files[0])
    rates = [[int(guess) for guess, member in rows if member == which] for which in "10"]
    advantage = sum(rates[0]) / len(rates[0]) - sum(rates[1]) / len(rates[1])
    stated = claim.evidence["advantage"] == advantage and claim.evidence["answers"] == len(rows)
    return ClaimCount(
        holds=stated and advantage <= claim.parameters["advantage"],
        found={"advantage": advantage},
    )


@pytest.fixture(autouse=True)
def _checks():
    """The toy's checks, known for one test."""
    before = dict(CHECKS)
    add_check(KIND, "regions", count_rows, basis="counted")
    add_check(KIND, "epsilon", repeat_arithmetic, basis="accounted")
    add_check(KIND, "membership-advantage", measure_again, basis="measured")
    yield
    CHECKS.clear()
    CHECKS.update(before)


def answers():
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("guess", "member"), *ANSWERS])
    return out.getvalue().encode()


def told(raw, name, **changes):
    """Return what a manifest says of a file."""
    digest = hashlib.sha256(raw).hexdigest()
    said = DataFile(name=name, format="csv", sha256=digest, n_bytes=len(raw), n_rows=8)
    return replace(said, **changes)


def release(*claims, **changes):
    def write(folder):
        (folder / "data" / "answers.csv").write_bytes(answers())
        return [told(answers(), "data/answers.csv", **changes)]

    return released(claims, write)


def released(claims, write):
    made: ReleaseKind[None] = ReleaseKind(
        name=KIND,
        files=lambda _release, _job: nullcontext(RowFiles(write=write)),
        weaknesses=lambda _: [],
    )
    return Release(
        kind=made, policy=StatedPolicy(KIND, ""), claims=claims, rows={"out": 8}, facts=None
    )


@pytest.mark.parametrize(
    "read",
    [
        lambda given: [given["n"], given["m"]],
        lambda given: [given.get("n"), given.get("m")],
        lambda given: [value for _, value in given.items()],
        lambda given: list(given.values()),
        lambda given: list(dict(given).values()),
        lambda given: list({**given}.values()),
        lambda given: [8, 2] if given == {"n": 8, "m": 2} else [],
    ],
)
def test_a_check_may_read_parameters_in_any_way(tmp_path, monkeypatch, read):
    def check(claim, _):
        return ClaimCount(holds=read(claim.parameters) == [8, 2], found={})

    monkeypatch.setitem(CHECKS, (KIND, "any"), ("counted", check))
    release(replace(COUNTED, model="any", parameters={"n": 8, "m": 2})).write(tmp_path / "out")

    assert halfmask.verify(tmp_path / "out").holds


def test_a_parameter_that_the_check_never_reads_is_not_borne_out(tmp_path):
    with pytest.raises(VerificationError, match="reads 1 of its parameters nowhere"):
        release(replace(COUNTED, parameters={"n": 8, "k": 40})).write(tmp_path / "out")

    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda claim, _: claim.parameters["n"] == 8, "didn't return a ClaimCount"),
        (lambda claim, _: claim.parameters["CANARY"], r"its parameters \(KeyError\)"),
    ],
)
def test_a_check_that_fails_says_how(tmp_path, check, said):
    add_check(KIND, "any", check, basis="counted")

    with pytest.raises(VerificationError, match=said) as refused:
        release(replace(COUNTED, model="any")).write(tmp_path / "out")

    assert "CANARY" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_each_basis_is_borne_out_by_a_check_of_its_own(tmp_path):
    release(COUNTED, ACCOUNTED, MEASURED).write(tmp_path / "out")

    found = halfmask.verify(tmp_path / "out")
    assert isinstance(found, CheckedRelease)
    assert found.holds
    assert [each.found for each in found.claims] == [
        {"rows": 8},
        {"epsilon": 0.5},
        {"advantage": 0.5},
    ]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for words in (
        "counted in the files",
        "random draws themselves were not seen",
        "measured by an attack",
    ):
        assert page.count(words) == 2  # of the claims, and of the summary


@pytest.mark.parametrize(
    "wrong",
    [
        replace(COUNTED, evidence={"rows": 9}),
        replace(COUNTED, parameters={"n": 9}),
        replace(ACCOUNTED, parameters={"epsilon": 0.4}),  # 1 / 2 is more
        replace(ACCOUNTED, evidence={"sensitivity": 2.0, "scale": 2.0}),
        replace(ACCOUNTED, evidence={"scale": 2.0}),  # without it nothing can be repeated
        replace(MEASURED, evidence={"advantage": 0.4, "answers": 8}),
        replace(MEASURED, evidence={"advantage": 0.5, "answers": 800}),
        replace(MEASURED, parameters={"advantage": 0.4}),
        *(replace(ACCOUNTED, basis=basis) for basis in ("counted", "measured")),
        *(replace(MEASURED, basis=basis) for basis in ("counted", "accounted")),
    ],
)
def test_a_wrong_figure_or_basis_leaves_no_release(tmp_path, wrong):
    with pytest.raises(VerificationError, match="bear out"):
        release(COUNTED, wrong).write(tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("changes", [{"n_rows": 9}, {"format": "jsonl"}, {"format": "parquet"}])
def test_files_have_the_stated_format_and_rows(tmp_path, changes):
    with pytest.raises(VerificationError, match="with the stated rows"):
        release(COUNTED, **changes).write(tmp_path / "out")


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl", "csv"])
@pytest.mark.parametrize("rows", [3, 4])
def test_rows_are_counted_in_every_format(tmp_path, monkeypatch, form, rows):
    """Three are in the file; a cell with a line break is no row."""
    table = pa.table({"a": ["x", "y\nz", ""]})
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    texts = {"jsonl": lines, "csv": 'a\nx\n"y""\n""z"\n""'}
    monkeypatch.setitem(
        CHECKS,
        (KIND, "any"),
        ("counted", lambda claim, _: ClaimCount(holds=claim.parameters["n"] > 0, found={})),
    )

    def write(folder):
        path = folder / "data" / "table"
        if form == "parquet":
            pq.write_table(table, path)
        elif form == "arrow":
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
        else:
            path.write_text(texts[form])
        return [told(path.read_bytes(), "data/table", format=form, n_rows=rows)]

    made = released((replace(COUNTED, model="any"),), write)
    if rows == 4:
        with pytest.raises(VerificationError, match=f"isn't {form} with the stated rows"):
            made.write(tmp_path / "out")
    else:
        made.write(tmp_path / "out")
        assert halfmask.verify(tmp_path / "out").holds


def test_a_quote_that_is_never_closed_ends_no_row(tmp_path):
    raw = b'a\n"x\ny\nz\n'

    def write(folder):
        (folder / "data" / "table").write_bytes(raw)
        return [told(raw, "data/table", n_rows=3)]

    with pytest.raises(VerificationError, match="isn't csv with the stated rows"):
        released((ACCOUNTED,), write).write(tmp_path / "out")


def test_what_is_only_stated_is_marked_and_holds_nothing(tmp_path):
    stated = replace(COUNTED, model="groups", basis="stated", evidence={"smallest": 5})
    release(COUNTED).write(tmp_path / "counted")
    release(COUNTED, stated).write(tmp_path / "out")
    pages = [(tmp_path / it / "report.html").read_text() for it in ("counted", "out")]
    assert ["is only stated wasn" in page for page in pages] == [False, True]

    found = halfmask.verify(tmp_path / "out")
    assert isinstance(found, CheckedRelease)
    assert found.holds
    assert [(each.holds, each.checked) for each in found.claims] == [(True, True), (False, False)]
    assert found.claims[1].sentence.startswith(
        "groups with n = 8: stated by the maker of the release"
    )
    found.raise_if_broken()
    with pytest.raises(VerificationError, match="nothing to verify"):
        release(stated).write(tmp_path / "alone")
    with pytest.raises(VerificationError, match="is of what is counted"):
        release(replace(COUNTED, basis="stated")).write(tmp_path / "hidden")
    with pytest.raises(ParameterError, match="basis"):
        add_check(KIND, "groups", count_rows, basis="stated")


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_stream_publishes_beside_its_output(tmp_path, is_folder):
    """As a file or a folder, which it wrote itself; the report stays with the owner."""
    out = tmp_path / "März 14.csv"
    name = "part-1.csv" if is_folder else out.name
    if is_folder:
        out.mkdir()
    path = out / name if is_folder else out
    path.write_bytes(answers())
    manifest = Manifest(
        kind=KIND,
        created="2026-11-21T09:00:00Z",
        software={"toy": "1"},
        policy_sha256="0" * 64,
        files=(told(answers(), name),),
        claims=(COUNTED, ACCOUNTED),
    )
    page = html_page("Toy", [TextBlock(title="About", sentences=["<stays>"])])

    made = publish_beside(manifest, out, page=page)

    assert read_manifest(out) == read_manifest(made.manifest_path) == manifest
    assert halfmask.verify(out).holds
    assert halfmask.verify(made.manifest_path).holds
    assert stat.S_IMODE(made.report_path.stat().st_mode) == 0o600
    assert "&lt;stays&gt;" in made.report_path.read_text(encoding="utf-8")
    made.report_path.unlink()
    assert halfmask.verify(out).holds
    if is_folder:
        (out / "another").touch()
        assert not halfmask.verify(out).holds
        (out / "another").unlink()
    path.write_bytes(answers() + b"1,1\n")
    assert not halfmask.verify(out).holds


def test_a_page_steers_no_reader():
    """No script, nothing from elsewhere, no letter that turns the text around."""
    page = html_page("a\u202eb", [TextBlock(title="\0", sentences=['<script src="x">'])])

    assert "default-src 'none'" in page
    assert not {"\u202e", "\0"} & set(page)
    for word in ("<script", "http://", "https://", "src="):
        assert word not in page.replace("&lt;script src=", "")


def test_what_no_verifier_would_read_is_not_published(tmp_path):
    """An output that isn't there, and names that aren't those of plain files."""
    manifest = Manifest(
        kind=KIND,
        created="2026-11-21T09:00:00Z",
        software={},
        policy_sha256="0" * 64,
        files=(told(answers(), "../out.csv"),),
        claims=(COUNTED,),
    )
    with pytest.raises(ReleaseError, match="isn't there"):
        publish_beside(manifest, tmp_path / "nowhere", page="")
    (tmp_path / "out.csv").write_bytes(answers())

    with pytest.raises(ReleaseError, match="plain name"):
        publish_beside(manifest, tmp_path / "out.csv", page="")
    assert [it.name for it in tmp_path.iterdir()] == ["out.csv"]
