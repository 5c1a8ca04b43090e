"""The mask: details are replaced and counted; all else is unchanged."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import HalfmaskError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import TABLE_MASKS, KeyedTokens, MaskedTable, TextRedaction, mask_table

KEY = bytes(range(32))
NOTES = pl.DataFrame(
    {
        "first": ["Ann", "Bob", None, "Zoë"],
        "last": ["Lee", "Moor", "Vance", ""],
        "note": ["ann lee paid by 4111 1111 1111 1111", "call Zoe on +44 20 7946 0018", None, ""],
        "more": ["nothing here", "Ms. Vance, 10.0.0.1", "a@b.example and A@B.example", "Bob's"],
    }
)
MASK = TextRedaction(columns=("note", "more"), names_from=("first", "last"))


def masked(mask, table=NOTES, key=KEY):
    return mask.fit(table.select(*mask.columns, *mask.reads), key).apply(table, 0)


def test_details_are_replaced_by_their_type():
    assert masked(MASK).to_dict(as_series=False) == {
        "note": ["<NAME> paid by <CARD>", "call <NAME> on <PHONE>", None, ""],
        "more": ["nothing here", "Ms. <NAME>, <IP>", "<EMAIL> and <EMAIL>", "<NAME>'s"],
    }


def test_details_are_removed():
    mask = TextRedaction(columns=("note",), replace="remove", types=("card",))

    assert masked(mask)["note"][0] == "ann lee paid by "


def test_tokens_are_those_of_the_detail_and_the_key():
    """One token however a detail is written; another one under another key."""
    table = pl.DataFrame(
        {"note": ["4111 1111 1111 1111", "4111-1111-1111-1111", "5555555555554444", "a@b.example"]}
    )
    mask = TextRedaction(columns=("note",), replace="token")
    one, other = (masked(mask, table, key)["note"].to_list() for key in (KEY, bytes(32)))

    assert one[0] == one[1] != one[2]
    assert all(re.fullmatch(r"<(CARD|EMAIL)_[0-9a-f]{16}>", it) for it in one)
    assert not set(one) & set(other)


def test_details_are_counted_by_type_and_not_shown():
    plan = MASK.fit(NOTES, KEY)

    assert {column: dict(found) for column, found in plan.counts.items()} == {
        "note": {"card": 1, "name": 2, "phone": 1},
        "more": {"email": 2, "ip": 1, "name": 2},
    }
    assert "Ann" not in repr(plan) + repr(MASK)


def test_a_masked_table_has_the_counts_of_its_masks():
    one = TextRedaction(columns=("note",), types=("card",))
    other = TextRedaction(columns=("more",), types=("email", "ip"))
    table = MaskedTable.of(open_table(NOTES), {}, [one, other], key=KEY)

    assert table.counts == {"note": {"card": 1}, "more": {"email": 2, "ip": 1}}
    assert MaskedTable.of(open_table(NOTES), {}, [], key=KEY).counts == {}


def test_a_table_is_masked_in_batches_of_any_size():
    long = pl.concat([NOTES] * 50)
    source = mask_table(open_table(long), {}, key=KEY, table_masks=[MASK])
    expected = masked(MASK, long)

    for size in (1, 7, 1_000):
        assert pl.concat(source.batches(size)).select("note", "more").equals(expected)
    assert source.read().select("first", "last").equals(long.select("first", "last"))


def test_names_are_the_raw_ones_where_a_mask_writes_pseudonyms():
    source = mask_table(
        open_table(NOTES), {"first": KeyedTokens(), "last": KeyedTokens()}, key=KEY,
        table_masks=[MASK],
    )  # fmt: skip
    found = source.read()

    assert found.select("note", "more").equals(masked(MASK))
    assert not set(found["first"].drop_nulls()) & set(NOTES["first"].drop_nulls())


DETAILS = {
    "email": ["ann@x.example", "Zoë.B@x.example"],
    "card": ["4111 1111 1111 1111", "378282246310005"],
    "iban": ["DE89 3704 0044 0532 0130 00"],
    "ip": ["192.168.0.1", "fe80::1"],
    "date": ["2024-02-29", "3 May 2024"],
    "phone": ["+44 20 7946 0018"],
    "name": ["Ann Lee", "BOB", "Žofie"],
}
PLAIN = st.text(st.characters(categories=["Ll"]), max_size=6).filter(
    lambda it: it.casefold() not in {"bob", "ann", "lee"}
)
PARTS = st.one_of(
    PLAIN.map(lambda it: (it, None)),
    st.sampled_from([(it, kind) for kind, all_of in DETAILS.items() for it in all_of]),
)


@pytest.mark.slow
@settings(max_examples=50)
@given(
    st.lists(st.lists(PARTS, max_size=6), min_size=1, max_size=4),
    st.sampled_from(["type", "token", "remove"]),
)
def test_replaced_texts_have_none_of_the_details(rows, replace):
    """And what stands between them is unchanged, as a plain join of the parts says."""
    table = pl.DataFrame(
        {
            "note": [" ; ".join(text for text, _ in parts) for parts in rows],
            "who": pl.Series((["Ann Lee", "Bob", "Zofie"] * 2)[: len(rows)]),
        }
    ).vstack(pl.DataFrame({"note": ["", "", ""], "who": ["Ann Lee", "Bob", "Zofie"]}))
    mask = TextRedaction(columns=("note",), replace=replace, names_from=("who",))
    plan = mask.fit(table, KEY)
    found = plan.apply(table, 0)["note"][: len(rows)]

    for text, parts in zip(found, rows, strict=True):
        assert not any(detail in text for detail, kind in parts if kind)
        plain = {"type": r"<\1>", "token": r"<\1>", "remove": ""}[replace]
        shown = re.sub(r"<([A-Z]+)(?:_[0-9a-f]{16})?>", plain, text)
        assert shown == " ; ".join(
            it if kind is None else "" if replace == "remove" else f"<{kind.upper()}>"
            for it, kind in parts
        )
    assert sum(plan.counts["note"].values()) == sum(
        kind is not None for it in rows for _, kind in it
    )


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.text(st.characters(categories=["Ll", "Zs"]))), min_size=1))
def test_texts_without_details_are_unchanged(texts):
    table = pl.DataFrame({"note": pl.Series(texts, dtype=pl.String)})
    mask = TextRedaction(columns=("note",), countries=("GB", "US", "DE"))

    assert masked(mask, table).equals(table)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": ()}, "has no columns"),
        ({"replace": "hash"}, "Got 'hash'"),
        ({"types": ()}, "searches for nothing"),
        ({"names_from": ("note",)}, "'note' both in 'columns' and in 'names_from'"),
        ({"types": ("mail",)}, "'mail'"),
        ({"countries": ("england",)}, "'england'"),
    ],
)
def test_parameters_are_checked(options, said):
    with pytest.raises(ParameterError, match=said):
        TextRedaction(**({"columns": ("note",)} | options))


def test_only_texts_are_searched_and_single_values_searched_for():
    table = pl.DataFrame({"note": ["x"], "n": [1], "l": [["x"]]})
    with pytest.raises(SchemaError, match="'n' has the mask 'free-text'"):
        masked(TextRedaction(columns=("n",)), table)
    with pytest.raises(SchemaError, match="'l' of 'names_from'"):
        masked(TextRedaction(columns=("note",), names_from=("l",)), table)

    ids = pl.DataFrame({"note": ["customer 20417 and 17"], "n": [20417]})
    assert masked(TextRedaction(columns=("note",), names_from=("n",)), ids)["note"].to_list() == [
        "customer <NAME> and 17"
    ]


def test_no_text_is_in_an_error_or_a_name_of_a_weakness():
    canary = "canary4711@secret.example"
    table = pl.DataFrame({"note": [canary], "l": [[canary]], "n": [1]})
    for mask in (
        TextRedaction(columns=("n",)),
        TextRedaction(columns=("note",), names_from=("l",)),
    ):
        with pytest.raises(HalfmaskError) as caught:
            masked(mask, table)
        assert "canary" not in str(caught.value)

    assert MASK.weaknesses == ("free-text", "nulls-visible")
    assert "equality-leaking" in TextRedaction(columns=("note",), replace="token").weaknesses
    assert TABLE_MASKS["free-text"] is TextRedaction
