"""Predictions from encoded rows beside those of plain training: Adult and California housing.

Every learner is trained twice, on plain rows and on encoded ones, and asked about other rows. Where
a codec claims that nothing changes, the answers must be equal; where it doesn't, what is lost is
shown.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.linalg import orthogonal_procrustes
from sklearn.compose import TransformedTargetRegressor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import workloads
from bars import say
from halfmask.encode import Codec, Learner
from halfmask.vault import Secret

HOUSES = Path(__file__).resolve().parents[4] / "shared" / "data" / "geo" / "california_housing.csv"
ASKED, FEW = 10_000, 1_000
#: LightGBM holds a target in 32 bits.
EXACT, SINGLE = 1e-9, 1e-6
Prepared = Literal["one-hot", "declared", "numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A learner, the codec made for it or for another, and what is claimed of the two.

    Parameters
    ----------
    limit
        How far predictions may be from plain training's; ``None`` where nothing is claimed.
    prepared
        What is made of columns of codes; ``"numbers"`` leaves them out.
    rows
        How many rows it learns from at most.
    trained
        Whether it is asked about the rows that it was trained on.
    neighbours
        Of how many neighbours it takes the votes: rows with a tie for the last place are told
        apart, where nothing is claimed.
    """

    name: str
    made_for: Learner
    model: Callable[[list[int]], Any]
    limit: float | None = None
    prepared: Prepared = "one-hot"
    rows: int = 10_000
    strength: float = 0.0
    trained: bool = False
    neighbours: int = 0


def _centred(model: Any) -> Any:  # noqa: ANN401 # scikit-learn's
    return TransformedTargetRegressor(model, transformer=StandardScaler(with_std=False))


def _scaled(model: Any) -> Any:  # noqa: ANN401 # scikit-learn's
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def _lightgbm(kind: Any, at: list[int]) -> Any:  # noqa: ANN401 # LightGBM's
    """Return LightGBM with columns that are declared categorical."""
    more = {"categorical_feature": at} if at else {}
    return kind(n_estimators=100, n_jobs=1, verbose=-1, **more)


def _boosted(kind: Any, at: list[int], **more: Any) -> Any:  # noqa: ANN401 # scikit-learn's
    return kind(early_stopping=False, categorical_features=at or None, **more)


CLASSES = (
    Case(name="histogram boosting", made_for="trees", prepared="declared", limit=0,
         model=lambda at: _boosted(HistGradientBoostingClassifier, at)),
    Case(name="LightGBM", made_for="trees", prepared="declared", limit=0,
         model=lambda at: _lightgbm(LGBMClassifier, at)),
    Case(name="random forest", made_for="trees",
         model=lambda _: RandomForestClassifier(50, random_state=0)),
    Case(name="nearest neighbours", made_for="distances", limit=0, neighbours=15,
         model=lambda _: KNeighborsClassifier(15, algorithm="brute")),
    Case(name="logistic regression, L2", made_for="distances", limit=0,
         model=lambda _: LogisticRegression(solver="newton-cholesky", tol=1e-10)),
    Case(name="support vectors, Gaussian", made_for="distances", limit=0, rows=3_000,
         model=lambda _: SVC(gamma=0.05, tol=1e-9)),
    Case(name="discriminant analysis", made_for="linear", limit=0, prepared="numbers",
         model=lambda _: LinearDiscriminantAnalysis()),
    Case(name="quadratic discriminant analysis", made_for="linear", limit=0, prepared="numbers",
         model=lambda _: QuadraticDiscriminantAnalysis()),
    Case(name="logistic regression, no penalty", made_for="linear", limit=0, prepared="numbers",
         model=lambda _: LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)),
    *(Case(name=f"logistic regression, L2, C={c:g}, {rows:,} rows", made_for="linear", rows=rows,
           model=lambda _, c=c: LogisticRegression(C=c, solver="newton-cholesky", tol=1e-10))
      for c in (1.0, 0.01) for rows in (10_000, 1_000)),
    Case(name="network, Adam", made_for="networks",
         model=lambda _: MLPClassifier((32,), random_state=0, max_iter=20)),
    Case(name="network, Adam, bent 0.5", made_for="networks", strength=0.5,
         model=lambda _: MLPClassifier((32,), random_state=0, max_iter=20)),
    Case(name="network, Adam, bent 1", made_for="networks", strength=1.0,
         model=lambda _: MLPClassifier((32,), random_state=0, max_iter=20)),
    Case(name="histogram boosting", made_for="distances",
         model=lambda _: HistGradientBoostingClassifier(early_stopping=False)),
)  # fmt: skip
NUMBERS = (
    Case(name="histogram boosting", made_for="trees", prepared="declared", limit=EXACT,
         model=lambda at: _boosted(HistGradientBoostingRegressor, at)),
    Case(name="LightGBM, training rows", made_for="trees", prepared="declared", limit=SINGLE,
         trained=True, model=lambda at: _lightgbm(LGBMRegressor, at)),
    Case(name="LightGBM", made_for="trees", prepared="declared",
         model=lambda at: _lightgbm(LGBMRegressor, at)),
    Case(name="random forest", made_for="trees",
         model=lambda _: RandomForestRegressor(20, random_state=0)),
    Case(name="nearest neighbours", made_for="distances", limit=EXACT,
         model=lambda _: KNeighborsRegressor(15, weights="distance", algorithm="brute")),
    Case(name="ridge", made_for="distances", limit=EXACT, model=lambda _: Ridge(solver="svd")),
    Case(name="kernel ridge, Gaussian", made_for="distances", limit=EXACT, rows=3_000,
         model=lambda _: _centred(KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1))),
    Case(name="least squares", made_for="linear", limit=EXACT, prepared="numbers",
         model=lambda _: LinearRegression()),
    Case(name="ridge, behind a matrix", made_for="linear", model=lambda _: Ridge(solver="svd")),
    Case(name="network, gradient descent, paired start", made_for="networks", limit=EXACT,
         prepared="numbers", model=lambda _: _Paired("sgd")),
    Case(name="network, Adam, paired start", made_for="networks", prepared="numbers",
         model=lambda _: _Paired("adam")),
    Case(name="network, Adam, bent 1", made_for="networks", strength=1.0,
         model=lambda _: _scaled(
             MLPRegressor(hidden_layer_sizes=(32,), random_state=0, max_iter=20))),
    Case(name="histogram boosting", made_for="distances",
         model=lambda _: HistGradientBoostingRegressor(early_stopping=False)),
)  # fmt: skip


