"""SQL: the subset asks what the words say, and nothing else is let through."""

from __future__ import annotations

import sqlite3

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask import ColumnNotFoundError, HalfmaskError, PolicyError, SchemaError
from halfmask.dp.ledger import PrivacyLedger
from halfmask.dp.queries import Count, PrivateTable, query_sql, release_answer

RANDOM = np.random.default_rng(5)
ROWS = pl.DataFrame(
    {
        "age": RANDOM.integers(0, 100, 2000),
        "sex": RANDOM.choice(["f", "m"], 2000),
        "hours-per-week": RANDOM.integers(0, 60, 2000),
    }
)
SEXES = pl.DataFrame({"sex": ["f", "m"], "word": ["woman", "man"]})


@pytest.fixture
def table(tmp_path):
    ledger = PrivacyLedger.create(
        tmp_path / "v", ROWS, dataset="adult", epsilon=1e5, delta=1e-3, bounds={"age": (0, 99)}
    )
    return PrivateTable.open(ROWS, ledger=ledger)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM adult",
        "SELECT COUNT(age) AS n, SUM(age) AS s FROM adult WHERE sex = 'f' OR age > 50",
        "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM adult WHERE sex IN ('f', 'm') GROUP BY sex",
        "select sum(age) as s from adult where not (age between 20 and 30) and sex is not null",
        'SELECT COUNT(*) AS n FROM adult WHERE "hours-per-week" >= 40.5',
        "SELECT COUNT(DISTINCT sex) AS n FROM adult",
        """
        SELECT word, COUNT(*) AS n FROM adult JOIN sexes ON adult.sex = sexes.sex
        WHERE word IN ('man') GROUP BY word
        """,
        "SELECT COUNT(*) AS n FROM adult JOIN sexes USING (sex) WHERE word = 'man'",
        "SELECT sex AS s, COUNT(*) AS n FROM adult WHERE sex IN ('f', 'm') GROUP BY s",
        "SELECT sex AS age, COUNT(*) AS n FROM adult WHERE sex IN ('f', 'm') GROUP BY sex",
        "SELECT sex AS S, COUNT(*) AS n FROM adult WHERE sex IN ('f', 'm') GROUP BY s",
        """SELECT sex AS "A b", COUNT(*) AS n FROM adult WHERE sex IN ('f') GROUP BY "A b" """,
        """
        SELECT sexes.word AS w, COUNT(*) AS n FROM adult JOIN sexes USING (sex)
        WHERE word IN ('man', 'woman') GROUP BY w
        """,
        "SELECT COUNT(*) AS n, AVG(age) AS a FROM adult WHERE age >= 18 AND (sex = 'f')",
    ],
)
def test_answers_are_those_of_sqlite(table, sql):
    """SQLite shares no code with us; noise at epsilon 100 is far below the tolerance."""
    database = sqlite3.connect(":memory:")
    for name, frame in (("adult", ROWS), ("sexes", SEXES)):
        columns = ", ".join(f'"{column}"' for column in frame.columns)
        database.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * frame.width)
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", frame.rows())
    expected = sorted(database.execute(sql).fetchall())
    database.close()

    frame = query_sql(table, sql, public={"sexes": SEXES}).answer(epsilon=100.0).frame
    kept = [name for name in frame.columns if not name.endswith(("_low", "_high"))]
    found = sorted(frame.select(kept).rows())
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            assert mine == (
                other if isinstance(other, str) else pytest.approx(other, abs=30, rel=1e-3)
            )


def test_quantiles_and_histograms(table):
    sql = (
        "SELECT MEDIAN(age) AS m, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY "
        'CLAMP("hours-per-week", 0, 99)) AS p, VAR_POP(age) AS v FROM adult'
    )
    row = query_sql(table, sql).answer(epsilon=100.0).frame.row(0, named=True)
    assert row["m"] == pytest.approx(ROWS["age"].median(), abs=2)
    assert row["p"] == pytest.approx(ROWS["hours-per-week"].quantile(0.9), abs=2)
    assert row["v"] == pytest.approx(ROWS["age"].to_numpy().var(), rel=0.05)

    bins = "WIDTH_BUCKET(age, 0, 100, 4)"
    sql = f"SELECT {bins}, COUNT(*) FROM adult GROUP BY {bins}"
    frame = query_sql(table, sql).answer(epsilon=50.0).frame
    assert frame["age"].to_list() == ["[0, 25)", "[25, 50)", "[50, 75)", "[75, 100)"]
    expected = np.histogram(ROWS["age"], [0, 25, 50, 75, 100])[0]
    assert frame["count"].to_list() == pytest.approx(expected, abs=2)


