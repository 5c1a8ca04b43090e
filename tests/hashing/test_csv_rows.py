"""Plain CSV files straight into hashed rows: the same rows as through a table, or through one."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import DataError, HalfmaskError, SchemaError
from halfmask.data import ReadOptions
from halfmask.hashing import FileHasher, HashedRows, HasherSettings, TableReading, _csv_rows
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))
ROWS = pl.DataFrame(
    {
        "town": ["Bree", "Dale", None, "a rather long name of a town", "Ühl"],
        "zip": [1, 20, 300, 4000, None],
        "fee": [0.5, 1e3, None, -2.25, 3.0],
        "age": [17, 41, 33, None, 90],
        "pays": ["yes", "no", "yes", "no", "yes"],
    }
)


def hasher(*, numbers="log", label="pays", frame=ROWS, task=None, **more):
    told = HasherSettings(bits=20, numbers=numbers, categorical=("zip",), **more)
    return FileHasher.fit(frame, settings=told, secret=SECRET, label=label, task=task)


def through(hasher, path, *, plain, monkeypatch, **more):
    """The rows of a file as one; by the plain way alone, or by the other alone."""
    with monkeypatch.context() as patch:
        other = "_any_rows" if plain else "_plain_rows"
        patch.setattr(FileHasher, other, lambda *_, **__: iter(()) if plain else None)
        return HashedRows.concat(hasher.rows(path, **more))


def same(hasher, path, monkeypatch, **more):
    straight = through(hasher, path, plain=True, monkeypatch=monkeypatch, **more)
    around = through(hasher, path, plain=False, monkeypatch=monkeypatch, **more)
    return straight.equals(around)


def written(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("numbers", ["log", "quantiles"])
@pytest.mark.parametrize("bins", [2, 4, 200])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_rows_are_those_of_the_table(numbers, bins, ends, delimiter, tmp_path, monkeypatch):
    """Texts, whole numbers as categories, numbers in bins, missing cells, labels."""
    made = hasher(numbers=numbers, bins=bins)
    lines = ROWS.write_csv(separator=delimiter).replace("\n", ends)
    path = written(tmp_path / "table.csv", lines)

    assert same(made, path, monkeypatch)
    assert through(made, path, plain=True, monkeypatch=monkeypatch).equals(
        HashedRows.concat(made.rows(ROWS))
    )


def cells(kind):
    texts = st.text(st.sampled_from('ab ,"\n;é0'), max_size=20)
    found = {
        "town": texts,
        "zip": st.integers(-(10**17), 10**17).map(str) | st.sampled_from(["007", "-0", "+5"]),
        "fee": st.floats(allow_nan=False, allow_infinity=False).map(repr)
        | st.decimals(-(10**9), 10**9, places=3).map(str)
        | st.sampled_from(["1.", ".5", "-.5", "1e5", "1E-3", "0.1e2", "-0.0", "00.5"]),
        "age": st.integers(-5, 10**9).map(str),
        "pays": st.sampled_from(["yes", "no"]),
    }
    return found[kind] if kind == "pays" else st.just("") | found[kind]


rows = st.lists(st.tuples(*(cells(name) for name in ROWS.columns)), min_size=1, max_size=30)


@pytest.mark.slow
# A fee of three decimals in each row could have points between thousands.
@pytest.mark.filterwarnings("ignore::halfmask._errors.ColumnWarning")
@given(
    table=rows,
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    ends=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
    block=st.integers(90, 900),
)
@settings(max_examples=25, deadline=None)
def test_any_table_gives_the_same_rows(table, quoting, ends, closed, block, tmp_path_factory):
    """However it is quoted, wherever blocks end; where it isn't plain, the other way goes on."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=quoting, lineterminator=ends)
    writer.writerow(ROWS.columns)
    writer.writerows(table)
    text = out.getvalue() if closed else out.getvalue().removesuffix(ends)
    path = written(tmp_path_factory.mktemp("any") / "table.csv", text)
    made = hasher()

    def told():
        try:
            return HashedRows.concat(made.rows(path))
        except HalfmaskError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_csv_rows, "BLOCK", block)
        straight = told()
        patch.setattr(FileHasher, "_plain_rows", lambda *_, **__: None)
        around = told()

    assert straight.equals(around) if isinstance(straight, HashedRows) else straight == around


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("where", [0, 1, 700, 1999, 2000])
@pytest.mark.parametrize("closed", [True, False])
def test_a_header_in_the_middle_is_refused(where, ends, closed, tmp_path, monkeypatch):
    """Of texts alone, it would be hashed as one more person."""
    frame = ROWS.select("town", pays="pays").fill_null("x")[[0, 1, 2, 3] * 500]
    made = FileHasher.fit(frame, settings=HasherSettings(bits=20), secret=SECRET)
    lines = frame.write_csv(quote_style="never").splitlines()
    lines.insert(where + 1, lines[0])
    path = written(tmp_path / "table.csv", ends.join(lines) + (ends if closed else ""))
    monkeypatch.setattr(_csv_rows, "BLOCK", 1 << 10)

    with pytest.raises(SchemaError, match=rf"Row {where + 2} .*repeats the header"):
        list(made.rows(path))


