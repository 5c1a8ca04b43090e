"""Intersection of releases: values of a peer, people looked up one by one, and three arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.assess.attacks import TableTarget, attack
from halfmask.assess.attacks.releases import Intersection, count_candidates

#: The tests of anonypyx 0.2.11 have these two releases: A of people 0 and 1, and what they hide.
FIRST = pl.DataFrame(
    {
        "age": ["[1, 2]", "[1, 2]", "3", "3"],
        "town": ["A", "A", "{A, B}", "{A, B}"],
        "ill": [1, 2, 3, 4],
    }
)
SECOND = pl.DataFrame(
    {
        "age": ["1", "1", "[2, 3]", "[2, 3]"],
        "town": ["{A, B}", "{A, B}", "B", "B"],
        "ill": [1, 5, 3, 4],
    }
)
PEOPLE = pl.DataFrame({"id": [0, 1], "age": [1, 3], "town": ["A", "B"], "ill": [1, 3]})


def peer(first: pl.DataFrame = PEOPLE, **others) -> TableTarget:
    return TableTarget(
        **{
            "released": SECOND,
            "original": PEOPLE,
            "earlier": [(FIRST, first)],
            "quasi_identifiers": ("age", "town"),
            "secrets": ("ill",),
            "person": "id",
            "owners": "unknown",
            **others,
        }
    )


def by_person(target: TableTarget, column: str = "together") -> dict[str, object]:
    found = count_candidates(target, "ill")
    return dict(zip(found["person"].to_list(), found[column].to_list(), strict=True))


def test_candidates_are_those_of_a_peer():
    """anonypyx: {1} and {3, 4}; a person who is absent from the first release has {1, 5}."""
    assert by_person(peer()) == {"0": 1, "1": 2}
    assert by_person(peer(), "alone") == {"0": 2, "1": 2}
    assert by_person(peer(), "exposed") == {"0": True, "1": False}
    assert by_person(peer(PEOPLE[1:])) == {"0": 2, "1": 2}


def test_the_vulnerable_population_is_that_of_a_peer():
    """anonypyx: with 1, 2, 3 and 4 candidates, .25 .5 .75 1 at confidence 1, 1/2, 1/3, 1/4."""
    released = pl.DataFrame(
        {"age": [1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5], "ill": [1, 1, 2, 1, 2, 3, 1, 2, 3, 4, 5]}
    )
    four = pl.DataFrame({"id": [1, 2, 3, 4], "age": [1, 2, 3, 4], "ill": [1, 2, 3, 4]})
    another = pl.DataFrame({"id": [5], "age": [5], "ill": [5]})
    target = TableTarget(
        released=released,
        original=pl.concat([four, another]),
        earlier=[(released.with_columns(age=pl.lit("*")), four)],
        quasi_identifiers=("age",),
        secrets=("ill",),
        person="id",
        owners="unknown",
    )
    found = Intersection().run(target, random_state=0)
    assert [each.success.value for each in found] == [0.25, 0.5, 0.75, 1.0]
    assert [each.measure for each in found] == [
        "ill exposed at confidence 1",
        *(f"ill exposed at confidence 1/{n}" for n in (2, 3, 4)),
    ]
    # Who names all values that there are has learned nothing.
    fewer = replace(target, original=four)
    assert len(Intersection().run(fewer, random_state=0)) == 3


ages = st.integers(0, 6)
ills = st.sampled_from(["flu", "hiv", "cold", None])
rows = st.lists(st.tuples(st.integers(0, 5), ages, ills), min_size=1, max_size=12)
#: Rows of a release: an interval of ages and an illness, about nobody in particular.
cells = st.lists(st.tuples(ages, ages, ills), min_size=1, max_size=12)


def of_people(some) -> pl.DataFrame:
    schema = {"id": pl.Int64, "age": pl.Int64, "ill": pl.String}
    return pl.DataFrame(some, schema=schema, orient="row")


def released_as(some) -> pl.DataFrame:
    written = [(f"[{min(a, b)}, {max(a, b)}]" if a != b else str(a), ill) for a, b, ill in some]
    return pl.DataFrame(written, schema={"age": pl.String, "ill": pl.String}, orient="row")


@pytest.mark.mostly_slow
@given(st.lists(st.tuples(rows, cells), min_size=1, max_size=3))
def test_candidates_are_those_of_people_looked_up_one_by_one(releases):
    """Intervals may overlap, people come and go, and have several rows."""
    tables = [(released_as(shown), of_people(own)) for own, shown in releases]
    expected: dict[str, set[str | None]] = {}
    for own, shown in releases:
        here: dict[str, set[str | None]] = {}
        values = {ill for _, _, ill in shown} & {ill for _, _, ill in own} - {None}
        if not values:
            continue  # nothing shows that the secret is unchanged
        for person, age, _ in own:
            away = [max(min(a, b) - age, age - max(a, b), 0) for a, b, _ in shown]
            mine = {shown[i][2] for i, gap in enumerate(away) if gap == min(away)}
            here.setdefault(str(person), set()).update(mine)
        for name, mine in here.items():
            expected[name] = expected.get(name, mine) & mine
    target = TableTarget(
        released=tables[-1][0],
        original=tables[-1][1],
        earlier=tables[:-1],
        quasi_identifiers=("age",),
        secrets=("ill",),
        person="id",
        owners="unknown",
    )
    if not expected:
        with pytest.raises(ParameterError, match="unchanged"):
            count_candidates(target, "ill")
        return
    assert by_person(target) == {name: len(left) for name, left in expected.items()}


def test_three_releases_tell_what_no_two_of_them_do():
    """A person who leaves and comes back: {a, b, c}, nothing, {b, c, d} and {a, c, d}."""
    mine = pl.DataFrame({"id": ["x"], "age": [1], "ill": ["c"]})
    others = pl.DataFrame({"id": ["y"], "age": [9], "ill": ["a"]})

    def out(ills: str) -> pl.DataFrame:
        return pl.DataFrame({"age": ["[1, 2]"] * 3 + ["9"], "ill": [*ills, "a"]})

    every = pl.concat([mine, others])
    series = [(out("abc"), every), (out("bbb"), others), (out("bcd"), every), (out("acd"), every)]

    def together(some) -> object:
        *earlier, (released, original) = some
        return by_person(
            peer(
                released=released,
                original=original,
                earlier=earlier,
                quasi_identifiers=("age",),
            )
        )["x"]

    assert together(series) == 1
    assert [together([each for each in series if each is not out]) for out in series] == [
        *(2, 1, 2, 2),
    ]


def everybody() -> pl.DataFrame:
    rng = np.random.default_rng(11)
    n = 4000
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "age": rng.integers(0, 3000, n),
            "zip": rng.integers(0, 3000, n),
            "ill": [f"s{v}" for v in rng.integers(0, 20, n)],
        }
    )


def hospital(rows: pl.DataFrame, known: tuple[str, ...]) -> tuple[pl.DataFrame, pl.DataFrame]:
    protect = hm.Anonymizer(
        guarantees=[hm.KAnonymity(k=4), hm.DistinctLDiversity(l=3, column="ill")],
        quasi_identifiers=known,
        recoding=hm.Ranges(),
    )
    return protect.fit_transform(rows.select("age", "zip", "ill")), rows


def two_hospitals(*, overlap: bool = True) -> tuple[TableTarget, TableTarget]:
    """Return what two hospitals with common patients released, each on its own; and raw."""
    patients = everybody()
    mine, theirs, nobodys = patients[:2000], patients[1000:3000], patients[3000:]
    known = ("age", "zip")
    earlier = hospital(theirs, ("zip",))
    if not overlap:
        # What everybody gets: one class, which no intersection makes smaller.
        earlier = theirs.with_columns(age=pl.lit("*"), zip=pl.lit("*")), theirs
    released = hospital(mine, known)[0]

    def made(shown: pl.DataFrame, before: pl.DataFrame) -> TableTarget:
        return TableTarget(
            released=shown,
            original=mine,
            control=nobodys,
            quasi_identifiers=known,
            secrets=("ill",),
            earlier=[(before, theirs)],
            person="id",
            owners="unknown",
        )

    return made(released, earlier[0].drop("age")), made(mine, theirs)


def test_classes_are_found_by_what_is_written():
    """The anonymizer keeps the rows' order, so that each person's class can be looked up."""
    rng = np.random.default_rng(5)
    n, known = 900, ("age", "town", "born")

    def one_of(*values: str | None) -> list[str | None]:
        return [values[at] for at in rng.integers(0, len(values), n)]

    patients = pl.DataFrame(
        {
            "id": np.arange(n),
            "age": rng.integers(0, 90, n),
            "town": one_of("ulm", "bonn", "kiel", "a, b", None),
            "born": pl.Series(rng.integers(0, 9000, n)).cast(pl.Date),
            "ill": one_of("flu", "hiv", "cold", "none", None),
        }
    )
    months = [patients[:500], patients[200:700], patients[400:]]
    releases = [
        hm.Anonymizer(
            guarantees=[hm.KAnonymity(k=3)], quasi_identifiers=known, recoding=hm.Ranges()
        ).fit_transform(month.drop("id"))
        for month in months
    ]
    expected: dict[str, set[object]] = {}
    for month, released in zip(months, releases, strict=True):
        classes: dict[object, set[object]] = {}
        for row in released.iter_rows(named=True):
            classes.setdefault(tuple(row[name] for name in known), set()).add(row["ill"])
        for person, row in zip(month["id"], released.iter_rows(named=True), strict=True):
            mine = classes[tuple(row[name] for name in known)]
            expected[str(person)] = expected.get(str(person), mine) & mine
    target = TableTarget(
        released=releases[2],
        original=months[2],
        earlier=list(zip(releases[:2], months[:2], strict=True)),
        quasi_identifiers=known,
        secrets=("ill",),
        person="id",
        owners="unknown",
    )
    assert by_person(target) == {person: len(left) for person, left in expected.items()}
    assert 1 in by_person(target).values()


def test_two_diverse_releases_of_common_people_are_broken():
    """Ganta 2008, section 4: each alone is certain of nobody, both together of many."""
    target, raw = two_hospitals()
    found = attack(target, unprotected=raw, attacks=[Intersection()]).findings
    assert found[0].verdict == "broken"
    assert found[0].outcome.details["best_single"] == 0.0
    assert found[0].outcome.details["only_together"] == found[0].outcome.success.value > 0.05
    assert found[0].outcome.success.trials == 1000
    # Nobody's classes say nothing of people who are in no release.
    assert found[0].outcome.control.value < 0.05 < found[1].outcome.success.value


def test_a_release_that_says_nothing_adds_nothing():
    target, raw = two_hospitals(overlap=False)
    found = attack(target, unprotected=raw, attacks=[Intersection(candidates=(1,))]).findings[0]
    assert found.verdict == "resisted"
    assert found.outcome.details["only_together"] == 0.0
    assert found.outcome.details["fewest_candidates"] >= 3


def test_what_the_raw_rows_dont_show_proves_nothing():
    """The positive control has secrets of other people: the attack can't succeed on it."""
    target, raw = two_hospitals(overlap=False)
    another = {f"s{v}": f"s{(v + 1) % 20}" for v in range(20)}
    wrong = TableTarget(
        released=raw.released.with_columns(pl.col("ill").replace_strict(another)),
        original=raw.original,
        control=raw.control,
        quasi_identifiers=raw.quasi_identifiers,
        secrets=raw.secrets,
        earlier=raw.earlier,
        person="id",
        owners="unknown",
    )
    (found,) = attack(target, unprotected=wrong, attacks=[Intersection(candidates=(1,))]).findings
    assert found.verdict == "INVALID"
    assert attack(target, attacks=[Intersection(candidates=(1,))]).findings[0].verdict == "INVALID"


