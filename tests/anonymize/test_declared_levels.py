"""Levels, weights and labels that columns declare, in full-domain generalization."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask import Anonymizer, KAnonymity
from halfmask._errors import ParameterError, PolicyError
from halfmask.anonymize import FullDomain, LatticePartition, Level, Mondrian, Plan, Protection
from halfmask.anonymize.lattice import Discernibility, Loss, PublisherPayout
from halfmask.data import Column, Intervals, Schema
from halfmask.microdata import Policy, protect

WIDTHS = (2, 4, 8)


def _rows(n: int = 300) -> pl.DataFrame:
    draw = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "x": draw.integers(0, 16, n),
            "y": draw.integers(0, 16, n),
            "sick": draw.choice(["no", "yes"], n).tolist(),
        }
    )


def _levels(*, k: int = 4, objective: Any = None, share: float = 0.0, **columns: Any):
    """Return the levels of x and y that are chosen."""
    declared = tuple(
        Column(
            name=name,
            role="quasi_identifier",
            kind="numeric",
            hierarchy=Intervals(WIDTHS),
            **columns.get(name, {}),
        )
        for name in ("x", "y")
    )
    label = Column(name="sick", role="insensitive", kind="categorical", label=True)
    protection = Protection(
        schema=Schema((*declared, label)),
        guarantees=(KAnonymity(k=k),),
        method=FullDomain(objective=objective or Loss()),
        recoding=Level(),
        max_suppression_fraction=share,
    )
    plan, _ = protection.plan(protection.fit(protection.summarize(_rows())))
    return _chosen(plan)


def _chosen(plan: Plan) -> tuple[int, ...]:
    assert isinstance(plan.partition, LatticePartition)
    return plan.partition.levels


def _loss(frame: pl.DataFrame, levels: tuple[int, ...], weights: tuple[float, float]) -> float:
    """Count the loss of a node without suppression, plainly; infinite where k = 4 is missed."""
    widths = [(1, *WIDTHS, 16)[level] for level in levels]
    written = frame.select(
        *(pl.col(name) // width for name, width in zip("xy", widths, strict=True))
    )
    if min(written.group_by("x", "y").len()["len"].to_list()) < 4:
        return float("inf")
    lost = [(width - 1) / 15 for width in widths]
    return sum(w * each for w, each in zip(weights, lost, strict=True)) / sum(weights)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (5.0, 1.0), (1.0, 5.0)])
@pytest.mark.parametrize("ends", [((0, 4), (0, 4)), ((1, 3), (0, 4)), ((0, 4), (2, 3))])
def test_the_best_node_between_the_levels_is_chosen(weights, ends):
    declared: dict[str, Any] = {
        name: {"weight": weight, "least_level": least, "greatest_level": greatest}
        for name, weight, (least, greatest) in zip("xy", weights, ends, strict=True)
    }
    found = _levels(**declared)
    nodes = product(*(range(least, greatest + 1) for least, greatest in ends))
    losses = {node: _loss(_rows(), node, weights) for node in nodes}

    assert _loss(_rows(), found, weights) == pytest.approx(min(losses.values()))
    assert found in losses


def test_a_weight_moves_detail_to_its_column():
    heavy_x = _levels(x={"weight": 5.0})
    heavy_y = _levels(y={"weight": 5.0})
    assert heavy_x[0] < heavy_y[0]
    assert heavy_y[1] < heavy_x[1]


def test_a_level_that_the_hierarchy_doesnt_have_is_refused():
    with pytest.raises(ParameterError, match=r"'x' has levels 0 to 4\. Got level 9"):
        _levels(x={"greatest_level": 9})
    with pytest.raises(ParameterError, match="Got level 5"):
        _levels(x={"least_level": 5})


def test_other_methods_refuse_levels():
    column = Column(name="x", role="quasi_identifier", kind="numeric", least_level=1)
    with pytest.raises(ParameterError, match="Mondrian"):
        Protection(
            schema=Schema((column,)),
            guarantees=(KAnonymity(k=2),),
            method=Mondrian(),
            recoding=Level(),
            max_suppression_fraction=0.0,
        )


def test_weights_that_an_objective_ignores_are_refused():
    with pytest.raises(ParameterError, match="discernibility"):
        _levels(objective=Discernibility(), x={"weight": 2.0})
    same = _levels(objective=Discernibility(), x={"weight": 2.0}, y={"weight": 2.0})
    assert same == _levels(objective=Discernibility())


def test_the_labels_of_the_rows_decide():
    """Only x says who is sick: its detail is kept, and that of y goes."""
    draw = np.random.default_rng(3)
    x, y = draw.integers(0, 16, 400), draw.integers(0, 16, 400)
    frame = pl.DataFrame({"x": x, "y": y, "sick": np.where(x < 8, "no", "yes").tolist()})

    def chosen(column: str) -> tuple[int, ...]:
        columns: dict[str, dict[str, object]] = {
            name: {
                "role": "quasi_identifier", "kind": "numeric", "hierarchy": {"intervals": [8]}
            }
            for name in ("x", "y")
        }  # fmt: skip
        columns["sick"] = {"role": "insensitive", "kind": "categorical", "label": True}
        columns[column]["greatest_level"] = 1
        policy = Policy(
            halfmask=1,
            columns=columns,
            guarantees=[{"model": "k-anonymity", "k": 150}],
            method={"name": "full-domain", "objective": "classification"},
            recoding={"name": "level"},
        )
        release = protect(frame, policy)
        assert release.utility.measures.classification is not None
        return _chosen(release.source.plan)

    assert chosen("x")[0] == 1
    assert protect(frame, _label_policy()).utility.measures.classification == 0


def _label_policy() -> Policy:
    tree = {"intervals": [8]}
    return Policy(
        halfmask=1,
        columns={
            "x": {"role": "quasi_identifier", "kind": "numeric", "hierarchy": tree},
            "y": {"role": "quasi_identifier", "kind": "numeric", "hierarchy": tree},
            "sick": {"role": "insensitive", "kind": "categorical", "label": True},
        },
        guarantees=[{"model": "k-anonymity", "k": 150}],
        method={"name": "full-domain", "objective": "classification"},
        recoding={"name": "level"},
    )


def test_a_journalist_needs_a_population():
    terms = {"publisher_benefit": 1, "publisher_loss": 1, "adversary_gain": 1, "adversary_cost": 1}
    payout: Any = PublisherPayout
    with pytest.raises(ParameterError, match="population"):
        _levels(objective=payout(**terms, attacker="journalist"))


def test_the_estimator_takes_levels_and_weights():
    rows = _rows().select("x", "y")
    trees = {"x": Intervals(WIDTHS), "y": Intervals(WIDTHS)}

    def levels(**more: Any) -> tuple[int, ...]:
        fitted = Anonymizer(
            guarantees=[KAnonymity(k=4)],
            method=FullDomain(),
            recoding=Level(),
            hierarchies=trees,
            **more,
        ).fit(rows)
        return _chosen(fitted.plan_)

    assert levels(levels={"x": (3, None)})[0] >= 3
    assert levels(levels={"x": (None, 1)})[0] <= 1
    assert levels(weights={"x": 5.0})[0] < levels(weights={"y": 5.0})[0]
    for wrong in ([1], {"x": 1}, {"x": (1, 2, 3)}):
        with pytest.raises(ParameterError, match="levels"):
            levels(levels=wrong)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("least_level = 2\ngreatest_level = 1", "least"),
        ("least_level = -1", "least_level"),
        ("least_level = 1.5", "least_level"),
    ],
)
def test_policies_with_levels_that_dont_fit_are_refused(keys, said):
    text = _label_policy().to_toml().replace("[columns.x]", f"[columns.x]\n{keys}")
    with pytest.raises(PolicyError, match=said):
        Policy.from_toml(text)


def test_levels_of_other_roles_are_refused():
    text = _label_policy().to_toml().replace("[columns.sick]", "[columns.sick]\nleast_level = 1")
    with pytest.raises(PolicyError, match=r"\[columns.sick\].*quasi_identifier"):
        Policy.from_toml(text)