def test_many_blocks_are_one_table(tmp_path, monkeypatch):
    """Rows keep their order over the ends of blocks."""
    rng = np.random.default_rng(1)
    frame = ROWS[rng.integers(0, 5, 3000)]
    made = hasher()
    path = tmp_path / "table.csv"
    frame.write_csv(path)
    monkeypatch.setattr(_csv_rows, "BLOCK", 1 << 10)

    assert through(made, path, plain=True, monkeypatch=monkeypatch).equals(
        HashedRows.concat(made.rows(frame))
    )


@pytest.mark.parametrize(
    "odd",
    [
        '"a ""quoted"" town",1,1,1,yes\n',
        'a 5" pipe,1,1,1,yes\n',
        "Bree,1,nan,1,yes\n",
        "\nBree,1,1,1,yes\n",
        "Bree,1,1,1,yes\r",
    ],
)
def test_what_is_not_plain_is_read_by_the_other_way(odd, tmp_path, monkeypatch):
    """Rows that were given before aren't given again."""
    made = hasher()
    head, *lines = ROWS.write_csv().splitlines(keepends=True)
    path = written(tmp_path / "table.csv", head + "".join(lines * 50) + odd + "".join(lines))
    monkeypatch.setattr(_csv_rows, "BLOCK", 200)
    parts = list(made.rows(path))
    whole = HashedRows.concat(parts)

    assert len(parts) > 1
    assert whole.equals(through(made, path, plain=False, monkeypatch=monkeypatch))


@pytest.mark.parametrize(
    "wrong",
    [
        "Bree,1,1,1\n",
        "Bree,1,1,1,yes,more\n",
        "Bree,1,abc,1,yes\n",
        "Bree,1,123456789012345678901234567890,1,yes\n",
        "Bree,1,1e400,1,yes\n",
        "Bree,007,1,1,yes\n",
        "Bree,1,007,1,yes\n",
        "Bree,+1,1,1,yes\n",
        "Bree,1,+1,1,yes\n",
        "Bree,1,1,1,perhaps\n",
        "Bree,1,1,1,\n",
        '"Bree,1,1,1,yes\n',
    ],
)
def test_what_is_wrong_is_the_same_error(wrong, tmp_path, monkeypatch):
    """Whichever way it is read."""
    made = hasher()
    path = written(tmp_path / "table.csv", ROWS.write_csv() + wrong)
    with pytest.raises(HalfmaskError) as straight:
        list(made.rows(path))
    with pytest.raises(HalfmaskError) as around:
        through(made, path, plain=False, monkeypatch=monkeypatch)

    assert str(straight.value) == str(around.value)
    assert type(straight.value) is type(around.value)


