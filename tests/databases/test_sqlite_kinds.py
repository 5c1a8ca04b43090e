"""What SQLite does its own way: dates that are texts, keys without case, counters of keys."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings
from tests.databases.copying import CANARY, copied, make, rows

from halfmask._errors import HalfmaskError, PolicyError, SchemaError

KEY_MASK = '{ mask = { name = "token" } }'
MONTH = '{ mask = { name = "coarsened-dates", to = "month" } }'
DATES = """
create table t (k integer primary key, d date, t text, x text);
insert into t values (1, '2020-02-29', '0001-01-02 10:11:12', '2020-01-01T10:00:00'),
  (2, null, '9999-12-31 23:59:59', '2020-02-30');
"""


def policy(**columns):
    listed = "".join(f"{name} = {rule}\n" for name, rule in columns.items())
    return f"halfmask-database = 1\n[tables.t.columns]\n{listed}"


def test_texts_that_are_dates_take_masks_of_dates(tmp_path):
    _, path = copied(tmp_path, policy(k='"keep"', d=MONTH, t=MONTH, x='"keep"'), DATES)

    assert rows(path, "select d, t, x from t order by k") == [
        ("2020-02-01", "0001-01-01 00:00:00", "2020-01-01T10:00:00"),
        (None, "9999-12-01 00:00:00", "2020-02-30"),
    ]


def test_dates_of_a_person_move_together(tmp_path):
    moved = (
        '[[tables.t.masks]]\nname = "shifted-dates"\ncolumns = ["d", "t"]\nperson = "k"\n'
        "max_days = 20\n"
    )
    script = DATES.replace("0001-01-02", "2020-03-01").replace("9999-12-31", "2021-01-01")
    rules = policy(k='"keep"', d='"keep"', t='"keep"', x='"keep"')
    _, path = copied(tmp_path, rules + moved, script)

    ((d, t),) = rows(path, "select d, t from t where k = 1")
    by = dt.date.fromisoformat(d) - dt.date(2020, 2, 29)
    assert dt.datetime.fromisoformat(t) - by == dt.datetime(2020, 3, 1, 10, 11, 12)  # noqa: DTZ001
    assert 0 < abs(by.days) <= 20


def test_other_texts_are_refused_and_the_hint_says_which_are_dates(tmp_path):
    with pytest.raises(SchemaError, match="'x' has the mask") as caught:
        copied(tmp_path, policy(k='"keep"', d=MONTH, t=MONTH, x=MONTH), DATES)

    assert "2020-01-31" in (caught.value.hint or "")
    assert "[input]" not in str(caught.value)


@pytest.mark.parametrize("cell", ["2020-02-30", "2021-04-31", "2020-01-01 24:00:00"])
def test_dates_that_no_calendar_has_are_texts(tmp_path, cell):
    script = DATES.replace("2020-01-01T10:00:00", cell).replace("'2020-02-30'", f"'{cell}'")

    with pytest.raises(SchemaError, match=r"'x' has the mask .* for dates"):
        copied(tmp_path, policy(k='"keep"', d=MONTH, t=MONTH, x=MONTH), script)


NOCASE = """
create table t (k text primary key collate nocase, v text);
create table c (t text references t);
insert into t values ('Ann', 'x'), ('bo', 'y'), ('É', 'z'), ('é', 'w');
insert into c values ('ANN'), ('BO'), ('é'), (null);
"""


@pytest.mark.parametrize("v", ['"keep"', KEY_MASK])
@pytest.mark.parametrize(("k", "child"), [('"keep"', '"keep"'), (KEY_MASK, '"reference"')])
def test_keys_without_case_lead_to_rows(tmp_path, k, child, v):
    both = f"{policy(k=k, v=v)}[tables.c.columns]\nt = {child}\n"
    _, path = copied(tmp_path, both, NOCASE)

    assert rows(path, "pragma foreign_key_check") == []
    assert rows(path, "select count(distinct p.k) from c join t p on p.k = c.t") == [(3,)]


def test_a_counter_of_keys_stays_one(tmp_path):
    script = (
        "create table t (k integer primary key autoincrement, v text default (lower('X')),"
        ' "a)b");'
        "insert into t (k) values (5);"
    )
    rules = policy(k='"keep"', v='"keep"') + f"'a)b' = {KEY_MASK}\n"
    found, path = copied(tmp_path, rules, script)

    assert found.left_out == ()
    made = rows(path, "select sql from sqlite_schema where name = 't'")[0][0]
    assert "AUTOINCREMENT" in made
    assert rows(path, "select v from t") == [("x",)]
    rules = rules.replace('k = "keep"', 'k = { mask = { name = "reversible-token" } }')
    found, _ = copied(tmp_path, rules, script, name="other.db")
    assert "check 'AUTOINCREMENT' of the table 't'" in found.left_out


def test_a_kept_definition_has_no_comments(tmp_path):
    script = f"create table t (k integer, -- {CANARY}\n v text default '-- x' /* {CANARY} */);"
    _, path = copied(tmp_path, policy(k='"keep"', v='"keep"'), script)

    made = rows(path, "select sql from sqlite_schema")[0][0]
    assert CANARY not in made
    assert "'-- x'" in made


def test_views_and_triggers_are_listed(tmp_path):
    script = (
        "create table t (k integer, v text); create view seen as select k from t;"
        "create trigger told after insert on t begin select 1; end;"
    )
    found, _ = copied(tmp_path, policy(k='"keep"', v='"keep"'), script)

    assert found.left_out == ('trigger "told"', 'view "seen"')


TYPES = st.sampled_from(
    ["integer", "real", "numeric", "text", "", "text collate nocase", "text collate rtrim"]
)
CELLS = st.lists(
    st.sampled_from(["5", "05", "5.0", " 5", "6.50", "a", "A", "a ", 5, 6.5]),
    min_size=1,
    unique=True,
)


@settings(max_examples=20)
@given(parent=TYPES, child=TYPES, keys=CELLS, cells=CELLS, kept=st.booleans())
@example(parent="integer", child="text", keys=[5], cells=["05", " 5"], kept=False)
@example(parent="text collate rtrim", child="text", keys=["a"], cells=["a "], kept=False)
@example(parent="text", child="integer", keys=["05"], cells=["05"], kept=True)
def test_keys_lead_where_sqlite_says_that_they_lead(parent, child, keys, cells, kept):
    """Its check of foreign keys is the judge: of the source, and of the copy."""
    script = (
        f"create table p (n integer, k {parent} unique); create table c (n integer, k {child}"
        " references p (k));"
    )
    for table, given_ in (("p", keys), ("c", cells)):
        verb = "insert or ignore into"
        script += "".join(f"{verb} {table} values ({n}, {it!r});" for n, it in enumerate(given_))
    policy_ = "halfmask-database = 1\n" + "".join(
        f'[tables.{table}.columns]\nn = "keep"\nk = {rule}\n'
        for table, rule in (("p", '"keep"' if kept else KEY_MASK), ("c", '"reference"'))
    )
    joined = "select c.n, p.n from c join p on p.k = +c.k order by 1, 2"
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make(folder / "shop.db", script)
        lost = rows(folder / "shop.db", "pragma foreign_key_check")
        told, path = "", folder / "masked.db"
        try:
            copied(folder, policy_)
        except HalfmaskError as error:
            told = error.what
        if lost or told:
            assert bool(lost) == ("lacks them" in told) or "it must be one type" in told
            assert lost or "it must be one type" in told
            return
        assert rows(path, "pragma foreign_key_check") == []
        assert rows(path, joined) == rows(folder / "shop.db", joined)


def test_homes_move_and_a_mask_by_a_map_is_refused(tmp_path):
    script = "create table t (k integer primary key, x real, y real);\n" + "".join(
        f"insert into t values ({i}, {i % 3}000, {'null' if i == 4 else 5.5});" for i in range(9)
    )
    script = script.replace("1000, null", "null, null")
    donut = '[[tables.t.masks]]\nname = "donut"\ncolumns = ["x", "y"]\nunit = "metres"\n'
    rules = policy(k='"keep"', x='"keep"', y='"keep"') + donut
    _, path = copied(tmp_path, rules + "radius = [100, 500]\n", script)

    found = rows(path, "select x, y from t order by k")
    assert found[4] == (None, None)
    assert found[0] == found[3] != found[1]
    far = [((x - i % 3 * 1000) ** 2 + (y - 5.5) ** 2) ** 0.5 for i, (x, y) in enumerate(found) if x]
    assert 100 <= min(far) <= max(far) <= 500
    with pytest.raises(PolicyError, match="a database has no \\[maps\\]"):
        copied(tmp_path, rules + 'radius = [1, 9]\nwithin = "land"\n', script, name="other.db")
