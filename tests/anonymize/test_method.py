"""Guides are made of labels, numbers and predictions; methods rank the cuts."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.anonymize import Guided, Method, Mondrian
from halfmask.anonymize.method import MAX_CLASSES, as_guides


def test_two_classes_are_one_column():
    assert as_guides(["no", "yes", "no"]).tolist() == [[0.0], [1.0], [0.0]]
    assert as_guides([True, False]).tolist() == [[1.0], [0.0]]
    assert as_guides(np.array([3, 7, 3])).tolist() == [[0.0], [1.0], [0.0]]


def test_more_classes_are_a_column_each_the_most_frequent_first():
    assert as_guides(["a", "b", "b", "c"]).tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]


def test_one_class_says_nothing():
    assert as_guides(["a", "a"]).tolist() == [[1.0], [1.0]]


def test_labels_of_any_object_are_compared_as_text():
    assert as_guides(np.array(["a", None, "a"], dtype=object)).shape == (3, 1)


def test_many_classes_are_led_by_the_most_frequent():
    labels = np.concatenate([np.arange(100), np.arange(MAX_CLASSES)])

    guides = as_guides(labels.astype(str))

    assert guides.shape == (len(labels), MAX_CLASSES)
    assert (guides.sum(axis=0) == 2).all()


def test_whole_numbers_of_many_values_are_numbers():
    incomes = np.arange(MAX_CLASSES + 1) * 1000

    assert np.array_equal(as_guides(incomes), as_guides(incomes.astype(float)))
    assert as_guides(incomes[:MAX_CLASSES]).shape == (MAX_CLASSES, MAX_CLASSES)


def test_fractions_in_the_unit_interval_stay():
    assert as_guides([0.25, 0.5]).tolist() == [[0.25], [0.5]]


def test_numbers_are_scaled_between_their_outer_percentiles():
    numbers = np.concatenate([np.linspace(0, 100, 1001), [1e9]])

    guides = as_guides(numbers)

    assert (guides.min(), guides.max()) == (0.0, 1.0)
    assert guides[500, 0] == pytest.approx(0.5, abs=0.02)


def test_constant_numbers_are_no_guide_but_no_error():
    assert as_guides([5.0, 5.0]).tolist() == [[0.0], [0.0]]


def test_probabilities_of_two_classes_are_one_column():
    assert as_guides(np.array([[0.2, 0.8], [0.6, 0.4]])).tolist() == [[0.2], [0.6]]


def test_predictions_are_a_column_each():
    guides = as_guides(np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]))

    assert guides.tolist() == [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_prediction_must_be_finite(wrong):
    with pytest.raises(ParameterError, match="finite"):
        as_guides([0.5, wrong])


@pytest.mark.parametrize("shape", [(0,), (2, 2, 2), ()])
def test_a_guide_is_a_column_or_a_table(shape):
    with pytest.raises(ParameterError, match="Got shape"):
        as_guides(np.zeros(shape))


@pytest.mark.parametrize("method", [Mondrian(), Mondrian(strict=False), Guided()], ids=repr)
def test_methods_are_methods(method):
    assert isinstance(method, Method)


def test_mondrian_needs_no_guide():
    assert Mondrian(strict=False).plan_growth(None).strict is False
    assert Mondrian().plan_growth(np.ones((3, 1))).guides is None


def test_guided_needs_one():
    with pytest.raises(ParameterError, match="needs labels or predictions"):
        Guided().plan_growth(None)
    assert Guided(min_gain=0.25).plan_growth(np.ones((3, 1))).min_gain == 0.25


@pytest.mark.parametrize("gain", [-0.1, 1.1, float("nan")])
def test_a_gain_is_a_share(gain):
    with pytest.raises(ParameterError, match="min_gain"):
        Guided(min_gain=gain)
