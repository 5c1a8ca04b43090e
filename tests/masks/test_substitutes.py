"""Substitutes: realistic, keyed, never the original; unique where that is asked."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import MaskedTable, Substitutes, mask_table
from masks.masking import KEY  # type: ignore[import-not-found] # beside, not in a package

pytest.importorskip("faker")

from halfmask.masks._substitutes import (
    SubstitutePool,
    faker_version,
    substitute_pool,
)

SMALL = SubstitutePool((pl.Series(["Ada", "Bo", "Cy"]), pl.Series(["Day", "Roe"])), " ")


@pytest.fixture
def small(monkeypatch):
    """Let all masks choose from six names."""
    monkeypatch.setattr("halfmask.masks._substitutes.substitute_pool", lambda *_: SMALL)


def plan(mask, key=KEY):
    return mask.fit("x", pl.String(), None, key)


def test_the_choice_is_the_keyed_hash_of_the_value():
    """A naive loop by hashlib over the pool's numbers."""
    mask = Substitutes(kind="name")
    pool = substitute_pool("name", "en_US")
    values = [f"person {i}" for i in range(200)]
    own = hashlib.blake2b(b"name\0en_US", key=KEY, digest_size=32, person=b"halfmask/substit")

    found = plan(mask).apply(pl.Series("x", values), 0)

    for value, got in zip(values, found, strict=True):
        digest = hashlib.blake2b(value.encode(), key=own.digest(), digest_size=8).digest()
        number = int.from_bytes(digest, "little") % pool.size
        assert got == pool.texts(np.array([number]))[0]


@pytest.mark.slow
@settings(deadline=None)
@given(values=st.lists(st.none() | st.text(max_size=5), min_size=1, max_size=30))
def test_equal_values_have_equal_substitutes_in_any_batch(values):
    """And missing cells stay missing."""
    fitted = plan(Substitutes(kind="email"))
    whole = fitted.apply(pl.Series("x", values, dtype=pl.String), 0)

    parts = [fitted.apply(pl.Series("x", [it], dtype=pl.String), 0)[0] for it in values]

    assert whole.to_list() == parts
    assert whole.dtype == pl.String


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("number", range(40))
def test_no_value_is_its_own_substitute(number, unique):
    """Under forty keys, with originals out of the pool, whatever their case and blanks."""
    key = number.to_bytes(32, "big")
    values = pl.Series("x", [" ada day", "Bo Roe", "CY ROE"])

    found = plan(Substitutes(kind="name", unique=unique), key=key).apply(values, 0)

    for value, got in zip(values, found, strict=True):
        written = " ".join(got.split()[:2]) if unique else got
        assert "".join(value.lower().split()) != "".join(written.lower().split())


@pytest.mark.usefixtures("small")
def test_the_test_above_has_power():
    """Of six names, the keyed hash alone chooses the original of three for some of the keys."""
    values = ["Ada Day", "Bo Roe", "Cy Roe"]
    moved = 0
    for number in range(40):
        fitted = plan(Substitutes(kind="name"), key=number.to_bytes(32, "big"))
        chosen = [
            hashlib.blake2b(it.encode(), key=fitted.key, digest_size=8).digest() for it in values
        ]
        numbers = np.array([int.from_bytes(it, "little") % 6 for it in chosen])
        moved += int((SMALL.texts(numbers) == pl.Series(values)).sum())
    assert moved > 5


@pytest.mark.slow
def test_unique_substitutes_are_all_different():
    """For more values than a shared pool could serve; the same in every pass."""
    table = pl.DataFrame({"x": [f"person {i}" for i in range(20_000)] * 2})
    masks = {"x": Substitutes(kind="name", unique=True)}
    shared = {"x": Substitutes(kind="name")}

    source = mask_table(open_table(table), masks, key=KEY)
    found = source.read()["x"]

    assert found.n_unique() == 20_000
    assert pl.concat(list(source.batches(7_000)))["x"].equals(found)
    assert found.head(20_000).equals(found.tail(20_000))
    # Power: 20,000 draws of 690,000 share about 290 times.
    assert mask_table(open_table(table), shared, key=KEY).read()["x"].n_unique() < 19_900