def test_bytes_that_are_not_utf_8_are_an_error(tmp_path):
    """As everywhere."""
    path = written(tmp_path / "table.csv", ROWS.write_csv().encode() + b"\xff,1,1,1,yes\n")
    with pytest.raises(DataError, match="utf-8"):
        list(hasher().rows(path))


def test_marks_compression_and_folders_make_no_difference(tmp_path, monkeypatch):
    """A byte-order mark, gzip, and several files that are one table."""
    text = ROWS.write_csv().encode()
    made = hasher()
    plain = through(made, written(tmp_path / "a.csv", text), plain=True, monkeypatch=monkeypatch)
    marked = written(tmp_path / "b.csv", b"\xef\xbb\xbf\r\n" + text)
    packed = written(tmp_path / "c.csv.gz", gzip.compress(text))
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("1.csv", "2.csv"):
        written(folder / name, text)

    for other in (marked, packed):
        assert through(made, other, plain=True, monkeypatch=monkeypatch).equals(plain)
    assert through(made, folder, plain=True, monkeypatch=monkeypatch).equals(
        HashedRows.concat([plain, plain])
    )


def test_columns_may_be_left_out_and_stand_anywhere(tmp_path, monkeypatch):
    """A row is what its cells are, in whatever order the file has them."""
    made = hasher()
    frame = ROWS.select("fee", "pays", pl.lit("x,y").alias("other"), "age", "zip", "town")
    path = tmp_path / "table.csv"
    frame.write_csv(path)
    reading = TableReading(leave_out=["other"])

    assert same(made, path, monkeypatch, reading=reading)
    assert same(made, path, monkeypatch, reading=reading, labelled=False)
    with pytest.raises(HalfmaskError, match="other"):
        list(made.rows(path))


@pytest.mark.parametrize(
    ("label", "task"),
    [("pays", None), ("age", "classification"), ("age", "regression"), ("fee", "regression"),
     (None, None)],
)  # fmt: skip
def test_labels_of_every_kind(label, task, tmp_path, monkeypatch):
    """Classes of texts and of whole numbers, numbers, and none."""
    frame = ROWS.drop_nulls()
    made = hasher(label=label, task=task, frame=frame)
    path = tmp_path / "table.csv"
    frame.write_csv(path)

    assert same(made, path, monkeypatch)


@pytest.mark.parametrize(
    "more",
    [
        {"signed": True},
        {"interactions": (("town", "age"),)},
        {"text": ("town",)},
        {"numbers": "raw"},
    ],
)
def test_what_only_tables_can_is_left_to_them(more, tmp_path):
    """Signs, interactions, words and numbers that are kept."""
    made = hasher(**more)
    path = tmp_path / "table.csv"
    ROWS.write_csv(path)

    assert made._plain_rows(path, labelled=None, reading=TableReading()) is None
    assert HashedRows.concat(made.rows(path)).equals(HashedRows.concat(made.rows(ROWS)))


def test_options_are_left_to_tables(tmp_path):
    """What is missing, or how dates are spelled, is for the reader of all files."""
    path = tmp_path / "table.csv"
    ROWS.write_csv(path, null_value="?")
    reading = TableReading(options=ReadOptions(missing=("?",)))
    made = hasher()

    assert made._plain_rows(path, labelled=None, reading=reading) is None
    assert HashedRows.concat(made.rows(path, reading=reading)).equals(
        HashedRows.concat(made.rows(ROWS))
    )


def test_a_file_that_changes_is_an_error(tmp_path, monkeypatch):
    """Rows of two files are no table."""
    path = written(tmp_path / "table.csv", ROWS.write_csv())
    monkeypatch.setattr(_csv_rows, "BLOCK", 60)
    found = hasher().rows(path)
    next(found)
    Path(path).write_text(ROWS.write_csv() + "Bree,1,1,1,yes\n")
    with pytest.raises(DataError, match="changed"):
        list(found)