class _Paired:
    """scikit-learn's network from first weights that are turned as its rows are."""

    def __init__(self, solver: str) -> None:
        self.model = MLPRegressor(
            hidden_layer_sizes=(16,),
            activation="tanh",
            solver=solver,
            alpha=0.01,
            warm_start=True,
            random_state=0,
        )
        self.turn: Any = None
        self.falls = False

    def fit(self, rows: Any, target: Any) -> _Paired:  # noqa: ANN401 # arrays
        self.center, self.scale = target.mean(), target.std() * (-1 if self.falls else 1)
        y = (target - self.center) / target.std()
        first = np.random.default_rng(0).normal(size=(rows.shape[1], 16)) / np.sqrt(rows.shape[1])
        # One step of no length makes a network, in whose place the given weights go.
        self.model.set_params(learning_rate_init=1e-300, max_iter=1).fit(rows, y)
        self.model.coefs_[0] = first if self.turn is None else self.turn.T @ first
        if self.falls:
            self.model.coefs_[1] = -self.model.coefs_[1]
            self.model.intercepts_[1] = -self.model.intercepts_[1]
        self.model.set_params(learning_rate_init=0.01, max_iter=10).fit(rows, y)
        return self

    def predict(self, rows: Any) -> Any:  # noqa: ANN401 # arrays
        return self.center + abs(self.scale) * self.model.predict(rows)


def _design(train: Any, asked: Any, at: list[int], prepared: Prepared) -> tuple[Any, Any]:  # noqa: ANN401 # arrays
    """Return rows as a learner takes them: codes declared, one column each, or left out."""
    if prepared == "declared":
        return train, asked
    made = []
    for rows in (train, asked):
        parts = [np.delete(rows, at, axis=1)]
        if prepared == "one-hot":
            parts += [rows[:, [column]] == np.unique(train[:, column]) for column in at]
        made.append(np.nan_to_num(np.column_stack(parts)))
    return made[0], made[1]


def _answers(case: Case, table: pl.DataFrame, asked: pl.DataFrame, target: str, seed: int) -> Any:  # noqa: ANN401 # arrays
    """Return what plain training predicts, what came back decoded, the truth, and ties."""
    train, secret = table[: case.rows], Secret.from_bytes(seed.to_bytes(32, "big"))
    asked = train if case.trained else asked
    codec = Codec(
        learner=case.made_for,
        secret=secret,
        unseen="reserve",
        strength=case.strength,
        precision="column",
    )
    codec.fit(train, target=target)
    sent, questions = codec.encode(train), codec.encode(asked.drop(target), batch=1)
    at = [codec.plan_.tokens.index(it.token) for it in codec.plan_.codes]
    order = codec.plan_.order(train.height, 0)
    plain = _floats(codec.plain(train), codec.plain(asked, batch=1))
    away = _floats(sent.drop(codec.target_name_), questions)
    # Missing numbers behind a matrix are zero and flagged; before ranks they are missing.
    plain, away = (_design(*rows, at, case.prepared) for rows in (plain, away))
    columns = at if case.prepared == "declared" else []
    home, elsewhere = case.model(columns), case.model(columns)
    truth, codes = train[target].to_numpy()[order], sent[codec.target_name_].to_numpy()
    if isinstance(elsewhere, _Paired):
        elsewhere.turn, _ = orthogonal_procrustes(plain[0], away[0])
        elsewhere.falls = bool(np.corrcoef(truth, codes)[0, 1] < 0)
    wanted = home.fit(plain[0], truth).predict(plain[1])
    got = elsewhere.fit(away[0], codes).predict(away[1])
    right = asked[target].to_numpy()[codec.plan_.order(asked.height, 1)]
    tied = _tied(*plain, case.neighbours) if case.neighbours else np.zeros(len(right), dtype=bool)
    return wanted, codec.decode_predictions(got, batch=None), right, tied


