"""Numbers of trainers, of models and of ways to hash: a wrong one is INVALID, never `resisted`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.assess.attacks import HashingTarget, TrainerTarget, attack
from halfmask.assess.attacks._hashes import HashScheme
from halfmask.assess.attacks.hashing import (
    Dictionary,
    ModelStealing,
    WeightReading,
)
from halfmask.assess.attacks.poisoning import ClientLabelFlips, ClientWorstCase
from halfmask.hashing import HashedRows

if TYPE_CHECKING:
    from collections.abc import Callable

CANARY = "xqcanary"
ON_TRAINERS = (ModelStealing(), ClientLabelFlips(), ClientWorstCase(weights=(1.0,)))
N_HELD_OUT, N_PUBLIC = 1500, 800


def one_nan(values):
    return np.where(np.arange(len(values)) == 3, np.nan, values)


def one_masked(values):
    return np.ma.masked_array(
        values, mask=np.arange(np.size(values)).reshape(np.shape(values)) == 3
    )


#: Wrong numbers, and the message about them.
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "one nan": (one_nan, "gave NaN or infinite {what} for 1 rows"),
    "one masked": (one_masked, "gave NaN or infinite {what} for 1 rows"),
    "all nan": (lambda values: values * np.nan, "gave NaN or infinite {what} for {n:,} rows"),
    "too few": (lambda values: values[:-1], "must give {what} of shape ({n},). Got ({less},)"),
    "two columns": (lambda values: np.c_[1 - values, values], "of shape ({n},). Got ({n}, 2)"),
    "none": (lambda _: None, "must give {what} of shape ({n},). Got ()"),
    "texts": (lambda values: [CANARY] * len(values), "(ValueError)"),
}


class Wrong:
    """A trainer that gives something wrong."""

    def __init__(self, inner, spoil):
        self.inner, self.spoil = inner, spoil

    def learn(self, rows, *, client):
        self.inner.learn(rows, client=client)

    def predict(self, rows):
        return self.spoil(self.inner.predict(rows))


@pytest.fixture(scope="module")
def small(trainer) -> Callable[..., TrainerTarget]:
    """Return how to make a target of three batches, with what its trainer says changed."""
    whole = trainer()

    def make(spoil=lambda found: found, **more):
        settings = {"make": lambda: Wrong(whole.make(), spoil), "stream": whole.stream[:3]}
        return replace(whole, **{**settings, **more})

    return make


def why(target, each):
    report = attack(target, attacks=[each])
    assert {finding.verdict for finding in report.findings} == {"INVALID"}
    assert CANARY not in repr(report.to_dict())
    (found,) = {finding.why_invalid for finding in report.findings}
    return found


def message_of(values, n, what):
    return values.format(n=n, less=n - 1, what=what)


@pytest.mark.parametrize("each", ON_TRAINERS, ids=lambda each: each.name)
@pytest.mark.parametrize("spoil", WRONG)
def test_a_trainers_predictions_are_probabilities_of_its_rows(each, spoil, small):
    change, result = WRONG[spoil]
    found = why(small(change), each)
    assert message_of(result, N_HELD_OUT, "probabilities") in found
    assert found.startswith("failed: The trainer ")


@pytest.mark.parametrize("each", ON_TRAINERS, ids=lambda each: each.name)
def test_logits_are_no_probabilities(each, small):
    found = why(small(lambda result: 10 * result - 5), each)
    assert found.startswith("failed: The trainer gave what are no probabilities for ")


@pytest.mark.parametrize("spoil", WRONG)
def test_answers_are_numbers_of_the_rows_that_were_asked_about(spoil, small):
    change, result = WRONG[spoil]
    found = why(small(answer=change), ModelStealing())
    assert message_of(result, N_PUBLIC, "answers") in found
    assert found.startswith("failed: The way to answer ")


def test_a_wrong_prediction_of_the_attackers_own_model_is_invalid_too(small):
    wrong = small(lambda result: one_nan(result) if len(result) == N_PUBLIC else result)
    found = why(wrong, ClientWorstCase(weights=(1.0,)))
    assert found == "failed: The trainer gave NaN or infinite probabilities for 1 rows"


@pytest.mark.slow
def test_a_column_a_list_and_noisy_answers_are_numbers(small):
    plain = ModelStealing().run(small(), random_state=0)
    assert (
        ModelStealing().run(small(answer=lambda found: found[:, None].tolist()), random_state=0)
        == plain
    )
    assert ModelStealing().run(small(lambda found: found[:, None]), random_state=0) == plain
    noisy = ModelStealing().run(small(answer=lambda found: found - 2.0), random_state=0)
    assert noisy[0].success.value < plain[0].success.value


@pytest.mark.parametrize("who", ["owner", "attacker"])
@pytest.mark.parametrize(
    ("spoil", "given"),
    [
        (one_nan, "gave NaN or infinite weights for 1 buckets"),
        (one_masked, "gave NaN or infinite weights for 1 buckets"),
        (lambda weights: weights[:-1], "must give weights of shape (262144,). Got (262143,)"),
        (
            lambda weights: np.c_[weights, weights],
            "must give weights of shape (262144,). Got (262144, 2)",
        ),
        (lambda _: [CANARY], "couldn't be trained (ValueError)"),
    ],
    ids=["nan", "masked", "too few", "two columns", "texts"],
)
def test_weights_are_one_number_for_each_bucket(target, who, spoil, given):
    def train(buckets, labels):
        weights = target.train(buckets, labels)
        return spoil(weights) if (buckets is target.buckets) == (who == "owner") else weights

    found = why(replace(target, train=train), WeightReading(seeds=0))
    assert found == f"failed: The {who}'s model {given}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "given"),
    [
        (lambda found: found[:-1], "must give buckets of shape"),
        (lambda found: found[:, :1], "must give buckets of shape"),
        (lambda found: found * np.nan, "gave NaN or infinite buckets for"),
        (one_masked, "gave NaN or infinite buckets for 1 rows"),
        # The whole hash, of which the bucket is a part: no row has such a one.
        (lambda found: found + (1 << 18), "gave what are no buckets of 18 bits"),
        (lambda found: -found - 1.0, "gave what are no buckets of 18 bits"),
        (lambda found: found + 0.5, "gave what are no buckets of 18 bits"),
    ],
    ids=["rows", "columns", "nan", "masked", "too large", "negative", "fractions"],
)
def test_buckets_of_candidates_are_buckets(target, spoil, given):
    def rehash(_, rows):
        scheme = HashScheme(base="murmur3", seed=9)
        return np.column_stack([scheme.buckets(n, rows[n].to_list(), 18) for n in rows.columns])

    assert "failed" not in why(replace(target, rehash=rehash), Dictionary(seeds=0))
    broken = replace(target, rehash=lambda secret, rows: spoil(rehash(secret, rows)))
    assert why(broken, Dictionary(seeds=0)).startswith(f"failed: The way to hash again {given}")


def test_a_dictionary_without_a_word_reads_nothing(target):
    empty = dict.fromkeys(target.original.columns, ())
    for rehash in (None, lambda *_: 1 / 0):
        bare = replace(target, dictionary=empty, rehash=rehash)
        assert Dictionary(seeds=1).run(bare, random_state=0)[0].success.value == 0.0


def test_a_stream_that_can_be_read_once_is_learned_from_each_time(small):
    batches = small().stream
    once, often = small(stream=iter(batches)), small(stream=batches)
    assert ClientLabelFlips().run(once, random_state=0) == ClientLabelFlips().run(
        often, random_state=0
    )
    assert ClientLabelFlips().run(once, random_state=0)[0].details["accuracy without attack"] > 0.5


@pytest.mark.parametrize("stream", [3, [1, 2], [("a", "b", "c")]])
def test_a_stream_is_of_pairs(stream, small):
    with pytest.raises(ParameterError, match="must be a list of pairs"):
        small(stream=stream)


def test_rows_of_a_trainer_are_hashed_and_of_as_many_bits(small):
    for wrong in (None, "rows"):
        with pytest.raises(ParameterError, match="from 'holdout' must be hashed rows"):
            small(holdout=wrong)
    wide = HashedRows(indices=np.zeros((5, 4), np.uint32), labels=np.zeros(5, np.int32), bits=20)
    with pytest.raises(ParameterError, match=r"as many bits. Got \[18, 20\]"):
        small(public=wide)


def few(**more: Any) -> HashingTarget:
    settings: dict[str, Any] = {
        "buckets": np.array([[1], [2]], dtype=np.uint32),
        "original": pl.DataFrame({"town": ["a", "b"]}),
        "bits": 3,
    }
    return HashingTarget(**{**settings, **more})


@pytest.mark.parametrize(
    ("others", "given"),
    [
        ({"buckets": [[1.0], [2.0]]}, "'buckets' parameter .* whole numbers. Got float64"),
        ({"buckets": [[1], [2, 3]]}, "'buckets' parameter .* whole numbers"),
        ({"buckets": [[-1], [2]]}, "out of the range of 3 bits"),
        ({"labels": [0, None]}, "'labels' .* whole numbers, none missing"),
        ({"labels": [0.0, np.nan]}, "'labels' .* none missing"),
        ({"labels": [CANARY, CANARY]}, "'labels' .* whole numbers"),
        ({"labels": [0, 2]}, "'labels' parameter .* of 0 and 1"),
        ({"dictionary": {"town": CANARY}}, "texts for column 'town'. Got a value of type str"),
        ({"dictionary": {"town": [7]}}, "dictionary of column 'town' must be a list of texts"),
    ],
)
def test_what_is_hashed_is_refused_in_our_own_words(others, given):
    with pytest.raises(ParameterError, match=given) as caught:
        few(**others)
    assert CANARY not in str(caught.value)


@pytest.mark.slow
def test_what_is_hashed_may_be_of_any_library(target):
    others = replace(
        target,
        buckets=target.buckets.tolist(),
        original=target.original.to_pandas(),
        labels=target.labels.tolist(),
        population=target.population.to_pandas(),
        population_labels=pl.Series(target.population_labels),
        dictionary={"town": (f"town {letter}" for letter in "abcdefghijkl")},
    )
    named = replace(target, dictionary={"town": [f"town {x}" for x in "abcdefghijkl"]})
    for each in (Dictionary(seeds=1), WeightReading(seeds=1)):
        assert each.run(others, random_state=0) == each.run(named, random_state=0)


def test_cells_that_have_no_text_are_refused():
    with pytest.raises(SchemaError, match="Column 'town' of original holds values of type List"):
        few(original=pl.DataFrame({"town": [["a"], ["b"]]}))


class Hasher:
    """Hashes each cell to its row's number."""

    bits = 3

    def hash_batch(self, frame, _labels=None):
        numbers = np.arange(len(frame), dtype=np.uint32)
        return HashedRows(indices=np.repeat(numbers[:, None], frame.width, axis=1), bits=3)


def test_a_hashers_labels_and_population_are_refused_alike():
    rows, hasher = pl.DataFrame({"town": ["a", "b"]}), Hasher()
    with pytest.raises(ParameterError, match="'labels'") as caught:
        HashingTarget.of_hasher(hasher, rows, labels=[CANARY, "0"])
    assert CANARY not in str(caught.value)
    with pytest.raises(ColumnNotFoundError, match="'town'"):
        HashingTarget.of_hasher(hasher, rows, population=pl.DataFrame({"twon": ["a"]}))
