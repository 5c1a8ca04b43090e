"""Measures by words of their names: whole ones, small or large, and never a column's."""

from __future__ import annotations

import pytest

from halfmask._errors import ParameterError
from halfmask.assess.attacks import Outcome, SuccessCount
from halfmask.assess.attacks._report import only, wanted_measures, without_outcome


def outcome(measure: str, column: str = "") -> Outcome:
    arm = SuccessCount(5, 10)
    return Outcome(attack="a/b", measure=measure, success=arm, control=arm, column=column)


@pytest.mark.parametrize(
    ("measure", "word", "is_called"),
    [
        ("balanced accuracy, original rows", "accuracy", True),
        ("balanced accuracy, original rows", "BALANCED ACCURACY", True),
        ("balanced accuracy, original rows", "acc", False),
        ("AUC, original rows", "auc", True),
        ("TPR at 1 % FPR, original rows", "1 % FPR", True),
        ("TPR at 0.1 % FPR, original rows", "1 % FPR", False),
        ("agreement of merged codes of a column (ARI)", "(ARI)", True),
    ],
)
def test_whole_words_of_a_measure_are_its_names(measure, word, is_called):
    given = outcome(measure)
    assert only([given], [word]) == ((given,) if is_called else ())
    assert without_outcome([given], [word]) == ([] if is_called else [word])


@pytest.mark.parametrize(
    ("measure", "column", "kind"),
    [
        ("accuracy of 'AUC'", "AUC", "accuracy of"),
        ("accuracy of 'accuracy'", "accuracy", "accuracy of"),
        ("accuracy of 3", "3", "accuracy of"),
        ("certain certain", "certain", "certain"),
        ("AUC certain, 2 ruled out", "AUC", "certain, 2 ruled out"),
        ("share of right guesses of AUC", "AUC", "share of right guesses of"),
        ("cells read", "", "cells read"),
    ],
)
def test_what_a_column_is_called_is_no_measure(measure, column, kind):
    given = outcome(measure, column)
    assert given.kind == kind
    assert (only([given], ["AUC"]), without_outcome([given], ["AUC"])) == ((), ["AUC"])
    assert only([given], [kind.split()[0]]) == (given,)


def test_outcomes_stay_in_their_order_and_words_without_any_in_theirs():
    given = [outcome("AUC"), outcome("accuracy"), outcome("cells read")]
    assert only(given, ["accuracy", "AUC"]) == (given[0], given[1])
    assert without_outcome(iter(given), ["b", "AUC", "a"]) == ["b", "a"]


def test_words_are_said_once_without_blanks_in_the_order_given():
    assert wanted_measures(None) is None
    assert wanted_measures([" AUC", "accuracy", "auc "]) == ("AUC", "accuracy")
    assert wanted_measures({"c", "a", "b"}) == ("a", "b", "c")  # type: ignore[arg-type] # no order


@pytest.mark.parametrize(
    ("measures", "given"),
    [
        ("accuracy", "must be a list of names of measures"),
        ([], "at least one"),
        ([3], "Got a value of type int in it"),
        ([" "], "Got ' ' in it"),
    ],
)
def test_measures_that_are_no_words_are_refused(measures, given):
    with pytest.raises(ParameterError, match=given):
        wanted_measures(measures)
