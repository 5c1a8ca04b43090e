"""The joint classes of several releases, against a count by sets of people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.book.joint_oracle import Rows, candidates_in, groups_of

from halfmask._errors import ParameterError
from halfmask.book._joint import CodedRelease, JointClasses, join_classes, number_people

N_PERSONS = 200


def coded(rows: Rows) -> CodedRelease:
    persons, classes, values = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return CodedRelease(persons=persons, classes=classes, sensitive={"s": values})


def joined(*releases: Rows) -> JointClasses:
    return join_classes([coded(rows) for rows in releases], N_PERSONS)


@st.composite
def series(draw: st.DrawFn) -> list[Rows]:
    """Releases of a growing and shrinking table; some people have several rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_values, several = (
        draw(st.sampled_from([1, 4, 64, 65, 400])),
        draw(st.sampled_from([0.0, 0.1, 1.0])),
    )
    values = rng.integers(0, n_values, N_PERSONS)
    found = []
    for _ in range(draw(st.integers(1, 4))):
        people = rng.permutation(N_PERSONS)[: rng.integers(1, N_PERSONS)]
        people = np.append(people, people[rng.random(len(people)) < several])
        classes = rng.integers(0, draw(st.sampled_from([1, 3, 30])), len(people))
        changed = rng.integers(0, n_values, N_PERSONS)
        theirs = np.where(rng.random(N_PERSONS) < draw(st.sampled_from([0, 0.1])), changed, values)
        found.append(
            list(zip(people.tolist(), classes.tolist(), theirs[people].tolist(), strict=True))
        )
    return found


@given(series())
def test_groups_are_those_of_a_count_person_by_person(releases: list[Rows]) -> None:
    joint, groups = joined(*releases), groups_of(releases)
    least, greatest = joint.spreads["s"][0]
    assert joint.n_groups == len(groups)
    for people, l, t in groups:
        (number,) = set(joint.groups[list(people)].tolist())
        assert joint.sizes[number] == len(people)
        assert least[number] == l
        assert greatest[number] == float(t)
    assert joint.sizes.min() == min(len(group.people) for group in groups)


@given(series())
def test_candidates_are_what_a_persons_classes_have_in_all_releases(releases: list[Rows]) -> None:
    joint = joined(*releases)
    for counts, counted in zip(joint.count_candidates("s"), (releases, releases[:-1]), strict=True):
        candidates = candidates_in(counted)
        assert counts.tolist() == [len(candidates.get(p, ())) for p in range(N_PERSONS)]


def test_golden_of_anonypyx() -> None:
    # anonypyx's test of its intersection attack (MIT): persons 0 and 1, values 1 to 5.
    first = [(0, 0, 1), (2, 0, 2), (1, 1, 3), (3, 1, 4)]
    second = [(0, 0, 1), (4, 0, 5), (1, 1, 3), (3, 1, 4)]
    assert candidates_in([first, second])[0] == {1}
    assert candidates_in([first, second])[1] == {3, 4}
    counts = joined(first, second).count_candidates("s")[0]
    assert counts[:2].tolist() == [1, 2]
    without = joined([row for row in first if row[0] != 0], second)
    assert without.count_candidates("s")[0][0] == len(candidates_in([second])[0]) == 2


def test_composition_of_three_releases() -> None:
    # Any two of the three leave groups of two; all three leave nobody in company.
    first = [(p, p // 4, 0) for p in range(8)]
    second = [(p, p % 4 // 2, 0) for p in range(8)]
    third = [(p, p % 2, 0) for p in range(8)]
    for pair in ((first, second), (second, third), (first, third)):
        assert joined(*pair).sizes.min() == 2
    assert joined(first, second, third).sizes.min() == 1


def test_who_leaves_and_comes_back_is_a_group() -> None:
    everybody = [(p, 0, p) for p in range(6)]
    without = [row for row in everybody if row[0] != 3]
    joint = joined(everybody, without, everybody)
    assert joint.sizes.min() == 1
    assert joint.sizes[joint.groups[:6]].tolist() == [5, 5, 5, 1, 5, 5]


def test_newcomers_are_found_by_the_difference_of_two_releases() -> None:
    old = [(p, 0, p) for p in range(10)]
    joint = joined(old, [*old, (10, 0, 10), (11, 0, 11)])
    assert joint.sizes[joint.groups[:12]].tolist() == [10] * 10 + [2, 2]


def test_a_person_with_several_rows_has_the_set_of_classes() -> None:
    joint = joined([(0, 0, 0), (0, 1, 1), (1, 1, 0), (1, 0, 0), (1, 0, 2), (2, 0, 0)])
    assert joint.groups[0] == joint.groups[1] != joint.groups[2]
    assert joint.count_candidates("s")[0][:3].tolist() == [3, 3, 2]


def test_a_unit_of_matched_people_counts_its_most_rows() -> None:
    rows = coded([(0, 0, 0), (0, 0, 1), (1, 1, 0)])
    more = coded([(0, 0, 0), (1, 0, 1), (1, 0, 1), (1, 0, 1)])
    releases = [
        CodedRelease(
            persons=one.persons,
            classes=one.classes,
            sensitive=one.sensitive,
            matched=True,
        )
        for one in (rows, more)
    ]
    joint = join_classes(releases, 3)
    assert joint.sizes[joint.groups[:2]].tolist() == [2, 3]
    assert joint.sizes.min() == 2


@given(series())
def test_any_numbers_may_stand_for_classes(releases: list[Rows]) -> None:
    far = [[(p, c * 2**57 + 7, v) for p, c, v in rows] for rows in releases]
    assert joined(*far).groups.tolist() == joined(*releases).groups.tolist()


def test_a_release_without_classes_says_nothing() -> None:
    rows = coded([(0, 0, 0), (1, 0, 1)])
    bare = CodedRelease(persons=np.array([0]), classes=np.array([-1]))
    assert join_classes([rows, bare], 3).sizes.min() == 2
    empty = join_classes([bare], 3)
    assert (empty.columns, empty.n_groups) == ((), 0)
    with pytest.raises(ParameterError, match="or none"):
        CodedRelease(persons=np.array([0, 1]), classes=np.array([-1, 0]))


def test_a_column_of_one_release_only() -> None:
    rows = coded([(p, 0, 0) for p in range(3)])
    bare = CodedRelease(persons=np.arange(3, 6), classes=np.zeros(3, dtype=np.int64))
    joint = join_classes([bare, rows], 6)
    assert min(joint.spreads["s"][0].least.tolist()) == 1
    assert joint.count_candidates("s")[0].tolist() == [1, 1, 1, 0, 0, 0]
    assert join_classes([bare], 6).columns == ()


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=4), st.integers(0, 120))
def test_people_are_numbered_by_whole_digests(people: list[list[int]], shift: int) -> None:
    # Digests that agree in all but some bits: the number of a person says where they differ.
    texts = [[(person << shift).to_bytes(16, "little") for person in one] for one in people]
    digests = [np.frombuffer(b"".join(one), dtype="V16") for one in texts]
    numbers, n_people = number_people(digests)
    seen: dict[bytes, int] = {}
    for mine, theirs in zip(numbers, texts, strict=True):
        assert len(mine) == len(theirs)
        for number, text in zip(mine.tolist(), theirs, strict=True):
            assert seen.setdefault(text, number) == number
    assert sorted(seen.values()) == list(range(n_people))