def test_people_without_a_key_are_found_by_their_rows():
    """Equal rows are matched by their order: two people, of whom one is in both."""
    first = PEOPLE.drop("id")
    twice = pl.concat([first, first[:1]])
    target = peer(first, original=twice, person=None)
    assert count_candidates(target, "ill")["together"].to_list() == [1, 2, 2]


def test_middles_of_classes_are_taken_for_the_nearest():
    middles = pl.DataFrame({"age": [1.5, 1.5, 7.5, 7.5], "ill": ["a", "b", "a", "c"]})
    shown = middles.with_columns(age=pl.Series([1.0, 7.0, 1.0, 7.0]))
    mine = pl.DataFrame({"id": [0], "age": [2], "ill": ["a"]})
    target = peer(
        mine,
        released=middles,
        original=mine,
        earlier=[(shown, mine)],
        quasi_identifiers=("age",),
    )
    assert by_person(target) == {"0": 1}


def test_a_cell_that_says_nothing_counts_where_no_other_fits():
    """A suppressed row may be anybody's: each person with a class is taken to be in it."""
    shown = pl.DataFrame({"age": ["[1, 2]", "[1, 2]", "*"], "ill": [1, 2, 3]})
    mine = pl.DataFrame({"id": [0, 1], "age": [1, 5], "ill": [1, 3]})
    target = peer(mine, released=shown, original=mine, quasi_identifiers=("age",), earlier=[])
    assert by_person(target) == {"0": 2, "1": 1}