@pytest.mark.parametrize("group", ["b", "WIDTH_BUCKET(age, 0, 100, 4)"])
def test_bins_may_have_a_name(table, group, tmp_path):
    sql = f"SELECT WIDTH_BUCKET(age, 0, 100, 4) AS b, COUNT(*) AS n FROM adult GROUP BY {group}"
    question = query_sql(table, sql)
    answer = question.answer(epsilon=50.0)
    assert answer.frame.columns == ["b", "n", "n_low", "n_high"]
    assert answer.frame["b"].to_list() == ["[0, 25)", "[25, 50)", "[50, 75)", "[75, 100)"]
    release_answer(question, answer, tmp_path / "answer")
    assert halfmask.verify(tmp_path / "answer").holds


def test_a_name_in_group_by_is_the_same_question_and_is_released(table, tmp_path):
    where = "FROM adult WHERE sex IN ('f', 'm')"
    question = query_sql(table, f"SELECT sex AS s, COUNT(*) AS n {where} GROUP BY s")
    answer = question.answer(epsilon=1.0)
    plain = query_sql(table, f"SELECT sex, COUNT(*) {where} GROUP BY sex").answer(epsilon=1.0)
    assert plain.from_book
    assert plain.frame.rows() == answer.frame.rows()
    release_answer(question, answer, tmp_path / "answer")
    assert halfmask.verify(tmp_path / "answer").holds


def test_a_quoted_name_is_another_than_the_same_word_in_small_letters(table):
    with pytest.raises(PolicyError, match="isn't in GROUP BY"):
        query_sql(table, 'SELECT sex AS "S", COUNT(*) FROM adult GROUP BY s')


def test_a_name_of_group_by_is_the_tables_column_first(table):
    """As in PostgreSQL: here the groups are sexes, so that the bins are none of them."""
    sql = "SELECT WIDTH_BUCKET(age, 0, 100, 4) AS sex, COUNT(*) FROM adult GROUP BY sex"
    with pytest.raises(PolicyError, match="WIDTH_BUCKET in SELECT"):
        query_sql(table, sql)


@pytest.mark.parametrize(
    ("where", "shared"),
    [
        ("age >= 18", True),
        ("age IS NOT NULL", True),
        ("NOT age IS NULL AND sex = 'f'", True),
        ("(age BETWEEN 18 AND 30)", True),
        ("age IN (18, 30)", True),
        ("sex = 'f'", False),
        ("age > 18 OR sex = 'f'", False),
        ("age IS NULL", False),
        ("NOT age > 18", False),
    ],
)
def test_a_count_and_a_mean_share_a_number_where_no_value_is_missing(table, where, shared):
    sql = f"SELECT COUNT(*), AVG(age){{}} FROM adult WHERE {where}"
    plan = query_sql(table, sql.format("")).plan(epsilon=1.0)
    assert len(plan.measures) == (2 if shared else 3)
    assert len(plan.events()) == 2
    assert ("missing cells of 'age'" in plan.explain()) is not shared
    assert [each.label for each in plan.expected_errors()] == ["count", "mean_age"]
    more = query_sql(table, sql.format(', SUM(age), AVG(CLAMP("hours-per-week", 0, 99))')).plan(
        epsilon=1.0
    )
    assert ("are counted apart" in more.explain()) is not shared


def test_nan_is_a_missing_value_for_conditions(tmp_path):
    rows = pl.DataFrame({"x": [1.0, 5.0, 9.0, float("nan"), None] * 100})
    ledger = PrivacyLedger.create(tmp_path / "v", rows, dataset="d", epsilon=1e5, delta=0.0)
    opened = PrivateTable.open(rows, ledger=ledger)
    for where, expected in (
        ("x > 2", 200), ("x <> 5", 200), ("x IS NULL", 200), ("x IS NOT NULL", 300)
    ):  # fmt: skip
        asked = opened.where(where).select(Count())
        assert asked.answer(epsilon=100.0).value == pytest.approx(expected, abs=1)


