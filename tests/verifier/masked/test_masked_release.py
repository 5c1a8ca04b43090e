"""A release of masks alone holds as it was written, and not after a change of any kind."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import halfmask
from halfmask._errors import ParameterError, VerificationError
from halfmask.claims import MaskedDetails, read_manifest, write_manifest
from halfmask.verifier import CheckedRelease, ClaimCount, add_check
from verifier.masked.masked_releases import (  # type: ignore[import-not-found] # beside
    counted,
    release,
    stated,
)

FRAME = pl.DataFrame({"pay": [10, 20, 20, None], "town": ["a", "b", "b", "c"]})
ROUND = stated("round", ["pay"], base=10)
MULTIPLES = counted("multiples", ["pay"], {"base": 10})


def changed(manifest, **changes):
    """The manifest with other details."""
    known = MaskedDetails.of(manifest)
    counts = {name: changes.pop(name) for name in ("n_in", "n_out") if name in changes}
    rows = replace(known.rows, **counts)
    return replace(manifest, details=replace(known, rows=rows, **changes).to_details())


@pytest.mark.parametrize("fmt", ["parquet", "arrow", "csv", "jsonl"])
def test_a_release_holds_in_every_format(tmp_path, fmt):
    """Two parts, one technique; what is read back is what was stated."""
    made = release(tmp_path, FRAME, [MULTIPLES], [ROUND], fmt=fmt, parts=2, n_in=8)

    found = halfmask.verify(tmp_path)

    assert isinstance(found, CheckedRelease)
    assert found.holds, found.to_dict()
    assert [each.claim.model for each in found.claims] == ["released-columns", "multiples"]
    assert read_manifest(tmp_path) == made
    assert MaskedDetails.of(made).sampling_fraction == 0.5
    assert MaskedDetails.of(made).masks_of("pay") == (ROUND,)


@pytest.mark.parametrize("model", ["released-columns", "multiples"])
def test_a_technique_without_its_claim_is_noticed(tmp_path, model):
    made = release(tmp_path, FRAME, [MULTIPLES], [ROUND])
    left = tuple(each for each in made.claims if each.model != model)
    write_manifest(replace(made, claims=left), tmp_path)

    assert len(halfmask.verify(tmp_path).problems) == 1


def test_a_column_that_the_details_leave_out_is_noticed(tmp_path):
    """The claim lists it; the details, which say what an identifier is, don't."""
    made = release(tmp_path, FRAME, [MULTIPLES], [ROUND])
    known = MaskedDetails.of(made)
    write_manifest(changed(made, columns=known.columns[:1]), tmp_path)

    found = halfmask.verify(tmp_path)

    assert not found.holds
    assert any("columns that the manifest states" in each for each in found.problems)


@pytest.mark.parametrize(
    "mask", [stated("redact", ["town"], text=""), stated("round", ["pay"], base=[10])]
)
def test_no_parameter_makes_a_claim_superfluous(tmp_path, mask):
    """An empty text, or one that can't be: the claim is due."""
    release(tmp_path, FRAME, [], [mask])

    assert len(halfmask.verify(tmp_path).problems) == 1


def test_a_claim_of_other_parameters_is_not_the_technique_s(tmp_path):
    """The cells are multiples of 5, too; the technique states 10."""
    release(tmp_path, FRAME, [counted("multiples", ["pay"], {"base": 5})], [ROUND])

    found = halfmask.verify(tmp_path)

    assert all(each.holds for each in found.claims)
    assert not found.holds


@pytest.mark.parametrize("extra", [{"k": 40}, {"k": "5"}, {"ROWS": 2}])
def test_a_parameter_that_no_check_reads_is_not_counted(tmp_path, extra):
    """Written into the manifest, k = 40 was repeated as counted in the files."""
    claim = counted("multiples", ["pay"], {**MULTIPLES.parameters, **extra})
    release(tmp_path, FRAME, [claim], [ROUND])

    (found,) = (each for each in halfmask.verify(tmp_path).claims if each.model == "multiples")

    assert not found.holds
    assert "reads 1 of its parameters nowhere" in found.sentence


