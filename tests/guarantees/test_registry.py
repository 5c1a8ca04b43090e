from __future__ import annotations

import copy

import numpy as np
import pytest

from halfmask._errors import ParameterError, PolicyError
from halfmask.data import Hierarchy
from halfmask.guarantees import (
    GUARANTEES,
    Guarantee,
    KAnonymity,
    guarantee_from,
    register_guarantee,
)

TREE = Hierarchy.from_rows([("canary", "*"), ("flu", "*")], column="ill")

SPOKEN = [
    ("k-anonymity", {"k": 10}, "KAnonymity(k=10)"),
    ("distinct-l-diversity", {"l": 3, "column": "ill"}, "DistinctLDiversity(l=3, column='ill')"),
    ("entropy-l-diversity", {"l": 2.5, "column": "ill"}, "EntropyLDiversity(l=2.5, column='ill')"),
    (
        "recursive-cl-diversity",
        {"c": 2.0, "l": 3, "column": "ill"},
        "RecursiveCLDiversity(c=2.0, l=3, column='ill')",
    ),
    (
        "t-closeness",
        {"t": 0.2, "column": "ill", "distance": "hierarchical", "hierarchy": TREE},
        "TCloseness(t=0.2, distance='hierarchical', column='ill')",
    ),
    (
        "alpha-k-anonymity",
        {"alpha": 0.4, "k": 5, "column": "ill"},
        "AlphaKAnonymity(alpha=0.4, k=5, column='ill')",
    ),
    (
        "delta-disclosure-privacy",
        {"delta": 1.5, "column": "ill"},
        "DeltaDisclosurePrivacy(delta=1.5, column='ill')",
    ),
    (
        "basic-beta-likeness",
        {"beta": 2.0, "column": "ill"},
        "BasicBetaLikeness(beta=2.0, column='ill')",
    ),
    (
        "enhanced-beta-likeness",
        {"beta": 2.0, "column": "ill"},
        "EnhancedBetaLikeness(beta=2.0, column='ill')",
    ),
    ("largest-risk", {"risk": 0.09}, "LargestRisk(risk=0.09)"),
    ("average-risk", {"risk": 0.05}, "AverageRisk(risk=0.05)"),
    ("sample-uniqueness", {"share": 0.0}, "SampleUniques(share=0.0)"),
    ("records-at-risk", {"share": 0.1, "risk": 0.2}, "RecordsAtRisk(share=0.1, risk=0.2)"),
    (
        "population-uniqueness",
        {"share": 0.1, "population": 1000, "estimator": "pitman"},
        "PopulationUniques(share=0.1, population=1000, estimator='pitman')",
    ),
    ("k-map", {"k": 10}, "KMap(k=10)"),
    (
        "profitability-prosecutor",
        {"publisher_benefit": 1, "publisher_loss": 3, "adversary_gain": 3, "adversary_cost": 0},
        (
            "ProfitabilityProsecutor(publisher_benefit=1, publisher_loss=3, adversary_gain=3, "
            "adversary_cost=0)"
        ),
    ),
    (
        "profitability-prosecutor-no-attack",
        {"adversary_gain": 3.5, "adversary_cost": 1},
        "ProfitabilityProsecutorNoAttack(adversary_gain=3.5, adversary_cost=1)",
    ),
    (
        "estimated-k-map",
        {"k": 5, "sampling_fraction": 0.1, "significance": 0.05, "estimator": "poisson"},
        "EstimatedKMap(k=5, sampling_fraction=0.1, significance=0.05, estimator='poisson')",
    ),
    (
        "delta-presence",
        {"delta_min": 0.1, "delta_max": 0.5},
        "DeltaPresence(delta_min=0.1, delta_max=0.5)",
    ),
    ("largest-journalist-risk", {"risk": 0.09}, "LargestJournalistRisk(risk=0.09)"),
    ("average-journalist-risk", {"risk": 0.09}, "AverageJournalistRisk(risk=0.09)"),
    (
        "journalist-records-at-risk",
        {"share": 0.1, "risk": 0.2},
        "JournalistRecordsAtRisk(share=0.1, risk=0.2)",
    ),
    ("marketer-risk", {"risk": 0.05}, "MarketerThreshold(risk=0.05)"),
    (
        "profitability-journalist",
        {"publisher_benefit": 1, "publisher_loss": 3, "adversary_gain": 3, "adversary_cost": 0},
        (
            "ProfitabilityJournalist(publisher_benefit=1, publisher_loss=3, adversary_gain=3, "
            "adversary_cost=0)"
        ),
    ),
    (
        "profitability-journalist-no-attack",
        {"adversary_gain": 3.5, "adversary_cost": 1},
        "ProfitabilityJournalistNoAttack(adversary_gain=3.5, adversary_cost=1)",
    ),
    ("subset-k-anonymity", {"k": 5, "m": 2}, "SubsetKAnonymity(k=5, m=2)"),
    (
        "lkc-privacy",
        {"l": 2, "k": 5, "c": 0.5, "column": "ill"},
        "LKCPrivacy(l=2, k=5, c=0.5, column='ill')",
    ),
]


def test_every_model_is_spoken_of_here():
    assert [model for model, _, _ in SPOKEN] == list(GUARANTEES)