def test_the_same_question_in_python_and_sql_is_charged_once(table):
    asked = query_sql(table, "SELECT COUNT(*) FROM adult WHERE age>=30").answer(epsilon=1.0)
    again = table.where("age >= 30").select(Count()).answer(epsilon=1.0)
    assert again.from_book
    assert again.frame.equals(asked.frame)


def test_a_question_with_other_names_is_the_same_one(table):
    first = "SELECT sex, COUNT(*), AVG(age) FROM adult WHERE sex IN ('f', 'm') GROUP BY sex"
    again = (
        "SELECT adult.sex AS s, COUNT(*) AS n, AVG(age) AS a FROM adult "
        "WHERE sex IN ('f', 'm') GROUP BY sex"
    )
    asked = query_sql(table, first).answer(epsilon=1.0)
    named = query_sql(table, again).answer(epsilon=0.5)
    assert named.from_book
    assert named.frame.rows() == asked.frame.rows()
    names = ["s", "n", "n_low", "n_high", "a", "a_low", "a_high"]
    assert named.frame.columns == names
    assert [each.partition(":")[0] for each in named.errors] == ["n", "a"]
    assert named.epsilon == 1.0
    assert len(table.ledger.charges) == 1
    other = "SELECT sex, AVG(age), COUNT(*) FROM adult WHERE sex IN ('f', 'm') GROUP BY sex"
    assert not query_sql(table, other).answer(epsilon=1.0).from_book


