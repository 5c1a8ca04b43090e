"""The person as the unit: guarantees count persons, and the verifier counts them again."""

from __future__ import annotations

import itertools
import json
import math
import random
import shutil
import warnings
from collections import Counter, defaultdict
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halfmask
from halfmask._errors import (
    ColumnWarning,
    GuaranteeNotMetError,
    ParameterError,
    PolicyError,
    SchemaError,
    VerificationError,
)
from halfmask.cli._claims import claim_text
from halfmask.microdata import Policy, protect
from halfmask.verifier import tables

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

KEY = bytes(range(32))
METHODS = ("mondrian", "mdav")
ROLES = {
    "ticket": ("insensitive", "numeric"),
    "pid": ("identifier", None),
    "age": ("quasi_identifier", "numeric"),
    "town": ("quasi_identifier", "categorical"),
    "blood": ("sensitive", "categorical"),
    "ill": ("sensitive", "categorical"),
}


def visits(n=500, persons=70, seed=1, *, gaps=False):
    """Rows of people with several each: blood is always the same, the rest may change."""
    rng = random.Random(seed)
    blood = [rng.choice("0AB") for _ in range(persons)]
    rows = []
    for ticket in range(n):
        who = min(rng.randrange(persons), rng.randrange(persons))
        town = None if gaps and rng.random() < 0.1 else rng.choice(["a", "b", "c", "d"])
        ill = rng.choice(["flu", "cold", "burn", "ache", "none"])
        rows.append(
            (ticket, f"P{who}", 20 + (who * 7 + rng.randrange(8)) % 50, town, blood[who], ill)
        )
    return pl.DataFrame(rows, schema=list(ROLES), orient="row")


def policy_of(*guarantees, method="mondrian", person="pid", suppressed=0.0, **more):
    columns = {
        name: {"role": role, **({} if kind is None else {"kind": kind})}
        for name, (role, kind) in ROLES.items()
    }
    return Policy(
        halfmask=1,
        columns=columns,
        guarantees=list(guarantees),
        method={"name": method},
        suppression={"max_fraction": suppressed},
        **({} if person is None else {"person": person}),
        **more,
    )


K = {"model": "k-anonymity", "k": 5}
MODELS = {
    "k": K,
    "risk": {"model": "largest-risk", "risk": 0.2},
    "distinct": {"model": "distinct-l-diversity", "l": 2, "column": "blood"},
    "entropy": {"model": "entropy-l-diversity", "l": 1.5, "column": "blood"},
    "recursive": {"model": "recursive-cl-diversity", "c": 4.0, "l": 2, "column": "blood"},
    "t": {"model": "t-closeness", "t": 0.4, "distance": "equal", "column": "blood"},
    "alpha": {"model": "alpha-k-anonymity", "alpha": 0.75, "k": 3, "column": "ill"},
    "several": {"model": "distinct-l-diversity", "l": 2, "column": "ill"},
}


def classes_in(released, raw):
    """Return for each class its persons, and the values that each has of each sensitive column."""
    whose = dict(raw.select("ticket", "pid").rows())
    found: Any = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    for row in released.rows(named=True):
        for column in ("blood", "ill"):
            found[row["age"], row["town"]][column][whose[row["ticket"]]].add(row[column])
    return found


def kept(guarantee, classes):
    """Judge classes by a slow count of persons."""
    column = guarantee.get("column", "ill")
    total: Counter[str] = Counter()
    for found in classes.values():
        total.update(value for values in found[column].values() for value in values)
    whole = {value: n / total.total() for value, n in total.items()}
    return all(class_keeps(guarantee, found[column], whole) for found in classes.values())


