"""The data files of a release: the order of their rows, their parts, and sampled tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.microdata import _writing, protect, protect_to
from halfmask.verifier.tables import verify
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    K,
    check,
    classes,
    people,
    policy,
    promise,
    released,
    with_gaps,
)

OTHER_KEY = bytes(32)
PROMISES = [
    K,
    promise("distinct-l-diversity", "illness", l=2),
    promise("t-closeness", "pay", t=0.5, distance="ordered"),
]


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    monkeypatch.setattr("halfmask.microdata._classes.render_report", lambda _facts: "")


@pytest.fixture
def in_batches(monkeypatch):
    """Read tables in batches of 50 rows."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    monkeypatch.setattr("halfmask.data.io._source._MAX_TEXT_ROWS", 50)


@pytest.fixture
def sampled(monkeypatch, in_batches):  # noqa: ARG001 # samples come of batches
    """Take a table of more than 120 rows for one that doesn't fit; a key draws the sample."""
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", 120)
    monkeypatch.setattr("halfmask.engines._local.worker_count", lambda: 1)


def traces_of_order(rows):
    """Return what still shows of the input's order, each in standard deviations of pure chance."""
    place = rows["row"].to_numpy().astype(float)
    n = len(place)
    ranks = np.argsort(np.argsort(place))
    correlation = np.corrcoef(ranks, np.arange(n))[0, 1] * np.sqrt(n - 1)
    neighbours = np.count_nonzero(np.abs(np.diff(place)) == 1)
    together = rows.select(pl.struct(QUASI).rank("dense")).to_series().to_numpy()
    shares = np.bincount(together) / n
    expected = n * float((shares**2).sum())
    alike = np.count_nonzero(np.diff(together) == 0)
    return {
        "correlation": abs(correlation),
        "neighbours": abs(neighbours - 2) / np.sqrt(2),
        "classes": abs(alike - expected) / np.sqrt(expected),
    }


@pytest.fixture(params=[10_000, 500], ids=["one part", "parts"])
def parts(request, monkeypatch, in_batches):  # noqa: ARG001 # parts come of batches
    monkeypatch.setattr(_writing, "PART_ROWS", request.param)
    return request.param


@pytest.mark.slow
def test_the_order_says_nothing_of_the_table(tmp_path, parts):
    """Neither where a row stood nor which class it is of shows in the order of the files."""
    protect_to(people(2000), policy(), tmp_path / "out", key=KEY)

    found = released(tmp_path / "out")
    assert len(list((tmp_path / "out" / "data").iterdir())) == (1 if parts > 2000 else 4)
    assert max(traces_of_order(found).values()) < 5


def _in_order(n, *, key, stream=0):  # noqa: ARG001 # as what it stands for
    return np.arange(n)


@pytest.mark.slow
@pytest.mark.parametrize("trace", ["correlation", "neighbours"])
def test_an_unshuffled_file_shows(tmp_path, monkeypatch, parts, trace):
    """The check above catches a writer that forgets to shuffle, in one part or in many."""
    monkeypatch.setattr(_writing, "keyed_order", _in_order)
    monkeypatch.setattr(_writing, "keyed_integers", lambda n, **_: np.zeros(n, np.uint64))
    protect_to(people(2000), policy(), tmp_path / "out", key=KEY)

    assert parts
    assert traces_of_order(released(tmp_path / "out"))[trace] > 5


def test_a_file_sorted_by_class_shows(tmp_path, monkeypatch):
    """The check above catches a writer that leaves classes together."""
    monkeypatch.setattr(_writing, "keyed_order", _in_order)
    table = people(2000).sort(QUASI)
    protect_to(table, policy(), tmp_path / "out", key=KEY)

    assert traces_of_order(released(tmp_path / "out"))["classes"] > 5


@pytest.mark.slow
def test_the_part_says_nothing_of_the_place(tmp_path, monkeypatch, in_batches):  # noqa: ARG001
    """Rows go to random parts: each part has rows of the whole table."""
    monkeypatch.setattr(_writing, "PART_ROWS", 500)
    protect_to(people(2000), policy(), tmp_path / "out", key=KEY)

    for path in (tmp_path / "out" / "data").iterdir():
        rows = pl.read_parquet(path)["row"].to_numpy()
        assert 400 < len(rows) < 600
        assert 850 < rows.mean() < 1150
        assert rows.min() < 50
        assert rows.max() > 1950


def _bytes(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "data").iterdir())}


@pytest.mark.slow
@pytest.mark.parametrize("fmt", ["parquet", "csv", "arrow", "jsonl"])
def test_the_key_fixes_the_bytes(tmp_path, monkeypatch, fmt, in_batches):  # noqa: ARG001
    """The same key gives the same bytes, another or a fresh one the same rows in another order."""
    monkeypatch.setattr(_writing, "PART_ROWS", 100)
    wanted = policy(output={"format": fmt})
    for name, key in {"a": KEY, "b": KEY, "c": OTHER_KEY, "d": None, "e": None}.items():
        protect_to(people(), wanted, tmp_path / name, key=key)

    found = {name: released(tmp_path / name) for name in "acde"}
    assert _bytes(tmp_path / "a") == _bytes(tmp_path / "b")
    assert len({tuple(frame["row"].to_list()) for frame in found.values()}) == 4
    whole = [frame.sort(pl.col("row").cast(pl.Int64)) for frame in found.values()]
    assert all(frame.equals(whole[0]) for frame in whole)