def test_a_charge_names_the_bins_of_its_question(table):
    query_sql(
        table,
        "SELECT WIDTH_BUCKET(age, 0, 100, 2) AS b, COUNT(*) AS n FROM adult "
        'WHERE "hours-per-week" > 3 GROUP BY b',
    ).answer(epsilon=1.0)
    (charge,) = table.ledger.charges
    assert charge.purpose == (
        'COUNT(*) WHERE ("hours-per-week" > 3) GROUP BY WIDTH_BUCKET(age, ARRAY[0.0, 50.0, 100.0])'
    )


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("SELECT * FROM adult", r"\* in SELECT"),
        ("SELECT LENGTH(sex) FROM adult", "the function LENGTH in SELECT"),
        ("SELECT foo(sex) FROM adult", "the function FOO in SELECT"),
        ("SELECT COUNT(*) FROM adult GROUP BY LOWER(sex)", "the function LOWER where a column"),
        ("SELECT COUNT(*) FROM adult GROUP BY 1", "a literal where a column"),
        ("SELECT COUNT(*) AS n FROM adult GROUP BY n", "the function COUNT where a column"),
        ("SELECT sex AS a, sex AS b, COUNT(*) FROM adult GROUP BY sex", "has twice"),
        ("SELECT sex AS a, age AS a, COUNT(*) FROM adult GROUP BY a", "a name in GROUP BY that"),
        ("SELECT sex AS a, COUNT(*) AS a FROM adult GROUP BY a", "a name in GROUP BY that"),
        ("SELECT age FROM adult", "isn't in GROUP BY"),
        ("SELECT MAX(age) FROM adult", "MAX"),
        ("SELECT DISTINCT COUNT(*) FROM adult", "DISTINCT"),
        ("SELECT COUNT(*) FROM adult ORDER BY 1", "ORDER"),
        ("SELECT COUNT(*) FROM adult LIMIT 1", "LIMIT"),
        ("SELECT COUNT(*) FROM adult OFFSET 1", "OFFSET"),
        ("SELECT sex, COUNT(*) FROM adult GROUP BY sex HAVING COUNT(*) > 1", "HAVING"),
        ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM adult", "WITH"),
        ("SELECT COUNT(*) FROM (SELECT * FROM adult)", "subquery"),
        ("SELECT COUNT(*) FROM adult a", "alias"),
        ("SELECT COUNT(*) FROM s.adult", "schema"),
        ("SELECT COUNT(*) FROM adult TABLESAMPLE BERNOULLI (10)", "sample"),
        ("SELECT COUNT(*) FROM other", "adult"),
        ("SELECT COUNT(*) FROM adult, sexes", "JOIN by"),
        ("SELECT COUNT(*) FROM adult LEFT JOIN sexes USING (sex)", "inner"),
        ("SELECT COUNT(*) FROM adult JOIN secret USING (sex)", "secret"),
        ("SELECT COUNT(*) FROM adult JOIN adult USING (sex)", "'adult' isn't given"),
        ("SELECT COUNT(*) FROM adult JOIN sexes ON adult.age > 3", "JOIN by"),
        ("SELECT COUNT(*) FROM adult JOIN sexes ON adult.sex = adult.sex", "JOIN by"),
        ("SELECT COUNT(*) + 1 FROM adult", "arithmetic"),
        ("SELECT SUM(age * age) FROM adult", "arithmetic"),
        ("SELECT SUM(DISTINCT age) FROM adult", "DISTINCT"),
        ("SELECT COUNT(*) FILTER (WHERE age > 3) FROM adult", "FILTER"),
        ("SELECT COUNT(*) OVER () FROM adult", "WINDOW"),
        ("SELECT SUM(POW(age, 2)) FROM adult", "POW"),
        ("SELECT SUM(FOO(age)) FROM adult", "FOO"),
        ("SELECT VARIANCE(age) FROM adult", "VARIANCE"),
        ("SELECT COUNT(*) FROM adult GROUP BY ROLLUP (sex)", "ROLLUP"),
        ("SELECT COUNT(*) FROM adult GROUP BY age + 1", "arithmetic"),
        ("SELECT COUNT(*) FROM adult WHERE age > 1e400", "too large"),
        ("SELECT COUNT(*) FROM adult WHERE other.age = 3", "a column of 'other'"),
        ("SELECT COUNT(*) FROM adult WHERE sexes.sex = 'f'", "a column of 'sexes'"),
        ("SELECT SUM(other.age) FROM adult", "a column of 'other'"),
        ("SELECT other.sex, COUNT(*) FROM adult GROUP BY other.sex", "a column of 'other'"),
        ("SELECT COUNT(*) FROM adult GROUP BY age, WIDTH_BUCKET(age, 0, 9, 3)", "twice"),
        ("SELECT COUNT(*) FROM adult WHERE age > (SELECT 1)", "SUBQUERY"),
        ("SELECT COUNT(*) FROM adult WHERE EXISTS (SELECT 1)", "EXISTS"),
        ("SELECT COUNT(*) FROM adult UNION SELECT COUNT(*) FROM adult", "other than SELECT"),
        ("SELECT COUNT(*) INTO x FROM adult", "INTO"),
        ("SELECT COUNT(*) FROM adult FOR UPDATE", "LOCKS"),
        ("SELECT COUNT(*)", "FROM"),
        ("SELECT COUNT(*) FROM adult; SELECT 1", "2 statements"),
        ("DROP TABLE adult", "other than SELECT"),
        ("INSERT INTO adult VALUES (1)", "other than SELECT"),
        ("SELEC COUNT(*) FROM", "read"),
        ("", "SELECT"),
    ],
)
def test_what_is_outside_of_the_subset_is_refused_by_name(table, sql, named):
    with pytest.raises(PolicyError, match=named):
        query_sql(table, sql, public={"sexes": SEXES})
    assert not table.ledger.charges


@pytest.mark.parametrize(
    "sql", ["SELECT " + "(" * 5000, "SELECT 1 WHERE " + "NOT " * 3000 + "a", "\0", "x" * 20000]
)
def test_statements_that_no_parser_likes_are_refused(table, sql):
    with pytest.raises(HalfmaskError):
        query_sql(table, sql)


def test_a_column_is_one_of_the_table_that_it_is_said_to_be_of(table):
    sql = "SELECT COUNT(*) FROM adult JOIN sexes USING (sex) WHERE {} = 'man'"
    public = {"sexes": SEXES}
    query_sql(table, sql.format("sexes.word"), public=public)
    with pytest.raises(ColumnNotFoundError, match="'adult'"):
        query_sql(table, sql.format("adult.word"), public=public)
    table.where("adult.age > 3").select(Count())
    with pytest.raises(PolicyError, match="a column of 'other'"):
        table.where("other.age > 3").select(Count())


def test_keys_that_where_lists_count_no_row_twice(table):
    sql = "SELECT age, COUNT(*) FROM adult WHERE age IN (30, 30.25) GROUP BY age"
    with pytest.raises(SchemaError, match="'age'"):
        query_sql(table, sql)
