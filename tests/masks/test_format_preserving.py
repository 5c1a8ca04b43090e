"""Format-preserving encryption: formats, check digits, reversal, refusals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import Ff1, FormatPreserving
from masks.masking import KEY  # type: ignore[import-not-found] # beside, not in a package

#: Published examples of the standards and of python-stdnum's documentation; nobody's.
IBANS = [
    "DE89 3704 0044 0532 0130 00",
    "GB29 NWBK 6016 1331 9268 19",
    "ES77 1234-1234-16 1234567890",
    "BE71 0961 2345 6769",
    "NO93 8601 1117 947",
]


def plan(mask, key=KEY):
    return mask.fit("x", pl.String(), None, key)


def applied(mask, values, key=KEY):
    return plan(mask, key).apply(pl.Series("x", values, dtype=pl.String), 0)


def card(payload):
    """A card's digits with Luhn's digit, by the textbook."""
    total = 0
    for behind, digit in enumerate(reversed(payload)):
        twice = int(digit) * (1 if behind % 2 else 2)
        total += twice // 10 + twice % 10
    return payload + str(-total % 10)


def kind(character):
    if character.isdigit():
        return "0"
    return character if not character.isalpha() else "A" if character.isupper() else "a"


@pytest.mark.slow
@settings(deadline=None)
@given(
    values=st.lists(
        st.none()
        | st.from_regex(r"[0-9]{6}[A-Za-z0-9 .€/-]{0,20}", fullmatch=True)
        | st.from_regex(r"[A-Z]{2}-[0-9]{4}-[a-z]{2}", fullmatch=True),
        min_size=1,
        max_size=20,
    )
)
def test_formats_stay_and_the_key_reverses(values):
    """Each character keeps its kind; equal values stay equal, different ones different."""
    found = applied(FormatPreserving(), values)

    assert plan(FormatPreserving()).reverse(found).to_list() == values
    for value, got in zip(values, found, strict=True):
        assert (value is None) == (got is None)
        if value is not None:
            assert [*map(kind, value)] == [*map(kind, got)]


def test_digits_alone_are_ff1_of_nist():
    """With the mask's derived key, an empty tweak, and radix 10."""
    fitted = plan(FormatPreserving())
    cipher = Ff1(fitted.key, [10] * 9)

    found = fitted.apply(pl.Series("x", ["123-45-6789"]), 0)[0]

    digits = cipher.encrypt(np.array([[1, 2, 3, 4, 5, 6, 7, 8, 9]]))[0]
    text = "".join(map(str, digits))
    assert found == f"{text[:3]}-{text[3:5]}-{text[5:]}"


@pytest.mark.slow
@settings(deadline=None)
@given(payloads=st.lists(st.from_regex(r"[0-9]{11,18}", fullmatch=True), min_size=1, max_size=20))
def test_cards_are_valid_again(payloads):
    """By the textbook's algorithm, with the same length; and back."""
    cards = [card(it) for it in payloads]
    mask = FormatPreserving(check_digits="card")

    found = applied(mask, cards)

    assert [len(it) for it in found] == [len(it) for it in cards]
    assert all(card(it[:-1]) == it for it in found)
    assert plan(mask).reverse(found).to_list() == cards


@pytest.mark.slow
@settings(deadline=None)
@given(values=st.lists(st.from_regex(r"[0-9]{13}", fullmatch=True), min_size=1, max_size=20))
def test_wrong_cards_stay_wrong_where_that_is_asked(values):
    """So that reversal knows which they were."""
    mask = FormatPreserving(check_digits="card", on_invalid="encrypt")

    found = applied(mask, values)

    assert [card(it[:-1]) == it for it in found] == [card(it[:-1]) == it for it in values]
    assert plan(mask).reverse(found).to_list() == values


@pytest.mark.slow
def test_ibans_are_valid_again():
    """Country, structure, modulo 97, and the national check digits of Spain, Belgium, Norway."""
    iban = pytest.importorskip("stdnum.iban")
    mask = FormatPreserving(check_digits="iban")

    found = applied(mask, IBANS)

    assert all(iban.is_valid(it) for it in [*IBANS, *found])
    assert not set(IBANS) & set(found)
    assert [it[:2] for it in found] == [it[:2] for it in IBANS]
    assert plan(mask).reverse(found).to_list() == IBANS
    assert "partly-kept" in mask.weaknesses


@pytest.mark.slow
def test_many_ibans_of_many_countries_are_judged_as_stdnum_judges_them():
    """The check by columns, next to the library's own, on right and wrong digits."""
    iban = pytest.importorskip("stdnum.iban")
    faker = pytest.importorskip("faker")
    makers = [faker.Faker(it) for it in ("en_GB", "de_DE", "fr_FR", "it_IT", "nl_NL", "es_ES")]
    for number, maker in enumerate(makers):
        maker.seed_instance(number)
    values = [maker.iban() for maker in makers for _ in range(40)]
    values += [it[:-1] + str((ord(it[-1]) + 1) % 10) for it in values]
    mask = FormatPreserving(check_digits="iban", on_invalid="encrypt")

    found = applied(mask, values)

    assert [iban.is_valid(it) for it in found] == [iban.is_valid(it) for it in values]
    assert plan(mask).reverse(found).to_list() == values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "values"),
    [
        ("nl.bsn", ["111222333", "1112.22.333"]),
        ("luhn", ["79927398713"]),
        ("isbn", ["978-0-471-11709-4", "9780471117094"]),
    ],
)
def test_numbers_of_stdnum_are_valid_again(number, values):
    """Encrypted until the library finds them valid."""
    module = pytest.importorskip(f"stdnum.{number}")
    mask = FormatPreserving(check_digits=number)

    found = applied(mask, values)

    assert all(map(module.is_valid, found))
    assert not set(found) & set(values)
    assert plan(mask).reverse(found).to_list() == values


