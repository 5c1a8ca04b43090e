"""Subsets: references lead to rows, the rows asked for are there, and no others by chance."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.databases.copying import POLICY, copied, rows

from halfmask._errors import DataError, PolicyError

WITH = POLICY.replace('name = "drop"', 'name = "keep"', 1)


def subset(text):
    return f'{WITH}[subset]\ntable = "people"\n{text}\n'


def test_references_are_followed_both_ways(tmp_path):
    """Cem's order and line come along, and those that he reports to, but not their orders."""
    found, path = copied(tmp_path, subset("where = \"name = 'Cem'\""))

    assert [it.n_rows for it in found.tables] == [1, 1, 3, 0]
    assert rows(path, "select id from orders") == [(12,)]
    assert rows(path, "pragma foreign_key_check") == []


@pytest.mark.parametrize(("text", "people"), [("limit = 2", 2), ("fraction = 0.5", 2)])
def test_a_share_of_the_rows_is_drawn_by_the_key(tmp_path, text, people):
    script = "create table people (id integer primary key);" + "".join(
        f"insert into people values ({n});" for n in range(4)
    )
    policy = (
        'halfmask-database = 1\n[tables.people.columns]\nid = "keep"\n'
        f'[subset]\ntable = "people"\n{text}\n'
    )
    found, path = copied(tmp_path, policy, script)
    _, again = copied(tmp_path, policy, script, name="again.db")
    drawn = {
        tuple(rows(copied(tmp_path, policy, script, name=f"{n}.db", key=bytes([n] * 32))[1],
                   "select id from people"))
        for n in range(12)
    }  # fmt: skip

    assert found.n_rows == people
    assert rows(path, "select id from people") == rows(again, "select id from people")
    assert len(drawn) > 2


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("where = \"name = 'Nobody'\"", DataError, "The subset has no row"),
        ('where = "nonsense ("', DataError, "by its 'where'.*Hint: Try it in the database"),
        ("where = \"name = 'x' and nothing\"", DataError, r"\[subset\].*WHERE and the condition"),
    ],
)
def test_a_subset_of_nobody_is_an_error(tmp_path, text, error, says):
    with pytest.raises(error, match=f"(?s){says}"):
        copied(tmp_path, subset(text))

    assert [it.name for it in tmp_path.iterdir()] == ["shop.db"]


def test_the_table_of_the_subset_is_copied(tmp_path):
    policy = subset("limit = 1").replace('table = "people"', 'table = "peple"')
    with pytest.raises(PolicyError, match="must name a table that is copied"):
        copied(tmp_path, policy)


TABLES = ("a", "b", "c", "d")


@st.composite
def databases(draw):
    """Some tables, any references between them (cycles too), and some rows."""
    keys = draw(st.lists(st.tuples(st.sampled_from(TABLES), st.sampled_from(TABLES)), max_size=6))
    sizes = {name: draw(st.integers(1, 6)) for name in TABLES}
    cells = {
        (name, number): [
            draw(st.one_of(st.none(), st.integers(1, sizes[parent]))) for _ in range(sizes[name])
        ]
        for number, (name, parent) in enumerate(keys)
    }
    return keys, sizes, cells


def expected(keys, sizes, cells, chosen):  # noqa: C901 - three loops over sets, naive on purpose
    """Return the rows that are kept, by sets, as the documentation says it."""

    def refs(name):
        return [(n, parent) for n, (child, parent) in enumerate(keys) if child == name]

    kept: dict[str, set[int]] = {name: set() for name in TABLES}
    kept["a"] = set(chosen)
    reached, level = {"a"}, {"a"}
    while level:
        level = {c for c, p in keys if p in level} - reached
        for name in level:
            for number, parent in refs(name):
                if parent in reached:
                    kept[name] |= {
                        row for row, value in enumerate(cells[name, number], 1)
                        if value in kept[parent]
                    }  # fmt: skip
        reached |= level
    while True:
        more = [
            (parent, cells[name, number][row - 1])
            for name in TABLES
            for number, parent in refs(name)
            for row in kept[name]
            if cells[name, number][row - 1] not in kept[parent] | {None}
        ]
        if not more:
            break
        for parent, row in more:
            kept[parent].add(row)
    reached |= {parent for name in TABLES for _, parent in refs(name) if kept[parent]}
    others = [name for name in TABLES if name not in reached]
    for name in others:
        kept[name] = set(range(1, sizes[name] + 1))
    while True:
        lost = [
            (name, row)
            for name in others
            for number, parent in refs(name)
            for row in kept[name]
            if cells[name, number][row - 1] not in kept[parent] | {None}
        ]
        if not lost:
            return kept
        for name, row in lost:
            kept[name].discard(row)


@pytest.mark.slow
@settings(max_examples=25)
@given(databases(), st.sets(st.integers(1, 6), min_size=1))
def test_the_kept_rows_are_those_of_a_naive_reference(tmp_path_factory, database, chosen):
    keys, sizes, cells = database
    chosen = {row for row in chosen if row <= sizes["a"]} or {1}
    script, policy = "", "halfmask-database = 1\n"
    for name in TABLES:
        mine = [(n, parent) for n, (child, parent) in enumerate(keys) if child == name]
        columns = "".join(f", r{n} integer references {parent}" for n, parent in mine)
        script += f"create table {name} (id integer primary key{columns});"
        for row in range(1, sizes[name] + 1):
            values = [cells[name, n][row - 1] for n, _ in mine]
            listed = ", ".join("null" if it is None else str(it) for it in (row, *values))
            script += f"insert into {name} values ({listed});"
        policy += f'[tables.{name}.columns]\nid = "keep"\n'
        policy += "".join(f'r{n} = "keep"\n' for n, _ in mine)
    listed = ", ".join(map(str, chosen))
    policy += f'[subset]\ntable = "a"\nwhere = "id in ({listed})"\n'

    _, path = copied(tmp_path_factory.mktemp("subset"), policy, script)

    found = {name: {row for (row,) in rows(path, f"select id from {name}")} for name in TABLES}
    assert found == expected(keys, sizes, cells, chosen)
    assert rows(path, "pragma foreign_key_check") == []


def test_new_rows_of_a_table_join_the_copy_of_the_others(tmp_path):
    """As the page proposes for a table that is too large to be copied whole each night."""
    orders = POLICY[POLICY.index("[tables.orders") : POLICY.index("[tables.lines")]
    others = POLICY.replace(orders, "[tables.orders]\ndrop = true\n")
    new = f'{POLICY}[subset]\ntable = "orders"\nwhere = "id > 11"\n'

    _, whole = copied(tmp_path, others, name="others.db")
    _, part = copied(tmp_path, new, name="new.db")

    people = {it for (it,) in rows(whole, "select id from people")}
    buyers = {it for (it,) in rows(part, "select buyer from orders")}
    assert len(people) == 4
    assert len(buyers) == 2
    assert buyers < people