def class_keeps(guarantee, people, whole):
    """Judge one class: its persons with their values, and the shares of values in the table."""
    counts = Counter(value for values in people.values() for value in values)
    n, falling = len(people), sorted(counts.values(), reverse=True)
    p = {value: count / n for value, count in counts.items()}
    verdicts: dict[str, Any] = {
        "k-anonymity": lambda k: n >= k,
        "largest-risk": lambda risk: 1 / n <= risk,
        # Of any l - 1 values, somebody has none.
        "distinct-l-diversity": lambda l: all(
            any(not values & set(few) for values in people.values())
            for few in itertools.combinations([*counts, *range(l)], l - 1)
        ),
        "entropy-l-diversity": lambda l: (
            -sum(each * math.log(each) for each in p.values()) >= math.log(l) - 1e-9
        ),
        "recursive-cl-diversity": lambda c, l: falling[0] < c * sum(falling[l - 1 :]),
        "t-closeness": lambda t, distance: (  # noqa: ARG005 # equal, in each test
            sum(abs(p.get(value, 0) - share) for value, share in whole.items()) / 2 <= t + 1e-9
        ),
        "alpha-k-anonymity": lambda alpha, k: n >= k and falling[0] <= alpha * n + 1e-9,
    }
    given = {name: it for name, it in guarantee.items() if name not in {"model", "column"}}
    return verdicts[guarantee["model"]](**given)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_each_class_keeps_the_guarantee_in_persons(model, method):
    raw = visits(seed=len(model) + len(method))
    guarantees = list({"k": K, model: MODELS[model]}.values())

    release = protect(raw, policy_of(*guarantees, method=method), key=KEY)

    classes = classes_in(release.data, raw)
    assert all(kept(each, classes) for each in guarantees)
    assert [claim.unit for claim in release.claims] == ["person"] * len(guarantees)


@pytest.mark.filterwarnings("ignore::halfmask._errors.ColumnWarning")
@pytest.mark.parametrize("model", ["k", "risk"])
def test_the_same_classes_counted_in_rows_miss_it_in_persons(model):
    """The check above has power: without the person, rows of one pass as several people."""
    raw = visits(n=400, persons=25)

    released = protect(raw, policy_of(MODELS[model], person=None), key=KEY).data

    assert not kept(MODELS[model], classes_in(released, raw))


def test_ten_rows_of_one_person_are_one_person():
    alone = pl.DataFrame({"pid": ["x"] * 10, "age": [30] * 10, "town": ["a"] * 10})
    others = pl.DataFrame(
        {"pid": [f"y{i}" for i in range(10)], "age": [40] * 10, "town": ["b"] * 10}
    )
    raw = (
        pl.concat([alone, others])
        .with_columns(ticket=pl.int_range(20), blood=pl.lit("0"), ill=pl.lit("flu"))
        .select(list(ROLES))
    )

    rows = protect(raw, policy_of(K, person=None), key=KEY)
    people = protect(raw, policy_of(K), key=KEY)

    assert rows.claims[0].evidence.classes == 2
    assert people.claims[0].evidence.classes == 1
    assert people.claims[0].evidence.achieved == 11
    assert people.risk.after.prosecutor.highest.value == pytest.approx(1 / 11)
    assert people.risk.before.prosecutor.highest.value == 1


def test_a_table_of_few_persons_is_refused_by_name_and_number():
    raw = visits(n=200, persons=4)

    with pytest.raises(GuaranteeNotMetError, match=r"KAnonymity\(k=5\).*200 rows of 4 persons.*4"):
        protect(raw, policy_of(K), key=KEY)


@pytest.mark.parametrize("method", METHODS)
def test_patients_with_a_few_diagnoses_can_have_three_in_each_class(tmp_path, method):
    raw = visits(n=400, persons=350)
    asked = {**MODELS["several"], "l": 3}
    release = protect(raw, policy_of(K, asked, method=method), key=KEY)

    assert kept(asked, classes_in(release.data, raw))
    release.write(tmp_path / "out", persons=tmp_path / "persons.parquet")
    checked = verify(tmp_path / "out", persons=tmp_path / "persons.parquet")
    assert checked.holds
    assert checked.claims[1].counted >= 3


def test_entropy_of_several_values_of_a_person_is_refused():
    with pytest.raises(ParameterError, match=r"several values of the column: \d\d persons"):
        protect(visits(), policy_of(K, {**MODELS["entropy"], "column": "ill"}), key=KEY)


def test_missing_persons_are_refused():
    raw = visits().with_columns(pl.when(pl.col("ticket") > 3).then("pid").alias("pid"))

    with pytest.raises(SchemaError, match="'pid' says whose row it is and has 4 missing"):
        protect(raw, policy_of(K), key=KEY)