@pytest.mark.parametrize(
    "change",
    [
        {"n_out": 3},
        {"n_in": 3},
        {"columns": ()},
        {"masks": [ROUND, stated("noise", ["salary"])]},
    ],
)
def test_a_manifest_that_contradicts_itself_does_not_hold(tmp_path, change):
    made = release(tmp_path, FRAME, [MULTIPLES], [ROUND])
    write_manifest(changed(made, **change), tmp_path)

    assert not halfmask.verify(tmp_path).holds


def test_other_types_than_stated_do_not_hold(tmp_path):
    made = release(tmp_path, FRAME)
    columns = [replace(each, dtype="String") for each in MaskedDetails.of(made).columns]
    write_manifest(changed(made, columns=columns), tmp_path)

    assert "Data file 1 doesn't have the types" in halfmask.verify(tmp_path).problems[0]


def test_an_identifier_needs_a_technique(tmp_path):
    """Unchanged it may not be released; with tokens it may."""
    tokens = pl.DataFrame({"name": ["0123456789abcdef"] * 2})
    roles = {"name": "identifier"}
    release(tmp_path / "raw", tokens, roles=roles)
    claim = counted("token-format", ["name"], {"digits": 16})
    mask = stated("token", ["name"], digits=16)
    release(tmp_path / "tokens", tokens, [claim], [mask], roles=roles)

    assert not halfmask.verify(tmp_path / "raw").holds
    assert halfmask.verify(tmp_path / "tokens").holds


def test_a_changed_file_and_another_file_do_not_hold(tmp_path):
    release(tmp_path / "a", FRAME)
    FRAME.reverse().write_parquet(tmp_path / "a" / "data" / "part-0.parquet")
    release(tmp_path / "b", FRAME)
    (tmp_path / "b" / "data" / "more.csv").write_text("x")

    assert not halfmask.verify(tmp_path / "a").holds
    assert not halfmask.verify(tmp_path / "b").holds


def test_an_empty_table_does_not_hold(tmp_path):
    release(tmp_path, FRAME.clear())

    assert not halfmask.verify(tmp_path).holds


@pytest.mark.parametrize(
    "claim",
    [
        counted("something-new", ["pay"], {}),
        replace(MULTIPLES, basis="measured"),
        counted("multiples", ["salary"], {"base": 10}),
        counted("multiples", [], {"base": 10}),
        counted("multiples", ["pay", "pay"], {"base": 10}),
        counted("multiples", ["town"], {"base": 10}),
        counted("multiples", ["pay"], {}),
        counted("multiples", ["pay"], {"base": "x"}),
        counted("multiples", ["pay"], {"base": 0}),
        counted("bounded", ["pay"], {}),
        counted("token-format", ["town"], {"digits": 0}),
        counted("groups-of-k", ["town"], {"k": 1}, smallest=1),
        counted("groups-of-k", ["town"], {"k": 2}),
    ],
)
def test_claims_that_can_not_be_counted_do_not_hold(tmp_path, claim):
    """Without a value in the sentence."""
    frame = FRAME.with_columns(pl.col("town").replace("a", "canary"))
    release(tmp_path, frame, [claim])

    found = halfmask.verify(tmp_path)

    assert [each.holds for each in found.claims] == [True, False]
    assert "canary" not in str(found.to_dict())


def test_categories_are_not_stated(tmp_path):
    """They are values, and the type of a column is in the manifest."""
    frame = FRAME.with_columns(pl.col("town").cast(pl.Enum(["a", "b", "c", "canary"])))
    release(tmp_path, frame)

    assert halfmask.verify(tmp_path).holds
    assert "canary" not in (tmp_path / "manifest.json").read_text(encoding="utf-8")


def test_no_check_is_added_from_outside():
    with pytest.raises(ParameterError, match="has a check already"):
        add_check(
            "masked",
            "multiples",
            lambda _claim, _files: ClaimCount(holds=True, found={}),
            basis="counted",
        )


def test_other_kinds_and_other_details_are_refused(tmp_path):
    made = release(tmp_path, FRAME)
    with pytest.raises(VerificationError, match="isn't one of masks"):
        MaskedDetails.of(replace(made, kind="counts"))
    write_manifest(replace(made, details={}), tmp_path)
    with pytest.raises(VerificationError, match="lacks the key"):
        halfmask.verify(tmp_path)