def test_wrong_check_digits_are_counted():
    """With a count of different values, and none of them."""
    cards = [card("411111111111111"), "4111111111111112", "4111111111111113", "4111111111111113"]

    with pytest.raises(DataError, match=r"2 different values that aren't valid") as refused:
        applied(FormatPreserving(check_digits="card"), cards)

    assert "4111" not in str(refused.value)


@pytest.mark.parametrize("number", ["card", "iban", "cn.ric", "nl.bsn"])
@pytest.mark.parametrize("value", ["", "--", "7", "DE1", "999999194001010000", "canary-not-one"])
def test_what_is_no_number_at_all_is_a_count(number, value):
    """Whatever a module of python-stdnum raises for it."""
    pytest.importorskip("stdnum")
    with pytest.raises(DataError, match="1 different values") as refused:
        applied(FormatPreserving(check_digits=number), [value])
    assert not value or value not in str(refused.value)


def test_kept_characters_stay_and_bind_the_rest():
    """The same digits behind two prefixes have different pseudonyms."""
    mask = FormatPreserving(keep_first=6, keep_last=4)

    found = applied(mask, ["4111 1122 2222 3333", "5111 1122 2222 3333"])

    assert [it[:7] for it in found] == ["4111 11", "5111 11"]
    assert [it[-4:] for it in found] == ["3333", "3333"]
    assert found[0][7:] != found[1][7:]
    assert "partly-kept" in mask.weaknesses


@pytest.mark.parametrize(
    ("values", "mask", "says"),
    [
        (["12345", "AB-12", "123456"], FormatPreserving(), "2 different values with too few"),
        (["", "---"], FormatPreserving(), "2 different values with too few"),
        (["1234567890"], FormatPreserving(keep_first=5), "1 different values with too few"),
        (["Łódź-123456", "Jürgen-12345"], FormatPreserving(), "2 different values with letters"),
        (["٠١٢٣٤٥٦٧٨"], FormatPreserving(), "1 different values with letters"),
        (["e\N{COMBINING ACUTE ACCENT}tude123"], FormatPreserving(), "1 different values with"),
    ],
)
def test_small_formats_and_other_alphabets_are_refused(values, mask, says):
    """Values of a million forms or more are encrypted; no value is shown."""
    with pytest.raises(DataError, match=f"'x' has {says}") as refused:
        applied(mask, values)
    assert not any(it and it in str(refused.value) for it in values)


def test_numbers_are_refused_and_categories_are_texts():
    """A number loses leading zeros."""
    with pytest.raises(SchemaError, match=r"'x'.*for text") as refused:
        FormatPreserving().written("x", pl.Int64())
    assert "by dtypes of [input]" in str(refused.value.hint)
    column = pl.Series("x", ["123456", "654321"], dtype=pl.Categorical)
    found = FormatPreserving().fit("x", column.dtype, None, KEY).apply(column, 0)
    assert found.to_list() == applied(FormatPreserving(), ["123456", "654321"]).to_list()


@pytest.mark.parametrize(
    "wrong",
    [
        {"keep_first": -1},
        {"keep_last": 1, "check_digits": "card"},
        {"check_digits": "../os"},
        {"on_invalid": "keep"},
        {"scope": "planet"},
        {"domain": ""},
    ],
)
def test_parameters_are_checked(wrong):
    """When the policy is read."""
    with pytest.raises(ParameterError):
        FormatPreserving(**wrong)


def test_unknown_check_digits_are_named():
    """At the fit, since policies are read where python-stdnum isn't installed."""
    pytest.importorskip("stdnum")
    for name in ("xx.nosuch", "util"):
        with pytest.raises(ParameterError, match=name):
            plan(FormatPreserving(check_digits=name))


@pytest.mark.slow
def test_check_digits_that_hardly_any_number_has_end():
    """An error after so many encryptions, and no endless loop."""
    never = FormatPreserving(check_digits="card", on_invalid="encrypt")
    fitted = plan(never)
    fitted = type(fitted)(never, lambda _: _Rare(), fitted.key)

    with pytest.raises(DataError, match="hardly a valid number"):
        fitted.apply(pl.Series("x", ["123456789"]), 0)


class _Rare:
    computed = kept = ()
    least = 1_000_000

    def __init__(self):
        self._asked = 0

    def complete(self, numbers):
        pass

    def valid(self, numbers):
        self._asked += 1
        return np.full(len(numbers), self._asked == 1)


@pytest.mark.slow
@given(first=st.binary(min_size=32, max_size=32), second=st.binary(min_size=32, max_size=32))
def test_other_keys_write_other_values_and_none_is_shown(first, second):
    """A repr is what a log holds."""
    assume(first != second)
    value = ["1234567890123456789012345678"]

    assert (
        applied(FormatPreserving(), value, first)[0]
        != applied(FormatPreserving(), value, second)[0]
    )
    assert "key" not in repr(plan(FormatPreserving(), first))
