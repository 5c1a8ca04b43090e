"""Test what is known before tables are published: bounds, given states, earlier releases."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask import GuaranteeNotMetError, PolicyError
from halfmask.claims.crosstab_manifest import (
    StatedDimension,
    StatedSum,
    StatedTable,
    TablesDetails,
)
from halfmask.claims.manifest import DataFile, Manifest, write_manifest
from halfmask.crosstabs import TablesPolicy
from halfmask.crosstabs._earlier import apply_earlier
from halfmask.crosstabs._opening import open_cells
from halfmask.data import write_table

ROWS = pl.DataFrame(
    {
        "region": ["n"] * 9 + ["s"] * 8 + ["w"] * 9,
        "sector": ["=a", "b", "NA"] * 8 + ["=a", "b"],
        "v": list(range(1, 27)),
    }
)
HEAD = 'halfmask-tables = 1\n[[tables]]\nname = "t"\ndimensions = ["region", "sector"]\n'


def policy_of(more="", head=HEAD):
    return TablesPolicy.from_toml(head + more)


def known_of(rows, policy):
    cells = open_cells(rows, policy)
    return cells, apply_earlier(cells, policy)


def release(cells, folder, *, method="suppression"):
    """Write a release of one table, whose counts below 3 are hidden; return its long table."""
    (table,), dimensions = cells.tables, cells.dimensions
    chosen = cells.tables[table]
    names = [each.name for each in dimensions]
    hidden = cells.value[chosen] < 3
    frame = cells.labels(chosen, names).with_columns(
        value=pl.Series(np.where(hidden, np.nan, cells.value[chosen]), nan_to_null=True),
        state=pl.Series(np.where(hidden, "hidden", "published")),
    )
    (folder / "data").mkdir(parents=True)
    write_table(frame, folder / "data" / "t.csv", guard_formulas=True)
    raw = (folder / "data" / "t.csv").read_bytes()
    details = TablesDetails(
        method={"method": method},
        dimensions=tuple(
            StatedDimension(
                name=each.name,
                total=each.total,
                codes=each.codes,
                sums=tuple(StatedSum(total=one.total, parts=one.parts) for one in each.sums),
            )
            for each in dimensions
        ),
        tables=(
            StatedTable(
                name=table,
                file="data/t.csv",
                crossed=None,
                dimensions=tuple(names),
                measure=None,
                negative=False,
                derived=(),
            ),
        ),
        zeros="published",
    )
    file = DataFile(
        name="data/t.csv",
        format="csv",
        sha256=hashlib.sha256(raw).hexdigest(),
        n_bytes=len(raw),
        n_rows=frame.height,
    )
    manifest = Manifest(
        kind="tables",
        created="2026-11-28T09:00:00Z",
        software={"halfmask": "0"},
        policy_sha256="0" * 64,
        files=(file,),
        claims=(),
        details=details.to_details(),
    )
    write_manifest(manifest, folder)
    return frame


def after(folder, dimensions):
    """Return the policy of one table after an earlier release."""
    return TablesPolicy.from_toml(
        f'halfmask-tables = 1\nearlier = ["{folder}"]\n'
        f'[[tables]]\nname = "u"\ndimensions = {dimensions!r}\n'
    )


def at(cells, **codes):
    wanted = [each.position[codes.get(each.name, each.total)] for each in cells.dimensions]
    return int(np.flatnonzero((cells.codes == wanted).all(axis=1))[0])


def test_values_are_above_zero_unless_the_table_has_negative_ones():
    _, (known,) = known_of(ROWS, policy_of())
    assert (known.lower == 0).all()
    assert (known.upper == np.inf).all()
    assert not known.must_stay.any()
    _, (known,) = known_of(ROWS, policy_of('value = "v"\nnegative = true\n'))
    assert (known.lower == -np.inf).all()


def test_cells_are_named_by_their_codes_and_totals():
    more = (
        '[cells]\nmargin = 10.0\npublish = [{ region = "n" }]\n'
        'hide = [{ region = "s", sector = "NA" }]\n'
    )
    (cells,), (known,) = known_of(ROWS, policy_of(more))
    assert np.flatnonzero(known.must_stay).tolist() == [at(cells, region="n")]
    assert np.flatnonzero(known.must_hide).tolist() == [at(cells, region="s", sector="NA")]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('publish = [{ regoin = "n" }]', "no dimension 'regoin'"),
        ('hide = [{ region = "secret" }]', "a code that dimension 'region' lacks"),
        ('hide = [{ region = "n" }]\npublish = [{ region = "n" }]', "1 cells under publish"),
    ],
)
def test_cells_that_are_not_there_or_named_twice_are_refused(more, words):
    with pytest.raises(PolicyError, match=words) as caught:
        known_of(ROWS, policy_of("[cells]\nmargin = 10.0\n" + more))
    assert "secret" not in str(caught.value)


def test_a_cell_that_nobody_is_in_can_not_be_hidden():
    rows = ROWS.filter((pl.col("region") != "s") | (pl.col("sector") != "NA"))
    more = '[cells]\nmargin = 10.0\nhide = [{ region = "s", sector = "NA" }]\n'
    with pytest.raises(PolicyError, match="nobody is in it"):
        known_of(rows, policy_of(more))
    _, (known,) = known_of(
        rows, policy_of(more, head=HEAD.replace("[[", "zeros = 'suppressible'\n[[", 1))
    )
    assert known.must_hide.sum() == 1


def test_what_was_published_before_must_stay_and_what_was_hidden_stays_hidden(tmp_path):
    (before,), _ = known_of(ROWS, policy_of())
    frame = release(before, tmp_path / "first")
    published = frame.filter(pl.col("state") == "published")
    hidden = frame.height - published.height
    assert ",'=a," in (tmp_path / "first" / "data" / "t.csv").read_text()
    policy = after(tmp_path / "first", ["sector", "region"])
    (cells,), (known,) = known_of(ROWS, policy)
    assert hidden > 0
    assert known.must_hide.sum() == hidden
    assert known.must_stay.sum() == cells.n - hidden
    assert known.unlinked == 0
    (cells,), (known,) = known_of(pl.concat([ROWS, ROWS.head(1)]), policy)
    changed = published.filter(
        pl.col("region").is_in(["n", "Total"]) & pl.col("sector").is_in(["=a", "Total"])
    )
    assert known.unlinked == changed.height == 4
    assert known.must_stay.sum() == published.height - changed.height


def test_a_dimension_that_is_gone_links_by_its_total(tmp_path):
    (before,), _ = known_of(ROWS, policy_of())
    frame = release(before, tmp_path / "first").filter(pl.col("region") == "Total")
    _, (known,) = known_of(ROWS, after(tmp_path / "first", ["sector"]))
    assert known.must_hide.sum() == (frame["state"] == "hidden").sum()
    assert known.must_stay.sum() == (frame["state"] == "published").sum()


def test_an_earlier_table_must_be_part_of_one_that_has_further_cells(tmp_path):
    (before,), _ = known_of(ROWS, policy_of())
    frame = release(before, tmp_path / "first")
    rows = ROWS.with_columns(size=pl.Series(["big", "small"] * 13))
    for dimensions in (["size"], ["region", "size"]):
        with pytest.raises(PolicyError, match="covers the table 't'") as caught:
            known_of(rows, after(tmp_path / "first", dimensions))
        assert "[[tables]]" in str(caught.value.hint)
    with pytest.raises(PolicyError, match="covers the table 't'"):
        known_of(ROWS, policy_of('value = "v"\n', f'earlier = ["{tmp_path}/first"]\n{HEAD}'))
    (cells,), (known,) = known_of(rows, after(tmp_path / "first", ["region", "size", "sector"]))
    assert cells.n > frame.height
    assert known.must_hide.sum() == (frame["state"] == "hidden").sum()
    assert known.must_stay.sum() == (frame["state"] == "published").sum()


def test_codes_and_hidden_cells_that_are_gone_are_refused(tmp_path):
    (before,), _ = known_of(ROWS, policy_of())
    frame = release(before, tmp_path / "first")
    policy = after(tmp_path / "first", ["region", "sector"])
    with pytest.raises(PolicyError, match="'region' lacks 1 codes") as caught:
        known_of(ROWS.filter(pl.col("region") != "s"), policy)
    assert "'s'" not in str(caught.value)
    region, sector = frame.filter(pl.col("state") == "hidden").row(0)[:2]
    rows = ROWS.filter((pl.col("region") != region) | (pl.col("sector") != sector))
    with pytest.raises(PolicyError, match="Nobody is in 1 cells"):
        known_of(rows, policy)
    policy = policy.model_copy(update={"zeros": "suppressible"})
    (cells,), (known,) = known_of(rows, policy)
    assert known.must_hide[at(cells, region=region, sector=sector)]


FIRMS = pl.DataFrame(
    {
        "region": ["north"] * 8 + ["south"] * 8 + ["west"] * 8,
        "sector": (["farms"] * 2 + ["mines"] * 3 + ["shops"] * 3) * 3,
        "size": ["big", "small"] * 12,
        "turnover": [float(20 + 7 * at % 31) for at in range(24)],
    }
)
CROSSED = """[[tables]]
name = "crossed"
dimensions = ["region", "sector"]
value = "turnover"
"""
BY_SIZE = CROSSED.replace("crossed", "by-size").replace("sector", "size")


def protected(tables, earlier=(), *, least=3, more=""):
    """Return a release of tables whose cells of fewer firms than the least are sensitive."""
    return halfmask.protect(
        FIRMS,
        TablesPolicy.from_toml(
            f"halfmask-tables = 1\nearlier = {list(map(str, earlier))!r}\n{more}\n{tables}"
            f'[[rules]]\nrule = "minimum-frequency"\nn = {least}\nmargin = 10.0\n'
        ),
    )


def hidden_in(folder):
    """Return the codes of hidden cells of the crossed table."""
    frame = pl.read_csv(folder / "data" / "crossed.csv").filter(pl.col("state") == "hidden")
    return set(frame.select("region", "sector").rows())


@pytest.mark.parametrize("least", [3, 2])
def test_a_later_release_keeps_what_was_hidden_whatever_its_rules(tmp_path, least):
    first, second = tmp_path / "first", tmp_path / "second"
    protected(CROSSED).write(first)
    assert ("north", "farms") in hidden_in(first)
    with pytest.raises(PolicyError, match="covers the table 'crossed'"):
        protected(BY_SIZE, [first], least=least)
    protected(CROSSED + BY_SIZE, [first], least=least).write(second)
    assert hidden_in(second) == hidden_in(first)
    assert halfmask.verify(second, originals=FIRMS, earlier=[first]).holds


def test_what_was_hidden_must_not_be_told_by_a_later_table(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    named = '[cells]\nmargin = 10.0\nhide = [{ region = "south" }]\n'
    protected(CROSSED, least=2, more=named).write(first)
    assert ("south", "Total") in hidden_in(first)
    with pytest.raises(GuaranteeNotMetError, match="could be computed") as caught:
        protected(CROSSED + BY_SIZE, [first], least=2)
    assert "margin" in str(caught.value.hint)
    protected(CROSSED + BY_SIZE, [first], least=2, more="[cells]\nmargin = 10.0\n").write(second)
    assert hidden_in(second) == hidden_in(first)
    assert halfmask.verify(second, originals=FIRMS, earlier=[first]).holds


def test_releases_of_other_values_can_not_be_linked(tmp_path):
    (before,), _ = known_of(ROWS, policy_of())
    release(before, tmp_path / "first", method="rounding")
    with pytest.raises(PolicyError, match="aren't the true ones"):
        known_of(ROWS, after(tmp_path / "first", ["sector"]))
