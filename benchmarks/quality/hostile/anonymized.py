"""Whether training on classes of k rows weakens poisoning: plain, k = 10 and k = 100.

    python benchmarks/quality/robustness.py --only anonymized

Each seed draws its own rows. Quasi-identifiers are all columns, the strongest case for the defence:
a trigger in another column reaches the model unchanged.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import workloads
from bars import Bar, say
from halfmask.assess.attacks import AttackReport, ModelTarget, attack
from halfmask.assess.attacks.poisoning import (
    BackdoorRows,
    InsertedRows,
    RandomLabelFlips,
    TargetedLabelFlips,
)
from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator
from quality.hostile.tables import Split, adult, piped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LEARNERS = {
    "logistic": LogisticRegression(max_iter=500),
    "tree of depth 8": DecisionTreeClassifier(max_depth=8, random_state=0),
}
ATTACKS = (RandomLabelFlips(), TargetedLabelFlips(), InsertedRows(), BackdoorRows())
KS = (None, 10, 100)
SHARED = Path(
    os.environ.get("HALFMASK_SHARED_DATA", workloads.REPOSITORY.parent / "shared" / "data")
)
HOSPITALS = SHARED / "diabetes_130_hospitals.csv.gz"
DESCRIBED = (
    *("race", "gender", "age", "admission_type_id", "admission_source_id", "time_in_hospital"),
    *("num_lab_procedures", "num_procedures", "num_medications", "number_outpatient"),
    *("number_emergency", "number_inpatient", "number_diagnoses", "insulin", "change"),
    *("diabetesMed", "A1Cresult", "medical_specialty"),
)


def hospitals(seed: int) -> Split:
    """Return hospital stays, and whether the patient came back."""
    table = pl.read_csv(HOSPITALS, infer_schema_length=None)
    table = table[np.random.default_rng(seed).permutation(table.height)]
    labels = (table["readmitted"] != "NO").to_numpy().astype(np.int64)
    rows, n = table.select(DESCRIBED), 30_000
    return Split(rows=rows[:n], labels=labels[:n], held=rows[n:], truth=labels[n:])


def attacked(split: Split, learner: Any, ks: Iterable[int | None], seed: int) -> dict[Any, Any]:  # noqa: ANN401 # scikit-learn's
    """Return for each k the report of all attacks; ``None``: the plain model, all their control."""
    targets = {k: _target(split, learner, k) for k in ks}
    return {
        k: attack(each, unprotected=targets[None], attacks=ATTACKS, random_state=seed)
        for k, each in targets.items()
    }


def _target(split: Split, learner: Any, k: int | None) -> ModelTarget:  # noqa: ANN401 # the same
    def train(rows: pl.DataFrame, labels: Any, seed: int) -> Any:  # noqa: ANN401 # the same
        if k is None:
            return piped(clone(learner), rows).fit(rows, labels)
        return AnonymizedEstimator(
            learner, guarantees=[KAnonymity(k=k)], random_state=seed
        ).fit(rows, labels)  # fmt: skip

    return ModelTarget(
        model=train(split.rows, split.labels, seed=0),
        members=split.rows,
        member_labels=split.labels,
        non_members=split.held,
        non_member_labels=split.truth,
        train=train,
    )


def table_of(
    splits: dict[str, Callable[[int], Split]],
    *,
    n_rows: int,
    learners: Iterable[str] = LEARNERS,
    ks: Iterable[int | None] = KS,
    seeds: Iterable[int] = (0, 1, 2),
) -> pl.DataFrame:
    """Attack each model of each table, k and seed; return a row for each finding."""
    found = []
    for name, drawn in splits.items():
        for seed in seeds:
            whole = drawn(seed)
            split = Split(
                rows=whole.rows[:n_rows],
                labels=whole.labels[:n_rows],
                held=whole.held[:n_rows],
                truth=whole.truth[:n_rows],
            )
            for learner in learners:
                reports = attacked(split, LEARNERS[learner], ks, seed)
                known = {"table": name, "model": learner, "seed": seed}
                found += [known | each for k, it in reports.items() for each in _rows(k, it)]
                say(f"{name}, {learner}, seed {seed}")
    return pl.DataFrame(found, infer_schema_length=None)


def _rows(k: int | None, report: AttackReport) -> list[dict[str, Any]]:
    return [
        {
            "k": k or 1,
            "measure": f"{it.outcome.attack.removeprefix('poisoning/')}: {it.outcome.measure}",
            "clean accuracy": it.outcome.details["accuracy without attack"],
            "under attack": it.outcome.success.value,
            "without": it.outcome.control.value,
            "excess": it.outcome.excess.value,
            "verdict": it.verdict,
        }
        for it in report.findings
        if not it.failure
    ]


def as_markdown(found: pl.DataFrame) -> str:
    """Return means over seeds, with the range of the excess and all verdicts."""
    keys = ["table", "model", "measure", "k"]
    excess = pl.col("excess")
    means = found.group_by(keys, maintain_order=True).agg(
        pl.col("clean accuracy", "without", "under attack").mean(),
        excess.mean().alias("mean"),
        excess.min().alias("low"),
        excess.max().alias("high"),
        pl.col("verdict").unique().sort().str.join(", "),
    )
    heads = (*keys, "clean accuracy", "without attack", "under attack", "excess", "verdicts")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [
        f"| {it['table']} | {it['model']} | {it['measure']} | {it['k'] if it['k'] > 1 else 'none'} "
        f"| {it['clean accuracy']:.3f} | {it['without']:.3f} | {it['under attack']:.3f} "
        f"| {it['mean']:.3f} ({it['low']:.3f} to {it['high']:.3f}) | {it['verdict']} |"
        for it in means.sort(keys, maintain_order=True).iter_rows(named=True)
    ]
    return "\n".join(lines)


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Poison plain models and models of classes of k rows, over three seeds."""
    if quick:
        return [], "Not measured: it trains hundreds of models."
    splits = {"Adult": lambda each: adult(each, numbers_only=False)}
    if HOSPITALS.is_file():
        splits["Hospitals"] = hospitals
    found = table_of(splits, n_rows=8_000, seeds=range(seed, seed + 3))
    doors = found.filter(pl.col("measure").str.starts_with("backdoor"), pl.col("table") == "Adult")
    rates = {k: doors.filter(pl.col("k") == k)["under attack"] for k in (1, 10, 100)}
    bars = [
        # the positive control: what doesn't work without the defence can't show it
        Bar(name="trigger rate of 1 % on plain models of Adult, the least",
            value=float(rates[1].min()), goal=0.5, side="at least"),
    ]  # fmt: skip
    return bars, as_markdown(found)
