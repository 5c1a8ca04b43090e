"""What the paper prints: tables 1 and 2. The curves of its figures aren't in its text."""

from __future__ import annotations

from dataclasses import dataclass

from ml_models.methods import OURS, OURS_AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One row of a table of the paper, and which of our cells stands beside it."""

    label: str
    data: str
    model: str
    method: str
    k: int
    train: float | None
    test: float
    attack: float
    precision: float
    recall: float


def _row(
    label: str, cell: tuple[str, str, str, int], train: float | None, *numbers: float
) -> Printed:
    data, model, method, k = cell
    test, attack, precision, recall = numbers
    return Printed(
        label=label,
        data=data,
        model=model,
        method=method,
        k=k,
        train=train,
        test=test,
        attack=attack,
        precision=precision,
        recall=recall,
    )


TABLE_1 = (
    _row("Adult, RF", ("adult", "rf", "raw", 0), 0.98, 0.83, 0.58, 0.56, 0.78),
    _row("Adult, RF, k=50", ("adult", "rf", OURS, 50), 0.85, 0.83, 0.51, 0.51, 0.33),
    _row("Adult, RF, k=100", ("adult", "rf", OURS, 100), 0.85, 0.81, 0.5, 0.5, 0.76),
    _row(
        "Adult, RF, epsilon=10", ("adult", "rf", "dp epsilon=10", 0), 0.82, 0.81, 0.53, 0.52, 0.95
    ),
    _row("Adult, RF, epsilon=1", ("adult", "rf", "dp epsilon=1", 0), 0.8, 0.79, 0.5, 0.52, 0.13),
    _row("Adult, NN", ("adult", "nn-large", "raw", 0), 0.96, 0.89, 0.53, 0.52, 0.6),
    _row("Adult, NN, k=25", ("adult", "nn-large", OURS_AT_ONCE, 25), 0.84, 0.82, 0.5, 0.5, 0.71),
    _row("Adult, NN, k=50", ("adult", "nn-large", OURS_AT_ONCE, 50), 0.84, 0.81, 0.5, 0.5, 0.32),
    _row(
        "Adult, NN, epsilon=2.11",
        ("adult", "nn-large", "dp epsilon=2.11", 0),
        0.83,
        0.83,
        0.5,
        0.5,
        0.14,
    ),
    _row("Loan, RF", ("loan", "rf", "raw", 0), 1.0, 0.92, 0.67, 0.65, 0.71),
    _row("Loan, RF, k=100", ("loan", "rf", OURS, 100), 1.0, 0.92, 0.51, 0.51, 0.29),
    _row("Loan, RF, epsilon=10", ("loan", "rf", "dp epsilon=10", 0), 0.82, 0.81, 0.5, 0.66, 0.0094),
    _row("Loan, RF, epsilon=1", ("loan", "rf", "dp epsilon=1", 0), 0.82, 0.8, 0.5, 0.5, 0.18),
    _row("Loan, NN", ("loan", "nn-large", "raw", 0), 0.95, 0.95, 0.54, 0.53, 0.67),
    _row("Loan, NN, k=200", ("loan", "nn-large", OURS_AT_ONCE, 200), 0.95, 0.92, 0.5, 0.5, 0.46),
    _row(
        "Loan, NN, epsilon=3.1",
        ("loan", "nn-large", "dp epsilon=3.1", 0),
        0.87,
        0.87,
        0.5,
        0.5,
        0.47,
    ),
)
TABLE_2 = (
    _row("Nursery, DT", ("nursery", "dt", "raw", 0), None, 0.68, 0.61, 0.41, 0.32),
    _row("Nursery, DT, k=100", ("nursery", "dt", "paper", 100), None, 0.74, 0.56, 0.31, 0.21),
    _row("Nursery, DT, k=100, ours", ("nursery", "dt", OURS, 100), None, 0.74, 0.56, 0.31, 0.21),
)
