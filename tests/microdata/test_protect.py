"""protect: every guarantee, method, recoding, format and input gives a release that is verified."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa
import pytest

from halfmask._errors import (
    GuaranteeNotMetError,
    HalfmaskError,
    ParameterError,
    PolicyError,
    SchemaError,
)
from halfmask.data import open_table
from halfmask.microdata import Policy, protect, protect_to
from halfmask.verifier import verify
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    COLUMNS,
    GROUPS,
    ILLNESSES,
    KEY,
    QUASI,
    K,
    check,
    classes,
    lies_in,
    people,
    policy,
    promise,
    released,
    with_gaps,
)

ORDER = {"illness": {"hierarchy": {"order": [*ILLNESSES, "unused"]}}}
TREES = {"illness": {"hierarchy": {"groups": {**GROUPS, "other": ["unused"]}}}}


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    """Leave the report's page out, half of the time of a small release: it has its own tests."""
    monkeypatch.setattr("halfmask.microdata._classes.render_report", lambda _facts: "")


PROMISES = {
    "k": [K],
    "distinct": [K, promise("distinct-l-diversity", "illness", l=3)],
    "entropy": [promise("entropy-l-diversity", "illness", l=2.5)],
    "recursive": [promise("recursive-cl-diversity", "illness", c=2.0, l=2)],
    "equal": [promise("t-closeness", "illness", t=0.35)],
    "ordered": [promise("t-closeness", "illness", t=0.2, distance="ordered")],
    "hierarchical": [promise("t-closeness", "illness", t=0.25, distance="hierarchical")],
    "risk": [promise("largest-risk", risk=0.09)],
    "average": [promise("average-risk", risk=0.09)],
    "game": [
        promise(
            "profitability-prosecutor",
            publisher_benefit=1,
            publisher_loss=9,
            adversary_gain=30,
            adversary_cost=2,
        ),
        promise("profitability-prosecutor-no-attack", adversary_gain=30, adversary_cost=4),
    ],
    "strict average": [promise("k-anonymity", k=3), promise("average-risk", risk=0.05)],
    "unique": [promise("sample-uniqueness", share=0.05)],
    "at risk": [K, promise("records-at-risk", share=0.1, risk=0.1)],
    "alpha": [promise("alpha-k-anonymity", "illness", alpha=0.5, k=5)],
    "delta": [promise("delta-disclosure-privacy", "insured", delta=0.5)],
    "basic beta": [K, promise("basic-beta-likeness", "illness", beta=1.2)],
    "enhanced beta": [promise("enhanced-beta-likeness", "illness", beta=1.2)],
    "numbers": [
        promise("t-closeness", "pay", t=0.2, distance="ordered"),
        promise("distinct-l-diversity", "pay", l=4),
    ],
    "dates": [K, promise("t-closeness", "visit", t=0.2, distance="ordered")],
    "booleans": [
        promise("recursive-cl-diversity", "insured", c=4, l=2),
        promise("t-closeness", "insured", t=0.3),
    ],
    "texts": [K, promise("entropy-l-diversity", "note", l=2)],
    "many columns": [
        K,
        promise("distinct-l-diversity", "illness", l=2),
        promise("recursive-cl-diversity", "pay", c=3, l=2),
        promise("t-closeness", "illness", t=0.5),
        promise("t-closeness", "visit", t=0.5, distance="ordered"),
    ],
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "with gaps"])
@pytest.mark.parametrize("promises", PROMISES.values(), ids=PROMISES)
def test_every_guarantee(tmp_path, promises, gaps):
    """What is promised is kept, and the evidence is what a slow count says."""
    table = people()
    if gaps:
        table = with_gaps(table, [*QUASI, "illness", "pay", "visit", "insured", "note", "spent"])
    distance = promises[0].get("distance")
    trees = TREES if distance == "hierarchical" else ORDER if distance == "ordered" else None
    if promises[0].get("column") != "illness":
        trees = None

    check(
        table,
        policy(*promises, columns=trees),
        tmp_path / "out",
        promises,
        order=ILLNESSES if trees is ORDER else None,
    )


