"""Train on protected people: from raw rows of Adult to attacks on two models, and a picture."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import halfmask as hm

ADULT = Path(__file__).resolve().parents[1] / "adult" / "adult.csv"
NUMBERS = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
WORDS = ["workclass", "marital-status", "occupation", "relationship", "race", "sex"]
K = 100


def main(n_rows: int | None = None, out: str = "out/anonymized_model.svg") -> None:
    """Train two forests, on raw and on protected people, and attack both."""
    people = pl.read_csv(ADULT, n_rows=n_rows)
    members, others, labels, other_labels = train_test_split(
        people.select(NUMBERS + WORDS), people["income"].to_numpy(), test_size=0.5, random_state=0
    )
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer((StandardScaler(), NUMBERS), (words, WORDS))
    forest = RandomForestClassifier(50, random_state=0)

    # A model of raw rows.
    raw = make_pipeline(encoder, forest).fit(members, labels)

    # Partition, represent, retrain: classes of at least K people are split where out-of-fold
    # predictions differ, and a forest learns from representatives of each.
    protected = hm.AnonymizedEstimator(forest, guarantees=[hm.KAnonymity(k=K)], encoder=encoder)
    protected.fit(members, labels)

    # Attack both with the raw rows, which an attacker knows. Then draw.
    rows = {"members": members, "non_members": others}
    known = {"member_labels": labels, "non_member_labels": other_labels}
    report = hm.attack(
        hm.ModelTarget(model=protected, **rows, **known),
        unprotected=hm.ModelTarget(model=raw, **rows, **known),
        attacks=["membership/gap", "membership/yeom"],
    )
    for finding in report.findings:
        print(finding.sentence)
    Path(out).parent.mkdir(exist_ok=True)
    Path(out).write_text(report.to_svg(), encoding="utf-8")
    print(f"accuracy of the forest of raw people:     {raw.score(others, other_labels):.1%}")
    print(f"accuracy of the forest of classes of {K}: {protected.score(others, other_labels):.1%}")
    right = [f.excess_high for f in report.findings if "accuracy" in f.outcome.measure]
    print(f"membership, at most above guessing:       {max(right):.1%}")


if __name__ == "__main__":
    main()
