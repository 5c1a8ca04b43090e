"""What an objective minimizes and what a release's measures say are the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask.anonymize import LatticePartition
from halfmask.anonymize.lattice import OBJECTIVES, NodeClasses, lattice_column
from halfmask.microdata import Policy, protect

TERMS = {"publisher_benefit": 9, "publisher_loss": 7, "adversary_gain": 8, "adversary_cost": 1}


def _release(objective: Any) -> Any:
    draw = np.random.default_rng(8)
    table = pl.DataFrame(
        {
            "city": draw.choice(list("abcdefgh"), 300).tolist(),
            "job": draw.choice(list("uvwxyz"), 300, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]).tolist(),
            "vote": draw.choice(["no", "yes"], 300).tolist(),
        }
    )
    trees = {
        "city": [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]],
        "job": [["u", "v", "w"], ["x", "y", "z"]],
    }
    columns: dict[str, dict[str, object]] = {
        name: {"role": "quasi_identifier", "kind": "ordinal", "hierarchy": {"order": tree}}
        for name, tree in trees.items()
    }
    columns["vote"] = {"role": "insensitive", "kind": "categorical", "label": True}
    policy = Policy(
        halfmask=1,
        columns=columns,
        guarantees=[{"model": "k-anonymity", "k": 9}],
        method={"name": "full-domain", "objective": objective},
        recoding={"name": "level"},
    )
    return table, protect(table, policy)


def _loss(name: str, table: pl.DataFrame, release: Any) -> float:
    """Return the loss of the chosen node, by the objective."""
    plan, cells = release.source.plan, release.source.cells
    partition = plan.partition
    assert isinstance(partition, LatticePartition)
    codes = plan.codes(table)
    columns = [lattice_column(*each) for each in zip(plan.codings, codes, strict=True)]
    labels = np.zeros((partition.n_cells, 2), dtype=np.int64)
    np.add.at(labels, (cells, (table["vote"] == "yes").to_numpy().astype(int)), 1)
    kind: Any = OBJECTIVES[name]
    objective = kind(**TERMS) if name == "publisher-payout" else kind()
    classes = NodeClasses(
        levels=partition.levels,
        sizes=partition.sizes,
        nodes=partition.nodes,
        suppressed=0,
        labels=labels,
    )
    return float(objective.scorer(columns, n_rows=table.height).loss(classes))


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("loss", lambda it: it.loss.loss),
        ("precision", lambda it: 1 - it.measures.precision),
        ("height", lambda it: it.measures.height),
        ("discernibility", lambda it: it.class_sizes.discernibility),
        ("average-class-size", lambda it: it.class_sizes.average_class_size),
        ("ambiguity", lambda it: it.measures.ambiguity),
        ("classification", lambda it: it.measures.classification),
        ("publisher-payout", lambda it: 9 * 300 - it.measures.payout),
    ],
)
def test_a_measure_of_the_release_is_the_loss_that_was_least(name, measure):
    objective = {"name": name, **TERMS} if name == "publisher-payout" else name
    table, release = _release(objective)

    assert measure(release.utility) == pytest.approx(_loss(name, table, release))


def test_the_divergence_is_the_cross_entropy_without_that_of_the_raw_rows():
    table, release = _release("kl-divergence")
    raw = table.group_by("city", "job").len()["len"].to_numpy() / table.height
    entropy = -float(raw @ np.log2(raw))

    found = release.utility.measures.kl_divergence
    assert found == pytest.approx(_loss("kl-divergence", table, release) - entropy, abs=1e-9)
