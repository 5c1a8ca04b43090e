"""Synthetic rows under an epsilon, beside AIM on mbi's estimator: both on the same codes of Adult.

`python benchmarks/peers.py --only mbi` makes the peer's venv. Both get the same declared domain,
rho, rows to learn from and limit of cells. Compared are tables of three columns, and boosting that
is trained on synthetic rows and tested on rows that nobody learnt from. With the peer it takes half
an hour. `--quick` does without it, and compares with columns that are drawn independently.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from bars import Bar, report, say
from halfmask.dp.synthesis import CategoryDomain, NumberDomain, PrivateSynthesizer, rho_of
from halfmask.dp.synthesis.declared_domain import DeclaredDomain
from peers import DEFAULT_INTO, REPOSITORY, python_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ADULT = REPOSITORY / "examples" / "adult" / "adult.csv"
DELTA, CELLS, SEED = 1e-6, 200_000, 0
EDUCATION = (
    *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad"),
    *("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school"),
    "Doctorate",
)
OCCUPATION = (
    *("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial"),
    *("Prof-specialty", "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical"),
    *("Farming-fishing", "Transport-moving", "Priv-house-serv", "Protective-serv", "Armed-Forces"),
)
DOMAIN = {
    "age": NumberDomain(edges=(*range(15, 91, 5), 100), whole=True),
    "workclass": CategoryDomain(
        values=(
            *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov"),
            *("State-gov", "Without-pay", "Never-worked"),
        ),
        missing=True,
    ),
    "education": CategoryDomain(values=EDUCATION),
    "marital-status": CategoryDomain(
        values=(
            *("Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed"),
            *("Married-spouse-absent", "Married-AF-spouse"),
        )
    ),
    "occupation": CategoryDomain(values=OCCUPATION, missing=True),
    "relationship": CategoryDomain(
        values=("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried")
    ),
    "race": CategoryDomain(
        values=("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black")
    ),
    "sex": CategoryDomain(values=("Female", "Male")),
    "capital-gain": NumberDomain(
        edges=(0, 2000, 4000, 6000, 8000, 10_000, 20_000, 100_000), atoms=(0,), whole=True
    ),
    "capital-loss": NumberDomain(edges=(0, 1500, 1800, 2000, 2500, 5000), atoms=(0,), whole=True),
    "hours-per-week": NumberDomain(edges=(0, 10, 20, 30, 36, 40, 41, 46, 51, 61, 100), whole=True),
    "native-country": CategoryDomain(
        values=(
            *("United-States", "Mexico", "Philippines", "Germany", "Canada", "India", "England"),
            *("Cuba", "China", "other"),
        ),
        missing=True,
    ),
    "income": CategoryDomain(values=("<=50K", ">50K")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What synthetic rows are good for."""

    error: float
    auc: float


def quality(drawn: NDArray[np.int64], train: NDArray[np.int64], test: NDArray[np.int64]) -> Quality:
    """Return the mean distance of tables of three columns, and the AUC of boosting."""
    shape = DeclaredDomain(columns=DOMAIN).shape
    apart = []
    for columns in itertools.combinations(range(len(shape)), 3):
        sizes = [shape[i] for i in columns]
        shares = []
        for codes in (drawn, train):
            places = np.ravel_multi_index([codes[i] for i in columns], sizes)
            shares.append(np.bincount(places, minlength=int(np.prod(sizes))) / codes.shape[1])
        apart.append(float(np.abs(shares[0] - shares[1]).sum() / 2))
    model = HistGradientBoostingClassifier(random_state=SEED).fit(drawn[:-1].T, drawn[-1])
    auc = roc_auc_score(test[-1], model.predict_proba(test[:-1].T)[:, 1])
    return Quality(error=float(np.mean(apart)), auc=float(auc))


def ours(table: pl.DataFrame, epsilon: float) -> NDArray[np.int64]:
    """Return the codes of our synthetic rows."""
    start = time.perf_counter()
    model = PrivateSynthesizer(
        domain=DOMAIN, epsilon=epsilon, delta=DELTA, max_cells=CELLS, random_state=SEED
    ).fit(table)
    drawn = model.sample(table.height)
    say(f"epsilon {epsilon:g}: ours took {time.perf_counter() - start:.0f} s")
    return DeclaredDomain(columns=DOMAIN).codes(drawn)


def peer(codes: NDArray[np.int64], epsilon: float, into: Path) -> NDArray[np.int64] | None:
    """Return the codes of the peer's synthetic rows; None without its venv."""
    python = python_of("mbi", into)
    if python is None:
        return None
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "codes.npz", Path(folder) / "drawn.npy"
        np.savez(given, codes=codes, shape=np.array(DeclaredDomain(columns=DOMAIN).shape))
        words = [python, Path(__file__).with_name("peer_mbi.py"), given, out]
        options = ["--rho", str(rho_of(epsilon, delta=DELTA)), "--cells", str(CELLS)]
        subprocess.run([*words, *options], check=True)  # our own script
        say(f"epsilon {epsilon:g}: mbi took {time.perf_counter() - start:.0f} s")
        return np.asarray(np.load(out))


def bar(name: str, value: float | None, goal: float, side: str, why: str = "") -> Bar:
    """Return a bar; its side is "at least" or "at most"."""
    return Bar(name=name, value=value, goal=goal, side=side, why=why)  # type: ignore[arg-type] # two words


def bars(*, quick: bool, into: Path) -> list[Bar]:
    rows = pl.read_csv(ADULT, null_values=["?"]).sample(fraction=1.0, shuffle=True, seed=SEED)
    fitted, tested = rows[: int(0.8 * rows.height)], rows[int(0.8 * rows.height) :]
    domain = DeclaredDomain(columns=DOMAIN)
    train, test = domain.codes(fitted), domain.codes(tested)
    raw = quality(train, train, test)
    rng = np.random.default_rng(SEED)
    alone = quality(np.stack([rng.permutation(column) for column in train]), train, test)
    say(f"raw rows: AUC {raw.auc:.4f}; independent columns: error {alone.error:.4f}")
    found = []
    for epsilon in (3.0,) if quick else (1.0, 3.0):
        own = quality(ours(fitted, epsilon), train, test)
        say(f"epsilon {epsilon:g}: error {own.error:.4f}, AUC {own.auc:.4f}")
        name = f"3-way error at epsilon {epsilon:g}"
        share = own.error / alone.error
        found.append(bar(f"{name}, share of independent columns", share, 0.3, "at most"))
        lost = raw.auc - own.auc
        found.append(bar(f"AUC lost at epsilon {epsilon:g}", lost, 0.04, "at most"))
        if quick:
            continue
        theirs = peer(train, epsilon, into)
        if theirs is None:
            why = "no venv of mbi: python benchmarks/peers.py --only mbi"
            found.append(bar(f"{name}, ours / mbi", None, 1.0, "at most", why))
            continue
        rival = quality(theirs, train, test)
        said = f"mbi: error {rival.error:.4f}, AUC {rival.auc:.4f}"
        ahead = own.auc - rival.auc
        found.append(bar(f"{name}, ours / mbi", own.error / rival.error, 1.0, "at most", said))
        found.append(bar(f"AUC at epsilon {epsilon:g}, ours - mbi", ahead, -0.005, "at least"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="no peer, under two minutes")
    parser.add_argument("--into", type=Path, default=DEFAULT_INTO, help="the peers' venvs")
    asked = parser.parse_args()
    report(bars(quick=asked.quick, into=asked.into))


if __name__ == "__main__":
    main()