@pytest.mark.parametrize("gaps", [False, True])
def test_the_verifier_counts_persons_before_the_release_gets_its_name(tmp_path, gaps):
    raw = visits(gaps=gaps)
    policy = policy_of(K, MODELS["entropy"], MODELS["alpha"], suppressed=0.05)

    release = protect(raw, policy, key=KEY).write(tmp_path / "out", persons=tmp_path / "whose")

    assert release.verification is not None
    assert release.verification.holds
    claims: tuple[Any, ...] = release.verification.claims
    stated = [each.stated.evidence.achieved for each in claims]
    assert stated == pytest.approx([each.counted for each in claims])
    assert (tmp_path / "whose").stat().st_mode & 0o777 == 0o600
    again = verify(tmp_path / "out", persons=tmp_path / "whose")
    assert again.to_dict() == release.verification.to_dict()


def test_without_the_file_claims_about_persons_are_not_checked(tmp_path):
    protect(visits(), policy_of(K), key=KEY).write(tmp_path / "out")

    found = verify(tmp_path / "out")

    assert not found.holds
    assert not found.is_broken
    assert [each.checked for each in found.claims] == [False]
    assert claim_text(found.claims[0]) == "k-anonymity in persons, k = 5"
    assert "is not checked (it counts persons" in found.claims[0].sentence
    with pytest.raises(VerificationError, match="Not every claim of the release could be checked"):
        found.raise_if_broken()


def test_parts_and_samples_keep_the_order_of_persons(tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 70)
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 120)
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", 200)
    raw = visits()
    policy = policy_of(K, MODELS["alpha"], suppressed=0.3, output={"format": "csv"})

    release = protect(raw, policy, key=KEY).write(tmp_path / "out", persons=tmp_path / "whose")

    assert release.manifest is not None
    assert len(release.manifest.files) > 3
    parts = [pl.read_csv(tmp_path / "out" / each.name) for each in release.manifest.files]
    tickets = pl.concat(parts)["ticket"].to_list()
    known = dict(raw.select("ticket", "pid").rows())
    numbers = pl.read_parquet(tmp_path / "whose")["person"].to_list()
    pairs = {(known[ticket], number) for ticket, number in zip(tickets, numbers, strict=True)}
    assert len(pairs) == len({who for who, _ in pairs}) == len({number for _, number in pairs})


@pytest.fixture
def written(tmp_path):
    raw = visits()
    protect(raw, policy_of(K), key=KEY).write(tmp_path / "out", persons=tmp_path / "whose")
    return tmp_path


def rewritten(where, change):
    """Write the file of persons again with other numbers."""
    table = pq.read_table(where)
    numbers = change(table["person"].to_pylist())
    changed = pa.table({"person": pa.array(numbers, pa.uint32())})
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), where)


def test_fewer_persons_than_claimed_are_found(written):
    """As if all rows of the release were of four people."""
    rewritten(written / "whose", lambda numbers: [each % 4 for each in numbers])

    found = verify(written / "out", persons=written / "whose")

    assert found.is_broken
    assert "the guarantee isn't kept" in found.claims[0].sentence


def test_the_file_of_another_release_is_refused(written, tmp_path):
    protect(visits(seed=2), policy_of(K), key=KEY).write(
        tmp_path / "other", persons=tmp_path / "theirs"
    )

    with pytest.raises(VerificationError, match="other data files"):
        verify(written / "out", persons=tmp_path / "theirs")
    with pytest.raises(VerificationError, match="can't be read"):
        verify(written / "out", persons=tmp_path / "other" / "manifest.json")


def test_a_manifest_that_claims_more_persons_is_found(written):
    path = written / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["claims"][0]["evidence"]["achieved"] += 1
    path.write_text(json.dumps(manifest))

    found = verify(written / "out", persons=written / "whose")

    assert "states a better level" in found.claims[0].sentence


def test_a_smaller_class_than_claimed_is_found_without_the_file(written):
    path = written / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["claims"][0]["evidence"]["smallest_class"] += 100
    path.write_text(json.dumps(manifest))

    found = verify(written / "out")

    assert found.is_broken
    assert "a larger smallest class" in found.claims[0].sentence