def test_the_release_in_memory_is_the_one_on_disk(tmp_path):
    """`data` and a file of one part hold the same rows in the same order."""
    release = protect(people(), policy(), key=KEY)
    release.write(tmp_path / "out")

    assert released(tmp_path / "out").equals(release.data)


def test_many_parts_hold_all_rows_once(tmp_path, monkeypatch, in_batches):  # noqa: ARG001
    """Parts are listed, hashed and verified each, and what they went through is gone."""
    monkeypatch.setattr(_writing, "PART_ROWS", 60)

    release, _ = check(with_gaps(people(), QUASI), policy(*PROMISES), tmp_path / "out", PROMISES)

    files = release.manifest.files
    assert [file.name for file in files] == [f"data/part-{i:05d}.parquet" for i in range(4)]
    assert sum(file.n_rows for file in files) == 240
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.owner.html"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "data",
        "manifest.json",
        "report.html",
    ]


@pytest.mark.slow
def test_a_part_without_rows(tmp_path, monkeypatch, in_batches):  # noqa: ARG001
    """A part that no row was drawn for is a file like the others."""
    monkeypatch.setattr(_writing, "PART_ROWS", 1)

    release = protect_to(people(20), policy(), tmp_path / "out", key=KEY)

    assert release.manifest is not None
    assert 0 in [file.n_rows for file in release.manifest.files]
    assert verify(tmp_path / "out").holds


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "guided"])
@pytest.mark.parametrize("recoding", ["ranges", "level", "centroid", "representative"])
def test_a_sampled_table_is_counted_whole(tmp_path, sampled, method, recoding):  # noqa: ARG001
    """Cells are found on half of the rows; what is promised is counted on all, and holds."""
    wanted = policy(
        *PROMISES,
        columns={"buys": {"label": True}},
        method={"name": method},
        recoding={"name": recoding},
    )

    table = with_gaps(people(), ["town", "age", "illness"])
    release, found = check(table, wanted, tmp_path / "out", PROMISES, ranges=recoding == "ranges")

    assert release.source.cells is None, "the sampled path was taken"
    assert len(classes(found, QUASI)) > 3


def test_a_sampled_table_with_missing_policies(tmp_path, sampled):  # noqa: ARG001
    """Rows that a missing cell suppresses are neither counted nor written."""
    table = with_gaps(people(400), ["town", "spent", "illness"])
    columns = {"town": {"missing": "suppress"}, "spent": {"missing": "suppress"}}

    release, found = check(table, policy(*PROMISES, columns=columns), tmp_path / "out", PROMISES)

    assert release.source.cells is None
    assert found["row"].to_list() == table.drop_nulls(["town", "spent"])["row"].to_list()


@pytest.mark.slow
def test_a_sampled_table_suppresses_within_its_budget(tmp_path, sampled):  # noqa: ARG001
    """Cells that miss a guarantee on all rows are left out up to the declared share."""
    promises = [K, promise("t-closeness", "illness", t=0.21)]
    kept = {}
    for share in (0.0, 0.3):
        wanted = policy(*promises, suppression={"max_fraction": share})
        release, _ = check(people(), wanted, tmp_path / f"{share}", promises)
        kept[share] = release.rows["suppressed"]

    assert kept[0.0] == 0
    assert 0 < kept[0.3] <= 72


@pytest.mark.slow
def test_what_only_suppressed_rows_had_is_named_nowhere(tmp_path, sampled):  # noqa: ARG001
    """The support file orders the values that leave; one that was suppressed isn't among them."""
    order = ["flu", "cold", "ache", "CANARY", "burn", "none"]
    promises = [K, promise("t-closeness", "illness", t=0.1, distance="ordered")]
    wanted = policy(
        *promises,
        columns={"illness": {"hierarchy": {"order": order}}},
        suppression={"max_fraction": 0.3},
    )
    first = protect(people(), wanted, key=KEY).data
    gone = people().join(first, on="row", how="anti")["row"]

    # One value more is another table: some of the rows that were left out are so in this one, too.
    for number, row in enumerate(gone.head(20)):
        table = people().with_columns(
            illness=pl.when(pl.col("row") == row).then(pl.lit("CANARY")).otherwise("illness")
        )
        _, found = check(table, wanted, tmp_path / f"{number}", promises, order=order)
        named = (tmp_path / f"{number}" / "support" / "0.csv").read_text().split()
        leaves = [leaf for leaf in order if leaf != "CANARY" or row in found["row"]]
        assert [line.partition(";")[0] for line in named] == leaves
        if row not in found["row"]:
            break
    else:
        pytest.fail("the test needs a row that is suppressed with a value of its own")
