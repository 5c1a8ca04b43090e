"""Tables that a book knows: what it hid stays hidden, or the next release is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import halfmask
from halfmask import GuaranteeNotMetError, PolicyError, ReleaseError
from halfmask.book import ReleaseBook
from halfmask.crosstabs import TablesPolicy
from halfmask.vault import KeyFile, Vault

SIZES = {
    ("north", "farms"): 2,
    ("north", "mines"): 6,
    ("north", "shops"): 7,
    ("south", "farms"): 5,
    ("south", "mines"): 4,
    ("south", "shops"): 9,
    ("west", "farms"): 8,
    ("west", "mines"): 7,
    ("west", "shops"): 6,
}
ROWS = pl.DataFrame(
    [
        {"region": region, "sector": sector, "size": "small" if at % 3 else "big", "v": 5.0 + at}
        for (region, sector), n in SIZES.items()
        for at in range(n)
    ]
)
CROSSED = '[[tables]]\nname = "crossed"\ndimensions = ["region", "sector"]\n'
FEW = '[[rules]]\nrule = "minimum-frequency"\nn = {least}\n'


@pytest.fixture
def vault(tmp_path):
    made = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    ReleaseBook.create(made, dataset="firms")
    return made


def policy(body, *, receiver="a", join="all", head=""):
    book = f'[book]\ndataset = "firms"\nreceiver = "{receiver}"\njoin = "{join}"\n'
    return TablesPolicy.from_toml(f"halfmask-tables = 1\n{head}\n{body}{book}")


def made(vault, body, rows=ROWS, **more):
    return halfmask.protect(rows, policy(body, **more), vault=vault)


def cells_in(folder, table="crossed"):
    """Return each cell by its codes that aren't totals: its value, None if it is hidden."""
    frame = pl.read_csv(folder / "data" / f"{table}.csv")
    codes = [name for name in frame.columns if name not in ("value", "state")]
    return {
        frozenset(code for code in map(row.get, codes) if code != "Total"): row["value"]
        for row in frame.iter_rows(named=True)
    }


def bounds_of(tables, aim, inner=tuple(SIZES)):
    """Return what tables tell of a sum of inner cells, by a linear program over these."""
    published = [
        ([float(codes <= {*own}) for own in inner], value)
        for cells in tables
        for codes, value in cells.items()
        if value is not None
    ]
    matrix, values = zip(*published, strict=True)
    weights = np.array([float({*aim} <= {*own}) for own in inner])
    return [sign * linprog(sign * weights, A_eq=matrix, b_eq=values).fun for sign in (1, -1)]


def test_two_tables_that_tell_a_count_together_are_protected_together(vault, tmp_path):
    first, second, alone = (tmp_path / name for name in ("first", "second", "alone"))
    made(vault, CROSSED + FEW.format(least=3)).write(first)
    hidden = {codes for codes, value in cells_in(first).items() if value is None}
    assert frozenset({"north", "farms"}) in hidden
    # With a weaker rule the same table tells what the first one hid.
    unbooked = TablesPolicy.from_toml(f"halfmask-tables = 1\n{CROSSED}{FEW.format(least=2)}")
    halfmask.protect(ROWS, unbooked).write(alone)
    bounds = bounds_of([cells_in(first), cells_in(alone)], ("north", "farms"))
    assert bounds == pytest.approx([2, 2])
    release = made(vault, CROSSED + FEW.format(least=2)).write(second)
    assert {codes for codes, value in cells_in(second).items() if value is None} >= hidden
    low, high = bounds_of([cells_in(first), cells_in(second)], ("north", "farms"))
    assert high - low > 1
    assert any(each.model == "earlier-tables" for each in release.claims)
    assert halfmask.verify(second, originals=ROWS, earlier=[first]).holds
    assert [each.state for each in ReleaseBook.open(vault, dataset="firms").releases()] == [
        "left",
        "left",
    ]


def test_margins_of_what_was_hidden_may_be_published_again(vault, tmp_path):
    made(vault, CROSSED + FEW.format(least=3)).write(tmp_path / "first")
    by_size = CROSSED.replace("crossed", "by-size").replace("sector", "size")
    made(vault, by_size + FEW.format(least=2)).write(tmp_path / "second")
    assert None not in cells_in(tmp_path / "second", "by-size").values()