def test_the_release_holds_no_person_and_says_what_links_reveal(written):
    text = "".join(each.read_text(errors="ignore") for each in written.rglob("out/*.*"))

    assert "pid" not in text
    manifest = json.loads((written / "out" / "manifest.json").read_text())
    linked = manifest["details"]["risk"]["linked_rows"]
    assert 0 < linked["unique"] <= linked["persons"]
    assert 0 < linked["in_several"] <= linked["persons"]
    assert any(
        "can link the released rows of one person" in each for each in manifest["weaknesses"]
    )
    assert not list(written.rglob("*persons.parquet"))


def test_the_file_stays_outside_of_the_release(tmp_path):
    release = protect(visits(), policy_of(K), key=KEY)

    with pytest.raises(ParameterError, match="outside of the release"):
        release.write(tmp_path / "out", persons=tmp_path / "out" / "whose")
    assert not (tmp_path / "out").exists()
    rows = protect(visits().with_columns(pid="ticket"), policy_of(K, person=None), key=KEY)
    with pytest.raises(ParameterError, match="doesn't say whose row it is"):
        rows.write(tmp_path / "out", persons=tmp_path / "whose")


@pytest.mark.parametrize(
    ("person", "match"),
    [("age", "role isn't 'identifier'"), ("pif", "Did you mean 'pid'|'pif'")],
)
def test_the_person_of_a_policy_is_an_identifier(person, match):
    with pytest.raises(PolicyError, match=match):
        policy_of(K, person=person)


def test_spellings_of_a_person_are_unified_if_asked():
    raw = pl.DataFrame(
        {"pid": ["a", " a", "A", "b", "c", "d"], "age": [1, 1, 1, 1, 1, 1], "x": [0] * 6}
    )
    text = """
    halfmask = 1
    person = "pid"
    [columns.pid]
    role = "identifier"
    normalize = ["trim", "casefold"]
    [columns.age]
    role = "quasi_identifier"
    kind = "numeric"
    [columns.x]
    role = "insensitive"
    kind = "numeric"
    [[guarantees]]
    model = "k-anonymity"
    k = 2
    """
    policy = Policy.from_toml(text)

    assert Policy.from_toml(policy.to_toml()) == policy
    assert protect(raw, policy, key=KEY).claims[0].evidence.achieved == 4


def test_repeated_identifiers_are_warned_of_where_no_person_is_named():
    with pytest.warns(ColumnWarning, match="'pid' has [67][0-9] different values in 500 rows"):
        protect(visits(), policy_of(K, person=None), key=KEY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        protect(visits(), policy_of(K), key=KEY)
        once = visits().with_columns(pid=pl.col("ticket").cast(pl.String))
        protect(once, policy_of(K, person=None), key=KEY)


def test_describe_proposes_the_person():
    raw = visits().rename({"pid": "patient_id"}).drop("ticket")

    text = halfmask.describe(raw).policy_toml()

    assert '# person = "patient_id"' in text
    named = text.replace('# person = "patient_id"', 'person = "patient_id"')
    assert Policy.from_toml(named).person == "patient_id"


def test_protect_without_a_policy_takes_the_person():
    raw = visits().drop("ticket", "ill", "blood")

    release = protect(raw, quasi_identifiers=["age", "town"], k=5, person="pid", key=KEY)

    assert release.policy.person == "pid"
    assert release.claims[0].unit == "person"
    with pytest.raises(ParameterError, match="named for something else too"):
        protect(raw, quasi_identifiers=["age", "town"], k=5, person="age")


def test_an_interrupted_release_leaves_no_file_of_persons(tmp_path, monkeypatch):
    release = protect(visits(), policy_of(K), key=KEY)
    monkeypatch.setattr(
        "halfmask.verifier.tables._persons.COLUMN", "nobody", raising=True
    )  # the verifier can't read it

    with pytest.raises(VerificationError):
        release.write(tmp_path / "out", persons=tmp_path / "whose")
    assert not list(tmp_path.iterdir())
    shutil.rmtree(tmp_path)
