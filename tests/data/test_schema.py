"""The schema names every column, or says which it doesn't."""

from __future__ import annotations

import pytest

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.data._schema import Column, Schema


def schema() -> Schema:
    return Schema(
        (
            Column(name="ssn", role="identifier", kind="text"),
            Column(name="age", role="quasi_identifier", kind="numeric"),
            Column(name="zip code", role="quasi_identifier", kind="geo"),
            Column(name="disease", role="sensitive", kind="categorical"),
            Column(name="income", role="insensitive", kind="categorical", label=True),
        )
    )


def test_names_by_role():
    it = schema()

    assert it.identifiers == ("ssn",)
    assert it.quasi_identifiers == ("age", "zip code")
    assert it.sensitive == ("disease",)
    assert it.insensitive == ("income",)
    assert it.label == ("income",)
    assert len(it) == 5
    assert "age" in it


def test_exactly_the_columns_in_any_order_pass():
    schema().check(reversed(schema().names))


def test_a_column_that_is_not_named_is_an_error_that_lists_it():
    with pytest.raises(SchemaError, match=r"columns .*: 'a', 'b'") as caught:
        schema().check([*schema().names, "a", "b"])

    assert not isinstance(caught.value, ColumnNotFoundError)


def test_a_misspelt_column_says_which_is_near():
    with pytest.raises(ColumnNotFoundError, match=r"(?s)'disease'.*Did you mean 'diseases'"):
        schema().check(["ssn", "age", "zip code", "diseases", "income"])


def test_lookup_of_a_misspelt_column_says_which_is_near():
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'zip code'"):
        schema()["zip_code"]


def test_a_name_said_twice_is_an_error():
    age = Column(name="age", role="insensitive", kind="numeric")
    with pytest.raises(SchemaError, match="more than once: 'age'"):
        Schema((age, age))


@pytest.mark.parametrize(
    "wrong",
    [{"role": "quasi"}, {"kind": "number"}, {"missing": "drop"}],
)
def test_unknown_words_are_refused_and_the_known_ones_listed(wrong):
    said = {"name": "age", "role": "insensitive", "kind": "numeric", **wrong}
    with pytest.raises(ParameterError, match="must be one of"):
        Column(**said)


def test_an_identifier_is_no_label_and_an_empty_name_no_name():
    with pytest.raises(SchemaError, match="identifier and a label"):
        Column(name="id", role="identifier", kind="text", label=True)
    with pytest.raises(SchemaError, match="not empty"):
        Column(name="", role="insensitive", kind="text")