@pytest.mark.slow
def test_a_table_of_a_hidden_margin_is_refused_unless_the_first_is_part_of_it(vault, tmp_path):
    hides = '[cells]\nmargin = 10.0\nhide = [{ region = "south" }]\n'
    made(vault, CROSSED + FEW.format(least=3) + hides).write(tmp_path / "first")
    by_size = CROSSED.replace("crossed", "by-size").replace("sector", "size")
    with pytest.raises(PolicyError, match="covers the table 'crossed'"):
        made(vault, by_size + FEW.format(least=2))
    both = CROSSED + by_size + FEW.format(least=3) + "[cells]\nmargin = 10.0\n"
    made(vault, both).write(tmp_path / "second")
    assert cells_in(tmp_path / "second")[frozenset({"south"})] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "protection",
    [
        'method = "rounding"\nbase = 5.0\nway = "conventional"\n',
        'method = "small-counts"\nbase = 3\n',
    ],
)
def test_what_was_hidden_is_not_published_with_noise(vault, tmp_path, protection):
    made(vault, CROSSED + FEW.format(least=3)).write(tmp_path / "first")
    with pytest.raises(GuaranteeNotMetError, match="in the book hid"):
        made(vault, f"{CROSSED}[protection]\n{protection}")
    by_region = CROSSED.replace(', "sector"', "")
    made(vault, f"{by_region}[protection]\n{protection}").write(tmp_path / "second")


def test_rounded_values_bound_what_is_hidden_later(vault, tmp_path):
    rounded = '[protection]\nmethod = "rounding"\nbase = 2.0\nway = "conventional"\n'
    made(vault, CROSSED + rounded).write(tmp_path / "first")
    # A rounded 2 says 1 to 3 at most: that it is below 4 can't be hidden any more, below 3 can.
    with pytest.raises(GuaranteeNotMetError, match="can't be protected"):
        made(vault, CROSSED + FEW.format(least=4))
    made(vault, CROSSED + FEW.format(least=3)).write(tmp_path / "second")


@pytest.mark.slow
def test_margins_in_several_tables_are_compared_cell_by_cell(vault, tmp_path):
    made(vault, CROSSED + FEW.format(least=3)).write(tmp_path / "first")
    other = CROSSED.replace("crossed", "sectors").replace('"region"', '"size"')
    both = CROSSED.replace("crossed", "regions").replace("sector", "size") + other
    made(vault, both + FEW.format(least=2)).write(tmp_path / "second")
    # A hidden sum of a cell that counts don't have says nothing of them.
    sums = f'{CROSSED}value = "v"\n' + FEW.format(least=3).replace("n = 3", "n = 3\nmargin = 10.0")
    made(vault, sums).write(tmp_path / "third")
    regions = CROSSED.replace("crossed", "regions").replace(', "sector"', "")
    made(vault, sums.replace(CROSSED, regions + CROSSED)).write(tmp_path / "fourth")


def test_other_codes_and_totals_of_the_same_rows_are_seen(vault, tmp_path):
    made(vault, CROSSED + FEW.format(least=3)).write(tmp_path / "first")
    split = ROWS.with_columns(
        region=pl.when(pl.col("region") == "west")
        .then("west " + pl.col("size"))
        .otherwise(pl.col("region"))
    )
    with pytest.raises(PolicyError, match="lacks 1 codes"):
        made(vault, CROSSED + FEW.format(least=2), split)
    renamed = '[dimensions.region]\ntotal = "All"\n[dimensions.sector]\ntotal = "All"\n'
    made(vault, renamed + CROSSED + FEW.format(least=2)).write(tmp_path / "second")
    hidden = [codes for codes, value in cells_in(tmp_path / "first").items() if value is None]
    now = {codes - {"All"}: value for codes, value in cells_in(tmp_path / "second").items()}
    assert hidden
    assert all(now[codes] is None for codes in hidden)


@pytest.mark.slow
def test_another_receiver_is_compared_only_if_all_can_be_joined(vault, tmp_path):
    made(vault, CROSSED + FEW.format(least=3)).write(tmp_path / "first")
    weaker = CROSSED + FEW.format(least=2)
    made(vault, weaker, receiver="b", join="receiver").write(tmp_path / "b")
    assert None not in cells_in(tmp_path / "b").values()
    made(vault, weaker, receiver="c", head="zeros = 'published'").write(tmp_path / "c")


