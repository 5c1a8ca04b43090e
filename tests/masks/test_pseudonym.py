"""Domains and scopes: where a value has the same pseudonym; and reversal by the vault."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import (
    FormatPreserving,
    KeyedTokens,
    Mask,
    Masker,
    ReversibleTokens,
    Rounding,
    is_reversible,
    mask_table,
    pseudonym_key,
    reverse_masks,
)
from halfmask.vault import Passphrase, Vault

KEY, OTHER, VAULT = bytes(range(32)), bytes(32), bytes(range(32, 64))
NAMES = ["1234567890", "2345678901", "3456789012"]
PEOPLE = pl.DataFrame({"id": NAMES, "boss": [NAMES[2], NAMES[0], NAMES[0]], "age": [31, 42, 53]})
ORDERS = pl.DataFrame({"customer": [NAMES[1], NAMES[1], NAMES[2]]})
KINDS = [KeyedTokens, ReversibleTokens, FormatPreserving]


def masked(table, masks, *, key=KEY, vault_key=None, name=""):
    return mask_table(open_table(table), masks, key=key, vault_key=vault_key, table=name).read()


@pytest.mark.parametrize("kind", KINDS)
def test_one_domain_has_one_pseudonym_for_a_value(kind):
    """In every column and table of a release; so that foreign keys join as before."""
    mask = kind(domain="customer")

    people = masked(PEOPLE, {"id": mask, "boss": mask})
    orders = masked(ORDERS, {"customer": mask})

    assert people["boss"].to_list() == people["id"].gather([2, 0, 0]).to_list()
    joined = orders.join(people, left_on="customer", right_on="id", how="inner")
    raw = ORDERS.join(PEOPLE, left_on="customer", right_on="id", how="inner")
    assert sorted(joined["age"]) == sorted(raw["age"])


@pytest.mark.parametrize("kind", KINDS)
def test_other_domains_keys_columns_and_techniques_differ(kind):
    """The test above has power: without a domain the columns don't join."""
    table = pl.DataFrame({"a": NAMES, "b": NAMES})
    both = masked(table, {"a": kind(), "b": kind()})
    domains = masked(table, {"a": kind(domain="p"), "b": kind(domain="q")})
    named = masked(table, {"a": kind(), "b": kind(domain="a")})
    later = masked(table, {"a": kind()}, key=OTHER)

    found = {it[0] for it in (*both, *domains, named["b"], later["a"])}

    assert len(found) == 6  # both columns, both domains, a domain called as the column, a key


@pytest.mark.parametrize("kind", KINDS)
def test_scopes(kind):
    """A table's, a release's, or a vault's."""
    table = pl.DataFrame({"a": NAMES})

    def of(scope, **more):
        return masked(table, {"a": kind(scope=scope, domain="d")}, **more)["a"][0]

    assert of("release", name="one") == of("release", name="two")
    assert of("release") != of("release", key=OTHER)
    assert of("table", name="one") != of("table", name="two")
    assert of("table", name="one") != of("release", name="one")
    assert of("vault", vault_key=VAULT) == of("vault", vault_key=VAULT, key=OTHER, name="two")
    assert of("vault", vault_key=VAULT) != of("vault", vault_key=OTHER)
    assert of("vault", vault_key=KEY) == of("release")  # one derivation, from either key
    with pytest.raises(ParameterError, match="no vault"):
        of("vault")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ReversibleTokens, FormatPreserving])
def test_a_vault_reverses_next_months_release(kind, tmp_path):
    """Its key is the same whenever it is opened, and no key of the release is needed."""
    lock = Passphrase("correct horse battery staple")
    Vault.create(tmp_path / "vault", lock=lock)
    masks = {"id": kind(scope="vault", domain="p"), "boss": kind(scope="vault", domain="p")}
    keys = [pseudonym_key(Vault.open(tmp_path / "vault", lock=lock)) for _ in range(2)]

    released = masked(PEOPLE, masks, vault_key=keys[0])
    back = reverse_masks(open_table(released), masks, vault_key=keys[1]).read()

    assert not set(released["id"]) & set(NAMES)
    assert back.equals(PEOPLE)


def test_batches_of_reversed_rows_are_the_same():
    """And columns that weren't asked for aren't read."""
    masks: dict[str, Mask] = {
        "id": ReversibleTokens(),
        "boss": FormatPreserving(),
        "age": Rounding(base=10),
    }
    released = masked(PEOPLE, masks)

    source = reverse_masks(open_table(released), masks, key=KEY)

    parts = pl.concat(list(source.batches(2, columns=["boss"])))
    assert parts["boss"].to_list() == PEOPLE["boss"].to_list()
    assert source.read()["age"].to_list() == [30, 40, 50]  # not reversible: as released


def test_what_cannot_be_reversed_is_said():
    """Masks, keys, columns and types; a key of another release is found by tokens."""
    table = open_table(PEOPLE.with_columns(code=pl.lit("x")))
    assert not is_reversible(KeyedTokens())
    with pytest.raises(ParameterError, match="No mask"):
        reverse_masks(table, {"id": KeyedTokens()}, key=KEY)
    with pytest.raises(ParameterError, match="no key is given"):
        reverse_masks(table, {"id": ReversibleTokens()}, vault_key=VAULT)
    with pytest.raises(ParameterError, match="no vault"):
        reverse_masks(table, {"id": ReversibleTokens(scope="vault")}, key=KEY)
    with pytest.raises(ParameterError, match="32 bytes"):
        reverse_masks(table, {"id": ReversibleTokens()}, key=b"short")
    with pytest.raises(ColumnNotFoundError, match="nosuch"):
        reverse_masks(table, {"nosuch": ReversibleTokens()}, key=KEY)
    with pytest.raises(SchemaError, match="'age' must be text"):
        reverse_masks(table, {"age": ReversibleTokens()}, key=KEY)
    released = masked(PEOPLE, {"id": ReversibleTokens()})
    with pytest.raises(DataError, match="3 different values"):
        reverse_masks(open_table(released), {"id": ReversibleTokens()}, key=OTHER).read()


def test_the_transformer_has_no_vault():
    """It refuses the scope rather than take another key."""
    with pytest.raises(ParameterError, match="no vault"):
        Masker({"customer": KeyedTokens(scope="vault")}).fit(ORDERS)


@pytest.mark.slow
def test_no_repr_shows_a_key(tmp_path):
    """Of masks, plans and sources."""
    lock = Passphrase("correct horse battery staple")
    key = pseudonym_key(Vault.create(tmp_path / "vault", lock=lock))
    mask = FormatPreserving(scope="vault", domain="d")
    source = mask_table(open_table(ORDERS), {"customer": mask}, key=KEY, vault_key=key)
    for text in (repr(mask), repr(source), repr(mask.fit("a", pl.String(), None, key))):
        assert repr(key)[2:-1] not in text
        assert key.hex() not in text
