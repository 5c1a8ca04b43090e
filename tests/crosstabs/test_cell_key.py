"""Cell keys: golden tables, what holds of every transition table, and counts that never differ."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfmask as hm
from halfmask import DataError, ParameterError, SchemaError
from halfmask.crosstabs import TablesPolicy
from halfmask.crosstabs._cell_key import (
    cell_key_secret,
    check_records,
    perturb,
    record_keys,
    transition_table,
)
from halfmask.crosstabs._protections import CellKey
from halfmask.masks import pseudonym_key
from halfmask.vault import KeyFile, Vault

_KEY = bytes(range(32))


def _settings(most, variance, least=1):
    return CellKey(max_deviation=most, variance=variance, record="id", least_count=least)


def _key(share):
    """Return a share of 1 as 64 bits."""
    return np.uint64(int(share * 2**64))


def test_handbook_look_up():
    """G9, the part of counts: Handbook on SDC, section 5.4."""
    table = np.array(
        [
            [0.0, 1.0, 0.0],  # 0 stays 0
            [0.5, 0.0, 0.5],  # 1 -> 0 or 2
            [0.0, 0.8, 0.2],  # 2 -> 2 or 3
            [0.3, 0.4, 0.3],  # 3 -> 2, 3 or 4
        ]
    )
    cell_key = np.array([_key(0.9), _key(0.3), _key(0.6)]).sum(dtype=np.uint64)
    assert float(cell_key) / 2**64 == pytest.approx(0.8)
    assert perturb(np.array([3.0]), np.array([cell_key]), table).tolist() == [4.0]
    ones = np.array([_key(0.49), _key(0.51)])
    assert perturb(np.ones(2), ones, table).tolist() == [0.0, 2.0]


def test_tables_of_maximum_entropy():
    """G10: Giessing 2016; the symmetric row also stands in the vignette of ptable."""
    symmetric = transition_table(_settings(2, 1.0))[-1]
    assert symmetric.round(4).tolist() == [0.0638, 0.2447, 0.3830, 0.2447, 0.0638]
    of_one = transition_table(_settings(2, 0.9))[1]
    assert of_one.round(3).tolist() == [0.0, 0.369, 0.343, 0.207, 0.081]


def test_the_variance_is_never_another():
    """ptable gives a count of 1 the variance 0.932 where 1 is asked for."""
    deviations = np.arange(-2, 3)
    assert transition_table(_settings(2, 1.0))[1] @ deviations**2 == pytest.approx(1.0)
    with pytest.raises(ParameterError, match="can be from 0 to 2 there"):
        transition_table(_settings(2, 2.5))
    with pytest.raises(ParameterError, match="can be from 2 to 5 there"):
        transition_table(_settings(5, 1.0, least=3))
    with pytest.raises(ParameterError, match="max_deviation must be at least 5"):
        transition_table(_settings(3, 1.0, least=5))


@pytest.mark.parametrize(("most", "variance", "least"), [(2, 2.0, 1), (3, 2.0, 3)])
def test_a_variance_at_the_end_leaves_two_deviations(most, variance, least):
    table = transition_table(_settings(most, variance, least))
    assert (table[1] > 0).sum() == 2
    np.testing.assert_allclose(table[1:] @ np.arange(-most, most + 1) ** 2, variance)


@settings(max_examples=50)
@given(
    most=st.integers(1, 30),
    share=st.floats(0.001, 0.999),
    least=st.integers(1, 6),
)
def test_every_row_has_mean_0_and_the_variance(most, share, least):
    most = max(most, least)
    # The tightest bounds: those of 1 above, and of the counts below the least one below.
    deviations = np.arange(-most, most + 1)
    low, high = 0.0, np.inf
    for count in range(1, most + least + 1):
        left = [d for d in deviations if count + d == 0 or count + d >= least]
        high = min(high, -min(left) * max(left))
        if 0 not in left:
            low = max(low, -max(d for d in left if d < 0) * min(d for d in left if d > 0))
    if low >= high:
        return
    table = transition_table(_settings(most, low + share * (high - low), least))
    np.testing.assert_allclose(table.sum(axis=1), 1)
    np.testing.assert_allclose(table @ deviations, 0, atol=1e-9)
    np.testing.assert_allclose(table[1:] @ deviations**2, low + share * (high - low))
    for count, row in enumerate(table):
        after = count + deviations[row > 0]
        assert ((after == 0) | (after >= least)).all()
    assert table[0, most] == 1


def test_counts_follow_the_table():
    """20,000 keys of one secret: the shares of each deviation lie near its probability."""
    table = transition_table(_settings(3, 1.5, least=2))
    keys = record_keys(pl.Series("id", range(20_000)), _KEY).to_numpy()
    for count in range(1, 6):
        made = perturb(np.full(20_000, float(count)), keys, table)
        shares = np.bincount((made - count).astype(int) + 3, minlength=7) / 20_000
        np.testing.assert_allclose(shares, table[count], atol=0.015)
        assert ((made == 0) | (made >= 2)).all()


def test_the_same_people_have_the_same_count_everywhere():
    rng = np.random.default_rng(0)
    people = pl.DataFrame(
        {
            "id": rng.permutation(5000),
            "region": rng.integers(0, 40, 5000),
            "sex": rng.integers(0, 2, 5000),
        }
    )
    table = transition_table(_settings(4, 2.0))

    def counts(frame, by):
        found = (
            frame.with_columns(record_keys(frame["id"], _KEY).alias("key"))
            .group_by(by)
            .agg(pl.len(), pl.col("key").sum())
            .sort(by)
        )
        of = found["len"].to_numpy().astype(float), found["key"].to_numpy()
        return found.select(by).with_columns(pl.Series("count", perturb(*of, table)))

    whole = counts(people, ["region"])
    assert (
        whole["count"].to_list() != people.group_by("region").len().sort("region")["len"].to_list()
    )
    assert whole.equals(counts(people.sample(fraction=1, shuffle=True, seed=1), ["region"]))
    as_texts = people.with_columns(pl.col("id").cast(pl.String)).rename({"sex": "sexe"})
    assert whole.equals(counts(as_texts, ["region"]))
    one = counts(people.filter(pl.col("region") == 3), ["region"])
    assert one.equals(whole.filter(pl.col("region") == 3))
    # In batches: keys of each batch by themselves, summed in another order.
    halves = [people[2500:], people[:2500]]
    keys = pl.concat([record_keys(each["id"], _KEY) for each in halves])
    at_once = record_keys(people["id"], _KEY)
    assert keys.sum() == at_once.sum()


def test_keys_of_a_vault_are_its_own(tmp_path):
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    made = cell_key_secret(vault)
    assert made == cell_key_secret(vault, create=False)
    assert made != pseudonym_key(vault)


def test_what_names_no_record_is_refused():
    with pytest.raises(DataError, match="names no record in 1 rows"):
        record_keys(pl.Series("id", ["a", None]), _KEY)
    with pytest.raises(SchemaError, match="column 'id', which holds List"):
        record_keys(pl.Series("id", [[1]]), _KEY)
    with pytest.raises(DataError, match="2 rows more than records"):
        check_records(pl.Series("id", [1, 1, 1, 2]))
    check_records(pl.Series("id", [3, 1, 2]))


def test_counts_with_weights_are_refused():
    table = transition_table(_settings(2, 1.0))
    with pytest.raises(DataError, match="2 counts aren't whole"):
        perturb(np.array([1.5, -1.0, 2.0]), np.zeros(3, dtype=np.uint64), table)


def test_a_release_has_the_same_counts_as_a_later_one(tmp_path):
    rng = np.random.default_rng(0)
    people = pl.DataFrame(
        {
            "id": [f"p{number}" for number in range(600)],
            # Of so many counts, one is changed but for one key in billions.
            "town": rng.choice([f"köln {number}" for number in range(30)], 600),
            "sex": rng.choice(["f", "m"], 600),
        }
    )
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))

    def release(dimensions, rows):
        policy = TablesPolicy.from_toml(
            f"""
            halfmask-tables = 1
            tables = [{{ name = "t", dimensions = {dimensions} }}]
            [protection]
            method = "cell-key"
            max_deviation = 4
            variance = 2.0
            record = "id"
            """
        )
        return hm.protect(rows, policy, vault=vault)

    first = release(["town", "sex"], people)
    later = release(["town"], people.sample(fraction=1, shuffle=True, seed=1))
    assert [each.model for each in first.claims] == ["cell-key", "deviations"]
    of_towns = first.data.filter(pl.col("sex") == "Total").drop("sex").sort("town")
    assert of_towns.equals(later.data.sort("town"))
    with pytest.raises(DataError, match="600 rows more than records"):
        release(["town"], pl.concat([people, people]))
    true = people.group_by("town").len().sort("town")["len"].to_list()
    shown = of_towns.filter(pl.col("town") != "Total")["value"].to_list()
    assert shown != true
    assert max(abs(a - b) for a, b in zip(shown, true, strict=True)) <= 4


def test_record_keys_depend_on_the_secret():
    """Without it everybody could compute the noise and take it off."""
    records = pl.Series("id", range(50))
    one, other = (record_keys(records, bytes([it]) * 32).to_numpy() for it in (1, 2))

    assert (one != other).all()
    assert (record_keys(records, bytes([1]) * 32).to_numpy() == one).all()