def _tied(train: Any, asked: Any, n: int) -> Any:  # noqa: ANN401 # arrays
    """Return whose n-th neighbour is as near as the next one, to the rounding of distances."""
    found, _ = NearestNeighbors(n_neighbors=n + 1, algorithm="brute").fit(train).kneighbors(asked)
    return found[:, -1] - found[:, -2] <= 1e-6


def _floats(*frames: pl.DataFrame) -> tuple[Any, ...]:
    return tuple(frame.cast(pl.Float64).to_numpy() for frame in frames)


def _measured(
    cases: tuple[Case, ...], data: tuple[pl.DataFrame, pl.DataFrame, str], *, title: str, seed: int
) -> tuple[dict[str, float], str]:
    """Return how far claims are from holding, by limit, and a table."""
    rows, worst = [], {}
    for case in cases:
        wanted, got, truth, tied = _answers(case, *data, seed)
        if truth.dtype.kind == "f":
            apart = float(np.abs(wanted - got).max() / np.abs(wanted).max())
            scores = [1 - np.mean((it - truth) ** 2) / truth.var() for it in (wanted, got)]
        else:
            apart = float(((wanted != got) & ~tied).sum())
            scores = [np.mean(it == truth) for it in (wanted, got)]
        if case.limit is not None:
            key = "LightGBM" if case.limit == SINGLE else "exact"
            worst[key] = max(worst.get(key, 0.0), apart)
        claim = "measured" if case.limit is None else f"at most {case.limit:g}"
        ties = f", {tied.sum():,} ties aside" if tied.any() else ""
        cells = (
            case.name + ties,
            case.made_for,
            claim,
            f"{apart:.3g}",
            *(f"{it:.4f}" for it in scores),
        )
        say(f"  {title}: {', '.join(cells)}")
        rows.append(f"| {' | '.join(cells)} |")
    words = "labels that differ" if title == "Adult" else "largest difference, relative"
    score = "accuracy" if title == "Adult" else "R2"
    asked = f"{title}, {data[1].height:,} other rows asked about\n\n"
    head = f"| learner | codec for | claim | {words} | {score}, plain | {score}, encoded |\n"
    return worst, asked + head + "|---|---|---|---|---|---|\n" + "\n".join(rows)


def measure(*, quick: bool, seed: int) -> dict[str, Any]:
    """Train each learner twice, and return whether its predictions are what is claimed."""
    n_asked = FEW if quick else ASKED
    people = pl.read_csv(workloads.ADULT_CSV).drop("fnlwgt", "split").sample(
        fraction=1, shuffle=True, seed=seed
    )  # fmt: skip
    adult = people[n_asked : 3 * n_asked], people[:n_asked], "income"
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # networks are stopped early
        worst, table = _measured(CLASSES, adult, title="Adult", seed=seed)
        bars = {"Adult: labels that differ, exact learners": _bar(worst["exact"], 0)}
        tables = [table]
        if HOUSES.is_file():
            houses = pl.read_csv(HOUSES).sample(fraction=1, shuffle=True, seed=seed)
            data = houses[n_asked : 3 * n_asked], houses[:n_asked], "median_house_value"
            worst, table = _measured(NUMBERS, data, title="California housing", seed=seed)
            bars |= {
                "California: relative difference, exact learners": _bar(worst["exact"], EXACT),
                "California: relative difference on training rows, LightGBM": _bar(
                    worst["LightGBM"], SINGLE
                ),
            }
            tables.append(table)
        else:
            say(f"SKIPPED {HOUSES.name}: not there")
            why = {"why": "the data set is absent"}
            bars["California: relative difference, exact learners"] = {**_bar(None, EXACT), **why}
    return {**bars, "tables": "\n\n".join(tables)}


def _bar(value: float | None, goal: float) -> dict[str, Any]:
    return {"value": value, "goal": f"<= {goal:g}", "holds": value is not None and value <= goal}