@pytest.mark.parametrize(("model", "parameters", "shown"), SPOKEN)
class TestAGuarantee:
    def test_is_built_from_its_name_and_says_what_it_is(self, model, parameters, shown):
        guarantee = guarantee_from(model, parameters)

        assert repr(guarantee) == shown
        assert guarantee.model == model
        assert guarantee.column == parameters.get("column")
        assert guarantee.parameters == {
            name: value for name, value in parameters.items() if name not in {"column", "hierarchy"}
        }
        assert guarantee.monotone == (model != "population-uniqueness")

    def test_is_a_value(self, model, parameters, shown):
        guarantee = guarantee_from(model, parameters)

        assert guarantee == guarantee_from(model, parameters)
        assert hash(guarantee) == hash(guarantee_from(model, parameters))
        assert copy.deepcopy(guarantee) == guarantee
        with pytest.raises(AttributeError):
            guarantee.column = shown  # type: ignore[misc] # that it can't be set is the point

    def test_lacks_whatever_is_left_out(self, model, parameters, shown):
        for name in parameters:
            if name in {"distance", "hierarchy", "population", "estimator"}:
                continue
            rest = {key: value for key, value in parameters.items() if key != name}
            with pytest.raises(PolicyError, match=f"{model}.*lacks '{name}'"):
                guarantee_from(model, rest)
        assert shown


def test_unknown_names_get_the_nearest_known():
    with pytest.raises(PolicyError, match="Did you mean 't-closeness'"):
        guarantee_from("t-closness", {})
    with pytest.raises(PolicyError, match="Did you mean 'column'"):
        guarantee_from("distinct-l-diversity", {"l": 3, "colum": "ill"})
    with pytest.raises(PolicyError, match="There are 'k-anonymity'"):
        guarantee_from("???", {})


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("k-anonymity", {"k": 0}),
        ("k-anonymity", {"k": 2.0}),
        ("k-anonymity", {"k": True}),
        ("k-anonymity", {"k": "10"}),
        ("distinct-l-diversity", {"l": 0, "column": "s"}),
        ("entropy-l-diversity", {"l": 0.5, "column": "s"}),
        ("entropy-l-diversity", {"l": float("nan"), "column": "s"}),
        ("entropy-l-diversity", {"l": float("inf"), "column": "s"}),
        ("recursive-cl-diversity", {"c": 0, "l": 2, "column": "s"}),
        ("recursive-cl-diversity", {"c": 1, "l": 1, "column": "s"}),
        ("t-closeness", {"t": 1.1, "column": "s"}),
        ("alpha-k-anonymity", {"alpha": 0, "k": 2, "column": "s"}),
        ("alpha-k-anonymity", {"alpha": 1, "k": 2, "column": "s"}),
        ("alpha-k-anonymity", {"alpha": 0.5, "k": 0, "column": "s"}),
        ("largest-risk", {"risk": 0}),
        ("largest-risk", {"risk": 1}),
        ("average-risk", {"risk": 0}),
        ("average-risk", {"risk": 1}),
        ("sample-uniqueness", {"share": -0.1}),
        ("sample-uniqueness", {"share": 1}),
        ("records-at-risk", {"share": 1, "risk": 0.2}),
        ("population-uniqueness", {"share": 1, "population": 10}),
        ("population-uniqueness", {"share": 0.1, "population": 0}),
        ("population-uniqueness", {"share": 0.1, "sampling_fraction": 0}),
        ("population-uniqueness", {"share": 0.1, "sampling_fraction": 1.1}),
        ("population-uniqueness", {"share": 0.1, "population": 10, "estimator": "argus"}),
        ("records-at-risk", {"share": 0.2, "risk": 0}),
        ("records-at-risk", {"share": 0.2, "risk": 1}),
        ("delta-disclosure-privacy", {"delta": 0, "column": "s"}),
        ("delta-disclosure-privacy", {"delta": float("inf"), "column": "s"}),
        ("basic-beta-likeness", {"beta": 0, "column": "s"}),
        ("enhanced-beta-likeness", {"beta": float("nan"), "column": "s"}),
        ("t-closeness", {"t": -0.1, "column": "s"}),
        ("t-closeness", {"t": 0.1, "column": "s", "distance": "far"}),
    ],
)
def test_parameters_out_of_range_are_refused(model, parameters):
    with pytest.raises(ParameterError, match="parameter of"):
        guarantee_from(model, parameters)


def test_parameters_of_numpy_are_told_as_plain_numbers():
    told = guarantee_from("k-anonymity", {"k": np.int64(3)}).parameters

    assert told == {"k": 3}
    assert type(told["k"]) is int


def test_a_name_stands_for_one_model():
    class Other(KAnonymity):
        pass

    assert register_guarantee(KAnonymity) is KAnonymity
    with pytest.raises(ParameterError, match="'k-anonymity' already"):
        register_guarantee(Other)
    assert GUARANTEES["k-anonymity"] is KAnonymity


def test_a_model_without_its_words_is_refused():
    class Wordless(Guarantee):
        model = "wordless"

        def _measure(self, classes):
            raise NotImplementedError

    with pytest.raises(ParameterError, match="Wordless doesn't say its 'sentence', 'bounded'"):
        register_guarantee(Wordless)
    assert "wordless" not in GUARANTEES
