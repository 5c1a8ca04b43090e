"""Spellings of one value are counted, and made one where the owner says so."""

from __future__ import annotations

import unicodedata

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.data import ReadOptions, open_table, spellings, steps_needed
from halfmask.description import describe

ALL = ("trim", "nfc", "casefold")
COMPOSED, APART = "Jos\u00e9", "Jose\u0301"


@pytest.mark.parametrize(
    ("texts", "steps", "fewer"),
    [
        (["flu", "cold"], (), 0),
        (["flu", "flu "], ("trim",), 1),
        (["flu", "FLU", "Flu"], ("casefold",), 2),
        ([COMPOSED, APART], ("nfc",), 1),
        (["Flu", "flu ", "FLU", None], ("trim", "casefold"), 2),
        ([COMPOSED, APART.upper(), f"\t{APART}"], ALL, 2),
        # Unicode folds them, lower case wouldn't.
        (["Stra\u00dfe", "STRASSE"], ("casefold",), 1),
        ([None, None], (), 0),
    ],
)
def test_the_fewest_steps_that_make_spellings_one(texts, steps, fewer):
    values = pl.Series("x", texts, dtype=pl.String)

    assert steps_needed(values) == steps
    assert spellings(values) == fewer


@pytest.mark.slow
@given(st.lists(st.none() | st.text(max_size=6), min_size=1), st.sets(st.sampled_from(ALL)))
def test_a_normalized_column_is_as_python_spells_it(texts, steps):
    def spelled(text):
        if text is None:
            return None
        text = text.strip() if "trim" in steps else text
        text = text.casefold() if "casefold" in steps else text
        return unicodedata.normalize("NFC", text) if "nfc" in steps else text

    frame = pl.DataFrame({"x": pl.Series(texts, dtype=pl.String), "y": range(len(texts))})
    source = open_table(frame, options=ReadOptions(normalize={"x": tuple(steps)}))

    read = source.read()
    assert read["x"].to_list() == list(map(spelled, texts))
    assert read["y"].equals(frame["y"])
    assert source.normalized({"x": tuple(steps)}).read().equals(read)


def test_every_format_and_batch_is_normalized(tmp_path):
    frame = pl.DataFrame({"ill": ["Flu", "flu ", "FLU", "cold"] * 5, "other": ["A", "a "] * 10})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    frame.write_ipc(tmp_path / "t.arrow")
    options = ReadOptions(normalize={"ill": ["casefold", "trim"]})
    expected = ["flu", "flu", "flu", "cold"] * 5

    for table in (frame, frame.to_pandas(), frame.to_arrow(), *sorted(tmp_path.iterdir())):
        source = open_table(table, options=options)
        read = pl.concat(list(source.batches(3)))
        assert read["ill"].to_list() == expected
        assert read["other"].to_list() == frame["other"].to_list()


def test_blanks_around_a_marker_do_not_keep_it_a_value(tmp_path):
    (tmp_path / "t.csv").write_text('ill,n\n"NA ",1\n"  ",2\nna,3\nFlu,4\n')

    def read(**options):
        source = open_table(tmp_path / "t.csv", options=ReadOptions(**options))
        return source.read()["ill"].to_list()

    assert read() == ["NA ", "  ", "na", "Flu"]
    assert read(normalize={"ill": ["trim", "casefold"]}) == ["na", None, "na", "flu"]
    said = {"missing": ("NA",), "normalize": {"ill": ["trim", "casefold"]}}
    # The marker is compared as the file spells it.
    assert read(**said) == [None, "", "na", "flu"]


def test_categories_keep_their_order_in_one_spelling():
    ordered = pd.Categorical(["low", "High ", "LOW"], ["low", "LOW", "High "], ordered=True)
    frame = pd.DataFrame({"x": ordered})

    source = open_table(frame, options=ReadOptions(normalize={"x": ["trim", "casefold"]}))

    assert source.orders == {"x": ("low", "high")}
    assert source.read()["x"].to_list() == ["low", "high", "low"]


def test_numbers_have_one_spelling():
    frame = pl.DataFrame({"n": [1, 2]})

    assert open_table(frame, options=ReadOptions(normalize={"n": ["trim"]})).read().equals(frame)


@pytest.mark.parametrize("steps", ["trim", ["lower"], [1], 1, None])
def test_what_is_no_step_is_refused(steps):
    with pytest.raises(ParameterError, match="normalization of column 'x'"):
        ReadOptions(normalize={"x": steps})


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(ColumnNotFoundError, match="ilness"):
        open_table(pl.DataFrame({"illness": ["a"]}), options=ReadOptions(normalize={"ilness": []}))


def test_describe_counts_spellings_and_proposes_what_makes_them_one():
    table = pl.DataFrame(
        {
            "disease": ["CANARY", "canary ", "CANARY ", "cold"] * 25,
            "city": ["Rome", "rome", "Oslo", "Bern"] * 25,
            "colour": [("Red", "red", "blue")[i // 7 % 3] for i in range(100)],
            "weekday": ["mon", "tue", "wed", "thu"] * 25,
        }
    )

    found = describe(table)

    assert found["disease"].normalize == ("trim", "casefold")
    assert "2 values differ from others only in" in " ".join(found["disease"].reasons)
    assert found["city"].normalize == ("casefold",)
    assert "1 value differs from another only in capitals" in " ".join(found["city"].reasons)
    assert found["weekday"].normalize == ()
    assert "CANARY" not in found.policy_toml().upper().replace('"DISEASE"', "")
    # What is no class and no guarantee counts isn't changed.
    assert (found["colour"].role, found["colour"].normalize) == ("insensitive", ())
