from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import ParameterError
from halfmask.data import ReadOptions


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ""},
        {"delimiter": "ab"},
        {"delimiter": "\n"},
        {"delimiter": "é"},
        {"quote": ""},
        {"delimiter": "'", "quote": "'"},
        {"encoding": "utf-9"},
        {"encoding": 8},
        {"missing": "?"},
        {"dtypes": {"a": "number"}},
        {"dtypes": {"a": pl.List(pl.Int64)}},
        {"dtypes": {"a": int}},
    ],
)
def test_options_that_can_not_be_are_refused(options):
    with pytest.raises(ParameterError):
        ReadOptions(**options)


@pytest.mark.parametrize("options", [{"delimiter": "ab"}, {"encoding": "utf-9"}])
def test_the_terminal_names_the_option_and_python_the_parameter(options):
    with pytest.raises(ParameterError, match=f"{next(iter(options))}' parameter") as refused:
        ReadOptions(**options)
    assert refused.value.at_terminal[0].startswith(f"--{next(iter(options))} must ")


def test_types_are_said_by_words_or_by_polars():
    options = ReadOptions(dtypes={"a": "datetime", "b": pl.Int8, "c": pl.Date()})

    assert options.typed() == {"a": pl.Datetime("us"), "b": pl.Int8, "c": pl.Date}