def test_tables_are_made_again_if_others_were_booked_since(vault, tmp_path):
    early = made(vault, CROSSED + FEW.format(least=2))
    later = made(vault, CROSSED + FEW.format(least=3))
    later.write(tmp_path / "later")
    with pytest.raises(ReleaseError, match="without those that the book has now"):
        early.write(tmp_path / "early")
    assert not (tmp_path / "early").exists()


@pytest.mark.slow
def test_what_was_hidden_stays_hidden_in_next_months_table(vault, tmp_path):
    made(vault, CROSSED + FEW.format(least=3)).write(tmp_path / "first")
    partners = {codes for codes, value in cells_in(tmp_path / "first").items() if value is None}
    gone = ROWS.filter((pl.col("region") != "north") | (pl.col("sector") != "farms"))
    gone = pl.concat([gone, ROWS.filter(pl.col("sector") == "shops")])
    with pytest.raises(GuaranteeNotMetError, match="could be computed from today's") as caught:
        made(vault, CROSSED + FEW.format(least=2), gone)
    assert "margin" in str(caught.value.hint)
    release = made(vault, CROSSED + FEW.format(least=2) + "[cells]\nmargin = 10.0\n", gone)
    release.write(tmp_path / "second")
    now = cells_in(tmp_path / "second")
    assert now[frozenset()] == 74
    assert all(now[codes] is None for codes in partners & now.keys())


@pytest.mark.slow
def test_counts_tell_nothing_of_sums_but_that_nobody_is_there(vault, tmp_path):
    head = "zeros = 'suppressible'"
    sums = f'{CROSSED}value = "v"\n'
    rule = '[[rules]]\nrule = "zeros"\n'
    rows = ROWS.filter((pl.col("region") != "north") | (pl.col("sector") != "farms"))
    made(vault, sums + rule, rows, head=head).write(tmp_path / "sums")
    assert cells_in(tmp_path / "sums")[frozenset({"north", "farms"})] is None
    counts = CROSSED.replace("crossed", "counts") + FEW.format(least=2)
    with pytest.raises(PolicyError, match="Nobody is in"):
        made(vault, counts, rows)
    made(vault, counts + "[cells]\nmargin = 10.0\n", rows, head=head).write(tmp_path / "counts")
    assert cells_in(tmp_path / "counts", "counts")[frozenset({"north", "farms"})] is None


PLACES = [(*place, size) for place in SIZES for size in ("big", "small")]


def random_problem(drawn, dataset):
    """Return rows, and the policies of a first table, of a second one, and of that booked."""
    counts = drawn.choice([0, 1, 1, 2, 4, 6, 7, 9], len(PLACES))
    rows = [each for each, n in zip(PLACES, counts, strict=True) for _ in range(n)]
    names = ["region", "sector", "size"]
    chosen = [names[at] for at in drawn.permutation(3)[: drawn.integers(1, 4)]]
    second = f'[[tables]]\nname = "crossed"\ndimensions = {chosen!r}\n'
    second += FEW.format(least=drawn.integers(2, 4))
    booked = f'[book]\ndataset = "{dataset}"\nreceiver = "a"\n'
    bodies = CROSSED + FEW.format(least=3) + booked, second, second + booked
    policies = [TablesPolicy.from_toml(f"halfmask-tables = 1\n{each}") for each in bodies]
    return pl.DataFrame(rows, schema=names, orient="row"), policies


@pytest.mark.slow
def test_no_sensitive_count_is_told_by_two_random_tables(vault, tmp_path):
    drawn = np.random.default_rng(6)
    found: dict[str, list[bool]] = {"alone": [], "booked": []}
    for at in range(7):
        ReleaseBook.create(vault, dataset=f"random-{at}")
        rows, policies = random_problem(drawn, f"random-{at}")
        sums = rows.group_by("region", "sector").len().filter(pl.col("len") < 3)
        written = {}
        for name, policy in zip(("first", "alone", "booked"), policies, strict=True):
            try:
                used = vault if policy.book else None
                halfmask.protect(rows, policy, vault=used).write(tmp_path / f"{at}-{name}")
                written[name] = cells_in(tmp_path / f"{at}-{name}")
            except (GuaranteeNotMetError, PolicyError):
                continue
        for name in {"alone", "booked"} & written.keys() if "first" in written else ():
            tables = written["first"], written[name]
            ends = [bounds_of(tables, cell, PLACES) for cell in sums.drop("len").rows()]
            found[name].append(any(high - low < 0.5 for low, high in ends))
    assert any(found["alone"])
    assert len(found["booked"]) > 4
    assert not any(found["booked"])