METHODS = {
    "strict": {"name": "mondrian"},
    "relaxed": {"name": "mondrian", "strict": False},
    "by classes": {"name": "guided", "split_targets": ["buys", "illness"]},
    "by numbers": {"name": "guided", "split_targets": ["spent"]},
    "by neighbours": {"name": "mdav"},
}
RECODINGS = {
    "ranges": {"name": "ranges"},
    "level": {"name": "level"},
    "mean": {"name": "centroid"},
    "median": {"name": "centroid", "numeric": "median"},
    "representative": {"name": "representative"},
}
LEVELS = {
    "age": {"hierarchy": {"intervals": [5, 10, 20]}},
    "town": {"hierarchy": {"groups": {"a": ["Aa", "Bee"], "b": ["Cee, upper", "=Dee", "Ee"]}}},
    "born": {"hierarchy": {"dates": ["month", "year", "decade"]}},
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("recoding", RECODINGS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_and_recoding(tmp_path, method, recoding):
    """However classes are found and written, the release is verified and other columns stay."""
    table = with_gaps(people(), ["age", "town", "born"])
    promises = [K] if method == "relaxed" else [K, promise("distinct-l-diversity", "pay", l=2)]
    wanted = policy(
        *promises,
        columns=LEVELS if recoding == "level" else None,
        method=METHODS[method],
        recoding=RECODINGS[recoding],
    )

    release, found = check(table, wanted, tmp_path / "out", promises, ranges=recoding == "ranges")

    assert release.claims[0].evidence.classes > 5, "several classes, or nothing was tested"
    raw = table.sort("row")
    if recoding == "mean" and method != "relaxed":
        both = pl.DataFrame({"raw": raw["age"], "said": found["age"]})
        groups = both.with_columns(number=pl.Series(_class_numbers(found)))
        means = groups.with_columns(mean=pl.col("raw").mean().over("number"))
        assert means.filter((pl.col("mean") - pl.col("said")).abs() > 1e-9).is_empty()
    if recoding == "representative":
        own = set(zip(_class_numbers(found), raw.select(QUASI).rows(), strict=True))
        written = zip(_class_numbers(found), found.select(QUASI).rows(), strict=True)
        assert set(written) <= own, "each class is written as one of its own rows"


def _class_numbers(found):
    return found.select(pl.struct(QUASI).rank("dense").alias("class"))["class"].to_list()


@pytest.mark.parametrize("fmt", ["parquet", "csv", "arrow", "jsonl"])
def test_every_format(tmp_path, fmt):
    """What is on disk says the same in every format, odd texts and gaps included."""
    promises = [
        K,
        promise("t-closeness", "note", t=0.5),
        promise("entropy-l-diversity", "pay", l=2),
    ]
    table = with_gaps(people(), [*QUASI, "note", "pay", "spent"])

    check(table, policy(*promises, output={"format": fmt}), tmp_path / "out", promises)


def _folder(table, at):
    folder = at / "parts"
    folder.mkdir()
    for number in range(3):
        table[number * 80 : number * 80 + 80].write_parquet(folder / f"{number}.parquet")
    return folder


INPUTS = {
    "polars": lambda table, _: table,
    "lazy": lambda table, _: table.lazy(),
    "pandas": lambda table, _: table.to_pandas(),
    "pyarrow": lambda table, _: table.to_arrow(),
    "batch": lambda table, _: table.rechunk().to_arrow().combine_chunks().to_batches()[0],
    "source": lambda table, _: open_table(table),
    "csv": lambda table, at: table.write_csv(at / "t.csv") or str(at / "t.csv"),
    "parquet": lambda table, at: table.write_parquet(at / "t.parquet") or at / "t.parquet",
    "folder": _folder,
    "-": lambda _table, _at: "-",
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", INPUTS)
def test_every_input(tmp_path, monkeypatch, kind):
    """The same table gives the same release wherever it lies, and its own library gets it back."""
    table = people().drop("note", "visit", "insured", "smoker", "born")
    said = {name: COLUMNS[name] for name in table.columns}
    wanted = Policy(halfmask=1, columns=said, guarantees=[K])
    stdin = io.TextIOWrapper(io.BytesIO(table.write_csv().encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    given = INPUTS[kind](table, tmp_path)

    release = protect(given, wanted, key=KEY)
    release.write(tmp_path / "out")

    expected = protect(table, wanted, key=KEY).data
    assert pl.read_parquet(tmp_path / "out" / "data" / "*.parquet").equals(expected)
    like = given if kind in {"pandas", "pyarrow", "batch", "lazy"} else table
    assert type(release.data) is type(like)


def test_missing_as_a_value(tmp_path):
    """A missing cell makes classes of its own, and nobody is left out."""
    table = with_gaps(people(), ["town"])

    release, found = check(table, policy(), tmp_path / "out", [K])

    assert release.rows["suppressed"] == 0
    assert found["town"].null_count() + found["town"].str.ends_with("missing").sum() > 0


@pytest.mark.parametrize("column", ["town", "illness", "spent"])
def test_missing_suppresses(tmp_path, column):
    """Rows with a gap in that column are left out, whatever its role; no others."""
    table = with_gaps(people(), ["town", "illness", "spent", "pay"])
    promises = [K, promise("distinct-l-diversity", "illness", l=2)]

    _, found = check(
        table,
        policy(*promises, columns={column: {"missing": "suppress"}}),
        tmp_path / "o",
        promises,
    )

    assert found["row"].to_list() == table.filter(pl.col(column).is_not_null())["row"].to_list()


@pytest.mark.parametrize("column", ["town", "illness", "spent"])
def test_missing_is_rejected(tmp_path, column):
    """One gap in that column is an error that names it, and nothing is written."""
    wanted = policy(columns={column: {"missing": "reject"}})
    table = people().with_columns(pl.when(pl.col("row") != 17).then(pl.col(column)).alias(column))

    with pytest.raises(SchemaError, match=f"{column!r} has 1 missing"):
        protect_to(table, wanted, tmp_path / "out")

    assert not list(tmp_path.iterdir())
    protect_to(people(), wanted, tmp_path / "out")


def test_a_gap_in_an_identifier_is_nobodys_business(tmp_path):
    """Identifiers are dropped unread: whether they are missing suppresses and rejects nothing."""
    wanted = policy(columns={"name": {"role": "identifier"}})
    check(with_gaps(people(), ["name"]), wanted, tmp_path / "out", [K])


def test_quasi_identifiers_alone(tmp_path):
    """A table may have no other columns."""
    said = {name: COLUMNS[name] for name in QUASI}
    wanted = Policy(halfmask=1, columns=said, guarantees=[K])

    release = protect_to(people().select(QUASI), wanted, tmp_path / "out")

    assert min(map(len, classes(released(tmp_path / "out"), QUASI))) >= 5
    assert release.data.columns == list(QUASI)


def test_the_journalist(tmp_path):
    """The highest risk in the population is one by the fewest people who fit a released class."""
    everybody = people()
    table = everybody.head(150)

    release, found = check(table, policy(), tmp_path / "out", [K], population=everybody)

    labels = found.unique(QUASI).select(QUASI).to_dicts()
    raw = everybody.to_dicts()
    fits = [sum(all(lies_in(p[n], c[n]) for n in QUASI) for p in raw) for c in labels]
    assert release.risk.population_rows == 240
    assert release.risk.after.journalist is not None
    assert release.risk.after.journalist.highest.value == pytest.approx(1 / min(fits))
    assert release.risk.before.journalist.highest.value == 1.0


def test_the_population_is_read_like_the_table(tmp_path):
    """What means missing in the table means missing in the population, given as a file too."""
    everybody = people().with_columns(
        town=pl.when(pl.col("row") % 7 == 0).then(pl.lit("?")).otherwise("town")
    )
    everybody.select("row", *QUASI).write_csv(tmp_path / "people.csv")
    dtypes = {"born": "date", "illness": "string", "town": "string"}
    wanted = policy(input={"missing": ["?"], "dtypes": dtypes})

    for given in (everybody, str(tmp_path / "people.csv")):
        risk = protect(everybody.head(150), wanted, population=given).risk
        assert risk.population_rows == 240

    with pytest.raises(HalfmaskError, match=r"in the population: 'town'.*\n.*\n.*'towm'"):
        protect(everybody, policy(), population=everybody.rename({"town": "towm"}))
    with pytest.raises(HalfmaskError, match="fewer rows"):
        protect(everybody, wanted, population=everybody.head(100))


def test_nothing_is_left_of_a_promise_that_cant_be_kept(tmp_path):
    """An unmet promise raises and writes nothing."""
    for promises in (
        [{"model": "k-anonymity", "k": 241}],
        [promise("distinct-l-diversity", "illness", l=6)],
        [promise("entropy-l-diversity", "illness", l=5)],
        [promise("recursive-cl-diversity", "illness", c=0.1, l=3)],
        [promise("alpha-k-anonymity", "illness", alpha=0.1, k=2)],
        [promise("largest-risk", risk=0.004)],
        [promise("average-risk", risk=0.004)],
        [K, promise("records-at-risk", share=0.5, risk=0.004)],
    ):
        with pytest.raises(GuaranteeNotMetError):
            protect_to(people(), policy(*promises), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_relaxed_needs_the_rows_in_memory(tmp_path, monkeypatch):
    """Relaxed cuts can't be found again by a plan: a sampled table is refused."""
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", 100)
    wanted = policy(method={"name": "mondrian", "strict": False})

    with pytest.raises(HalfmaskError, match="Relaxed"):
        protect_to(people(), wanted, tmp_path / "out")


def test_the_path_of_a_policy_is_no_policy():
    with pytest.raises(ParameterError, match="must be a Policy") as caught:
        protect(people(), "policy.toml")  # type: ignore[arg-type] # is what is tested

    assert "Policy.load" in str(caught.value)


def test_progress_is_told(tmp_path):
    """Whoever waits hears of every stage, and shares never leave [0, 1]."""
    heard = []
    protect_to(
        people(),
        policy(),
        tmp_path / "out",
        progress=lambda what, share=None: heard.append((what, share)),
    )

    stages = list(dict.fromkeys(what for what, _ in heard))
    assert stages[:3] == ["reading", "growing classes", "measuring risk and utility"]
    assert stages[-2:] == ["reporting", "done"]
    assert all(share is None or 0 <= share <= 1 for _, share in heard)


def test_pyarrow_metadata_stays_behind(tmp_path):
    """Metadata of the input's frame doesn't travel."""
    table = people().to_arrow().replace_schema_metadata({"owner": "SECRET-owner"})
    protect_to(table, policy(), tmp_path / "out")

    assert isinstance(table, pa.Table)
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and b"SECRET" in p.read_bytes()]


ORDERED = ("none", "low", "mid", "high")


@pytest.mark.parametrize("kind", ["ordinal", "categorical"])
def test_t_closeness_takes_the_order_of_a_type_where_the_policy_calls_it_ordinal(tmp_path, kind):
    """The verifier reads the order that the release publishes, without values that none has."""
    places = [(i * i) % 4 if i % 3 else i % 4 for i in range(200)]
    cells = pl.Series([ORDERED[it] for it in places], dtype=pl.Enum([*ORDERED, "CANARY"]))
    table = pl.DataFrame({"a": [i % 20 for i in range(200)], "s": cells})
    toml = (
        'halfmask = 1\n[columns.a]\nrole = "quasi_identifier"\nkind = "numeric"\n'
        f'[columns.s]\nrole = "sensitive"\nkind = "{kind}"\n'
        '[[guarantees]]\nmodel = "t-closeness"\nt = 0.4\ncolumn = "s"\ndistance = "ordered"\n'
    )
    if kind == "categorical":
        with pytest.raises(PolicyError, match="has no hierarchy"):
            Policy.from_toml(toml)
        return

    release = protect(table, Policy.from_toml(toml))
    release.write(tmp_path / "out")

    assert verify(tmp_path / "out").holds
    published = (tmp_path / "out" / "support" / "0.csv").read_text()
    assert [line.split(";")[0] for line in published.split()[-4:]] == list(ORDERED)
    assert "CANARY" not in published
    with pytest.raises(ParameterError, match="ordered categories"):
        protect(table.cast({"s": pl.String}), Policy.from_toml(toml))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"vault": "x.vault"}, "'vault' parameter can't be used. Got a str"),
        ({"engine": "dask://host:8786"}, "'engine' parameter can't be used. Got a str"),
        ({"progress": 3}, "'progress' parameter can't be used. Got a int"),
    ],
)
def test_an_input_that_cannot_be_used_is_named_before_anything_is_read(given, says):
    table = pl.DataFrame({"age": [30, 30, 40, 40]})

    with pytest.raises(ParameterError, match=says) as refused:
        protect(table, quasi_identifiers=["age"], k=2, **given)

    assert refused.value.hint
