"""Reading hashed rows: unkeyed ones are read by all, keyed ones by none without the population."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import siphash24  # type: ignore[import-not-found] # it ships no types
from sklearn.utils import murmurhash3_32

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.assess.attacks import HashingTarget, attack
from halfmask.assess.attacks._hashes import HashScheme, murmur3, siphash, unkeyed_schemes
from halfmask.assess.attacks.hashing import (
    BruteForce,
    BucketFrequencies,
    CoOccurrence,
    Dictionary,
    WeightReading,
)
from halfmask.hashing import KeyedHasher
from halfmask.vault import Secret


def plain_murmur3(message, seed):
    """The hash as scikit-learn computes it: the oracle."""
    return murmurhash3_32(message, seed=seed, positive=True)


READERS = (Dictionary(), BruteForce(seed_bits=12))


def share(each, target):
    return each.run(target, random_state=0)[0].success.value


def hash_by(target, hash_function):
    """Return the target with buckets that a function makes of column and value."""
    columns = [
        [hash_function(name, value) for value in target.original[name].to_list()]
        for name in target.original.columns
    ]
    return replace(target, buckets=np.array(columns, dtype=np.uint32).T.copy())


def test_murmur3_and_siphash_are_those_of_others():
    rng = np.random.default_rng(0)
    messages = [rng.bytes(length) for length in [*range(40), 3, 17, 255, 300]]
    assert murmur3(messages, 77).tolist() == [plain_murmur3(each, 77) for each in messages]
    key = rng.bytes(16)
    found = [siphash24.siphash24(each, key=key).digest() for each in messages]
    assert siphash(messages, int.from_bytes(key, "little")).tolist() == [
        int.from_bytes(each, "little") for each in found
    ]


def test_one_message_under_many_seeds_is_each_seed_alone():
    seeds = np.array([0, 1, 5, 2**32 - 1], dtype=np.uint64)
    for message in (b"", b"abc", b"town=Aachen", bytes(40)):
        assert murmur3([message], seeds.astype(np.uint32)).tolist() == [
            plain_murmur3(message, int(seed)) for seed in seeds
        ]
        assert siphash([message], seeds).tolist() == [
            int(siphash([message], int(seed))[0]) for seed in seeds
        ]


@pytest.mark.slow
@pytest.mark.parametrize("each", READERS, ids=lambda each: each.name)
@pytest.mark.parametrize("how", ["murmur3", "siphash"])
def test_unkeyed_rows_are_read_whole_and_keyed_ones_not_at_all(each, how, target):
    report = attack(target, unprotected=target.unprotected(hash=how), attacks=[each])
    assert [finding.verdict for finding in report.findings] == ["resisted"]
    (finding,) = report.findings
    assert finding.positive_control is not None
    assert finding.positive_control.success.value == 1.0
    assert finding.outcome.success.value < 0.001


LIBRARIES = {
    "scikit-learn": lambda c, v: abs(_signed(f"{c}={v}")) % (1 << 18),
    "vowpal wabbit": lambda c, v: (
        plain_murmur3(v.encode(), plain_murmur3(c.encode(), 0)) % (1 << 18)
    ),
    "md5": lambda c, v: int(hashlib.md5(f"{c}-{v}".encode()).hexdigest()[:16], 16) % (1 << 18),  # noqa: S324 # attacked
    "salted sha256": lambda c, v: (
        int(hashlib.sha256(f"pepper{c}:{v}".encode()).hexdigest()[:16], 16) % (1 << 18)
    ),
    "value alone": lambda _, v: plain_murmur3(v.encode(), 42) % (1 << 18),
    "high bits": lambda c, v: plain_murmur3(f"{c}_{v}".encode(), 3) >> 14,
}


def _signed(word):
    number = plain_murmur3(word.encode(), 0)
    return number - (1 << 32) if number >> 31 else number


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_dictionary_reads_what_libraries_hash(library, target):
    assert share(Dictionary(), hash_by(target, LIBRARIES[library])) == 1.0


@pytest.mark.slow
def test_scikit_learns_own_hasher_is_read(target):
    from sklearn.feature_extraction import FeatureHasher  # noqa: PLC0415 # here alone

    hasher = FeatureHasher(1 << 18, input_type="string", alternate_sign=False)

    def hash_function(name, value):
        return int(hasher.transform([[f"{name}={value}"]]).indices[0])

    few = replace(target, buckets=target.buckets[:60], original=target.original[:60], labels=None)
    assert share(Dictionary(), hash_by(few, hash_function)) == 1.0


@pytest.mark.slow
def test_a_secret_that_people_choose_is_no_secret(target):
    def rehash(secret, rows):
        key = int.from_bytes(secret.key("hash")[:16], "little")
        scheme = HashScheme(base="siphash", seed=key)
        return np.column_stack([scheme.buckets(n, rows[n].to_list(), 18) for n in rows.columns])

    weak = Secret.from_bytes(hashlib.sha256(b"password").digest())
    shares = [
        share(Dictionary(), replace(target, buckets=rehash(each, target.original), rehash=rehash))
        # Not a fresh one: of ever new ones some would hit a bucket by chance.
        for each in (weak, Secret.from_bytes(bytes(32)), Secret.from_bytes(bytes(range(64, 96))))
    ]
    assert shares[:2] == [1.0, 1.0]
    assert shares[2] < 0.001


@pytest.mark.slow
def test_a_seed_is_found_by_a_few_known_cells(target):
    seeded = target.unprotected(seed=3_000)
    assert share(Dictionary(seeds=16), seeded) < 0.001
    assert share(BruteForce(seed_bits=12), seeded) == 1.0
    assert share(BruteForce(seed_bits=8), seeded) == 0.0


def test_numbers_are_counted_through_without_a_dictionary(target):
    empty = dict.fromkeys(target.original.columns, ())
    blind = replace(target.unprotected(seed=70), dictionary=empty)
    assert share(BruteForce(seed_bits=8, digits=3), blind) == 0.25  # street numbers alone
    assert share(BruteForce(seed_bits=8), blind) == 0.0


def test_chance_is_named_where_there_are_few_buckets(target):
    """With eight buckets guesses hit; the control is one in eight."""
    rng = np.random.default_rng(0)
    few = replace(
        target, buckets=rng.integers(0, 8, target.buckets.shape).astype(np.uint32), bits=3
    )
    outcome = Dictionary(seeds=2).run(few, random_state=0)[0]
    assert outcome.control.value == 1 / 8


def test_all_ways_are_different():
    schemes = list(unkeyed_schemes(seeds=2, salts=(b"x",)))
    assert len(schemes) == len(set(schemes))


@pytest.mark.parametrize("each", [BucketFrequencies(), CoOccurrence()], ids=lambda e: e.name)
def test_a_key_hides_no_frequencies(each, target, unrelated):
    report = attack(target, unprotected=target.unprotected(), attacks=[each])
    assert [finding.verdict for finding in report.findings] == ["broken"]
    outcome = each.run(unrelated, random_state=0)[0]
    assert outcome.excess.value < 0.05


def test_company_names_what_frequencies_leave_open(target):
    by_rank, by_company = (each.run(target, random_state=0)[0].details for each in (
        BucketFrequencies(), CoOccurrence()
    ))  # fmt: skip
    assert by_company["named of street"] > by_rank["named of street"] + 0.2
    assert by_company["named of street"] > 0.8


def test_rare_values_are_lumped_and_name_nothing(target):
    outcome = BucketFrequencies(max_values=3).run(target, random_state=0)[0]
    truth = target.original["town"].value_counts(sort=True)["count"].to_list()
    assert outcome.details["named of town"] <= sum(truth[:3]) / sum(truth)
    assert CoOccurrence(max_values=3).run(target, random_state=0)[0].success.value < 1.0


@pytest.mark.slow
def test_weights_tell_unkeyed_values_at_once_and_keyed_ones_by_their_size(target, unrelated):
    keyed = WeightReading().run(target, random_state=0)[0]
    open_ = WeightReading().run(target.unprotected(), random_state=0)[0]
    assert open_.success.value == 1.0
    assert open_.details["by a dictionary"] == 1.0
    assert keyed.details["by a dictionary"] == 0.0
    assert keyed.control.value < keyed.success.value < 0.6
    assert keyed.details["weights"] == len(np.unique(target.buckets))
    found = WeightReading().run(unrelated, random_state=0)[0]
    assert found.success.value <= keyed.success.value


@pytest.mark.parametrize("each", [Dictionary(), BruteForce(), BucketFrequencies(), CoOccurrence()])
def test_what_is_missing_is_told(each, target):
    bare = HashingTarget(
        buckets=np.zeros((0, 1), dtype=np.uint32), original=pl.DataFrame({"a": []}), bits=4
    )
    assert each.missing_inputs(bare)
    assert not each.missing_inputs(target)


@pytest.mark.parametrize(
    ("gone", "what"),
    [("train", "train"), ("labels", "labels"), ("population_labels", "with labels")],
)
def test_what_weights_need_is_told(gone, what, target):
    assert what in WeightReading().missing_inputs(replace(target, **{gone: None}))


def test_a_target_that_does_not_fit_is_refused(target):
    with pytest.raises(ParameterError, match="a place for each cell"):
        replace(target, buckets=target.buckets[:5])
    with pytest.raises(ParameterError, match="out of the range"):
        replace(target, bits=2)
    with pytest.raises(ParameterError, match="bits"):
        replace(target, bits=32)
    with pytest.raises(ColumnNotFoundError, match="population"):
        replace(target, population=target.population.drop("town"))
    with pytest.raises(ColumnNotFoundError, match="original"):
        replace(target, dictionary={"twon": ["x"]})
    with pytest.raises(ParameterError, match="labels must be as many"):
        replace(target, labels=np.zeros(3))
    with pytest.raises(ParameterError, match="population_labels"):
        replace(target, population_labels=np.zeros(3))
    with pytest.raises(ParameterError, match="hash"):
        target.unprotected(hash="md5")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dictionary(seeds=-1), lambda: BruteForce(seed_bits=33),
        lambda: BruteForce(digits=8), lambda: BruteForce(known=0), lambda: WeightReading(values=0),
        lambda: BucketFrequencies(n_rows=0), lambda: CoOccurrence(max_values=1),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(ParameterError):
        make()


@pytest.fixture(scope="module")
def hashers(target):
    """Return how to make a target of our own hasher, by a secret."""

    def make(secret):
        hasher = KeyedHasher(secret=secret, bits=18).fit(target.original)
        return HashingTarget.of_hasher(hasher, target.original, population=target.population)

    return make


@pytest.mark.slow
def test_our_own_hasher_resists_and_its_columns_are_told_apart(target, hashers):
    """A row's places are in a keyed order: which is which column is granted to the attacker."""
    ours = hashers(Secret.fresh())
    for place, name in enumerate(target.original.columns):
        pairs = set(zip(ours.buckets[:, place].tolist(), target.original[name], strict=True))
        assert len(pairs) == target.original[name].n_unique()
    report = attack(ours, unprotected=ours.unprotected(), attacks=list(READERS))
    assert report.resisted
    (broken,) = attack(ours, unprotected=ours.unprotected(), attacks=[CoOccurrence()]).findings
    assert broken.verdict == "broken"


@pytest.mark.slow
def test_our_own_hasher_under_a_weak_secret_is_read(hashers):
    assert share(Dictionary(sample=10), hashers(Secret.from_bytes(bytes(32)))) == 1.0


def test_a_hasher_of_more_than_cells_is_refused(target):
    rows = target.original
    hasher = KeyedHasher(secret=Secret.fresh(), interactions=[("town", "sort")]).fit(rows)
    with pytest.raises(ParameterError, match="one bucket of each cell"):
        HashingTarget.of_hasher(hasher, rows)