@pytest.mark.parametrize("kind", ["email", "name", "phone", "address"])
def test_unique_substitutes_stay_in_the_next_night(kind):
    """Whatever rows come and go: no pseudonym moves to somebody else."""
    mask = Substitutes(kind=kind, unique=True)
    people = [f"person{i}@example.org" for i in range(2000)]
    nights = (people, ["new@example.org", *people], people[::-1][:900], people[5:6])

    written = [
        mask_table(open_table(pl.DataFrame({"x": night})), {"x": mask}, key=KEY).read()["x"]
        for night in nights
    ]

    first = dict(zip(people, written[0], strict=True))
    for night, found in zip(nights, written, strict=True):
        assert found.n_unique() == len(night)
        assert all(first.get(it, got) == got for it, got in zip(night, found, strict=True))


def test_unique_substitutes_join_over_tables():
    """By their domain, in columns of other names."""
    mask = Substitutes(kind="email", unique=True, domain="mail")
    people = pl.DataFrame({"mail": [f"p{i}@example.org" for i in range(500)]})
    orders = pl.DataFrame({"to": people["mail"].gather([3, 3, 490, 7])})

    one = mask_table(open_table(people), {"mail": mask}, key=KEY).read()["mail"]
    other = mask_table(open_table(orders), {"to": mask}, key=KEY).read()["to"]

    assert other.to_list() == one.gather([3, 3, 490, 7]).to_list()
    assert one.str.contains(r"^\w+\.[a-z2-7]{16}@example\.(com|net|org)$").all()


def test_other_keys_domains_and_kinds_choose_otherwise():
    """One domain chooses the same in two columns."""
    table = pl.DataFrame({"a": ["Ann Doe"], "b": ["Ann Doe"]})

    def of(one, other, key=KEY):
        masks = {"a": one, "b": other}
        found = MaskedTable.of(open_table(table), masks, (), key=key).masked.read()
        return found["a"][0], found["b"][0]

    domain = Substitutes(kind="name", domain="d")
    alike = of(domain, domain)
    assert alike[0] == alike[1]
    apart = of(Substitutes(kind="name"), Substitutes(kind="name"))
    assert apart[0] != apart[1]
    assert of(domain, domain, bytes(32))[0] != alike[0]


@pytest.mark.parametrize(
    ("locale", "order", "between"),
    [
        ("en_US", ("first", "last"), " "),
        ("zh_CN", ("last", "first"), ""),
        ("hu_HU", ("last", "first"), " "),
        ("ja_JP", ("last", "first"), " "),
    ],
)
def test_names_have_the_order_of_their_locale(locale, order, between):
    """As faker's formats of names have it."""
    from faker import Faker  # noqa: PLC0415 # an extra

    pool = substitute_pool("name", locale)
    maker = Faker(locale, use_weighting=False)
    maker.seed_instance(1)
    firsts = {" ".join(maker.first_name().split()) for _ in range(50)}

    assert pool.between == between
    assert firsts <= set(pool.parts[order.index("first")])


@pytest.mark.slow
def test_every_kind_has_a_pool_without_line_breaks():
    """In a column of a CSV file, too."""
    kinds = Substitutes.__annotations__["kind"]
    assert kinds == "SubstituteKind"
    for kind in ("first_name", "last_name", "phone", "address", "street", "city", "postcode"):
        pool = substitute_pool(kind, "de_DE")
        assert pool.size > 100
        assert not pool.texts(np.arange(pool.size)).str.contains("\n").any()
    assert substitute_pool("email", "de_DE").size > 10_000_000


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kind": "planet"}, "must be one of 'address', 'city'"),
        ({"kind": "name", "scope": "vault"}, "faker_version"),
    ],
)
def test_parameters_are_checked(wrong, says):
    """When the policy is read."""
    with pytest.raises(ParameterError, match=says):
        Substitutes(**wrong)


def test_another_version_of_faker_is_refused():
    """Its pool is another: next month's release would have other substitutes."""
    installed = faker_version()
    plan(Substitutes(kind="name", scope="vault", faker_version=installed))
    with pytest.raises(ParameterError, match=rf"faker 1\.0\. Got {installed}"):
        plan(Substitutes(kind="name", scope="vault", faker_version="1.0"))


def test_locales_and_types_are_checked_and_nothing_shows_a_key():
    """By name; an Enum in a list would show its categories."""
    with pytest.raises(ParameterError, match="xx_XX"):
        plan(Substitutes(kind="city", locale="xx_XX"))
    with pytest.raises(SchemaError, match="for text") as refused:
        Substitutes(kind="name").written("x", pl.List(pl.Enum(["canary"])))
    assert "canary" not in str(refused.value)
    assert "key" not in repr(plan(Substitutes(kind="city")))