def test_what_is_lacking_is_said():
    lacks = Intersection().missing_inputs
    assert lacks(peer(earlier=None)) == "an earlier release"
    assert lacks(peer(quasi_identifiers=())) == "quasi-identifiers"
    nobody = "people in two releases that have a secret unchanged"
    assert lacks(peer(PEOPLE[:0])) == nobody
    assert lacks(peer(released=SECOND.drop("ill"))) == nobody
    assert lacks(peer(released=SECOND.with_columns(ill=pl.lit("[1, 5]")))) == nobody
    assert lacks(peer(PEOPLE.with_columns(id=pl.col("id") + 7))) == nobody
    assert lacks(peer(control=PEOPLE.drop("town"))) == "columns ['town'] in the control table"
    lists = SECOND.with_columns(pl.concat_list("ill"))
    assert lacks(peer(released=lists)) == nobody
    assert lacks(peer()) == ""


def test_a_wrong_person_is_refused_without_a_value():
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'id'"):
        peer(person="idd")
    with pytest.raises(DataError, match="missing in 1 rows"):
        peer(PEOPLE.with_columns(id=pl.Series([None, 1])))
    with pytest.raises(SchemaError, match="values of type List"):
        peer(PEOPLE.with_columns(pl.concat_list("id")))
    with pytest.raises(SchemaError, match="Columns \\['age'\\] of the control table"):
        Intersection().run(peer(control=PEOPLE.with_columns(age=pl.lit("x"))), random_state=0)
    with pytest.raises(ParameterError, match="releases, each with its rows"):
        peer(earlier=[(FIRST, PEOPLE), SECOND])
    with pytest.raises(ParameterError, match="unchanged"):
        count_candidates(peer(), "town's")
