"""Encode at home, train in an untrusted cloud, decode: on Adult, compared with plain training."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from scipy.linalg import orthogonal_procrustes

import halfmask as hm

if TYPE_CHECKING:
    from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
ADULT, CLOUD = HERE.parent / "adult" / "adult.csv", HERE / "cloud.py"
AWAY = runpy.run_path(os.fspath(CLOUD))  # home learns by the same functions, to compare
UNITS = 16


def main(n_rows: int | None = None, out: str = "out/rented_cloud") -> None:
    """Train three learners in the cloud, and compare their predictions with plain training."""
    people = pl.read_csv(ADULT, n_rows=n_rows).drop("fnlwgt", "split")
    rent("boosting", "trees", people, Path(out))
    rent("network", "networks", people, Path(out))
    rent("kernel", "distances", people[-12_000:], Path(out))


def rent(
    name: str, made_for: Literal["trees", "networks", "distances"], people: pl.DataFrame, out: Path
) -> None:
    """Encode, let another process learn, decode. Then learn at home as well, and compare."""
    # At home: fit to the training rows, encode them and the rows to predict.
    train, asked = people[: people.height * 2 // 3], people[people.height * 2 // 3 :]
    codec = hm.Codec(learner=made_for, unseen="reserve").fit(train, target="income")
    sent, questions = codec.encode(train, batch=0), codec.encode(asked.drop("income"), batch=1)
    tokens = codec.plan_.tokens
    task = {"learner": name, "codes": [tokens.index(it.token) for it in codec.plan_.codes]}

    # The input of plain training, in the order of the encoded rows.
    plain = codec.plain(train, batch=0).to_numpy(), codec.plain(asked, batch=1).to_numpy()
    encoded = sent.drop(codec.target_name_).to_numpy(), questions.to_numpy()
    codes = sent[codec.target_name_].to_numpy()
    labels = np.searchsorted(codec.classes_, codec.decode_predictions(codes, batch=None))
    weights, turned = first_weights(plain, encoded, labels, codes, task)

    # In the cloud: another process, without halfmask, which gets only this folder.
    upload = out / name
    upload.mkdir(parents=True, exist_ok=True)
    sent.write_parquet(upload / "train.parquet")
    questions.write_parquet(upload / "asked.parquet")
    (upload / "task.json").write_text(json.dumps({**task, "weights": turned}))
    run_elsewhere(upload, out)
    answer = pl.read_parquet(upload / "answer.parquet")

    # At home again: decode, and compare.
    decoded = codec.decode_predictions(answer, batch=1)
    right = (most_likely(decoded) == asked["income"]).mean()
    wanted = AWAY["LEARNERS"][name](plain[0], labels, plain[1], {**task, "weights": weights})
    said = compared(codec.decode_predictions(answer, batch=None), wanted, codec.classes_)
    print(f"{name}: {right:.1%} of its answers are right; {said}")


def first_weights(
    plain: tuple[NDArray[Any], ...],
    encoded: tuple[NDArray[Any], ...],
    labels: NDArray[Any],
    codes: NDArray[Any],
    task: dict[str, Any],
) -> tuple[list[Any], list[Any]]:
    """Draw the first weights of a network; return them, and rotated like rows and labels."""
    if task["learner"] != "network":
        return [], []
    before, after = (np.vstack(AWAY["one_hot"](*rows, task["codes"])) for rows in (plain, encoded))
    turn, _ = orthogonal_procrustes(before, after)  # before @ turn is after, to rounding
    draw = np.random.default_rng()
    first = draw.normal(size=(before.shape[1], UNITS)) / np.sqrt(before.shape[1])
    second = draw.normal(size=(UNITS, len(set(labels)))) / np.sqrt(UNITS)
    label_of = [labels[codes == code][0] for code in sorted(set(codes))]
    return [first, second], [(turn.T @ first).tolist(), second[:, label_of].tolist()]


def run_elsewhere(upload: Path, out: Path) -> None:
    """Run cloud.py in the environment that make_environment.sh makes, or in ours without us."""
    rented = out / "environment" / "bin" / "python"
    command = [rented, "-I"] if rented.exists() else [sys.executable, "-S", "-P"]
    others = out / "packages"  # what -S leaves out, except halfmask: cloud.py checks it
    others.mkdir(exist_ok=True)
    for package in Path(np.__file__).parents[1].iterdir():
        if "halfmask" not in package.name and not (others / package.name).exists():
            (others / package.name).symlink_to(package)
    alone = {**os.environ, "PYTHONPATH": os.fspath(others.resolve())}
    subprocess.run([*command, CLOUD, upload], check=True, env=alone)  # noqa: S603 # our own


def most_likely(answer: pl.DataFrame) -> pl.Series:
    """Return the predicted class, or the one with the highest score."""
    if answer.width == 1:
        return answer.to_series()
    return pl.Series(np.array(answer.columns)[answer.to_numpy().argmax(axis=1)])


def compared(answer: pl.DataFrame, wanted: NDArray[Any], classes: list[str]) -> str:
    """Compare decoded predictions with plain training: labels, or scores."""
    if answer.width == 1:
        other = int((answer.to_series().to_numpy() != np.array(classes)[wanted]).sum())
        return f"{other} of {len(wanted)} labels are others than those of plain training"
    apart = np.abs(answer.to_numpy() - wanted).max()
    return f"its scores are within {apart:.0e} of those of plain training"


if __name__ == "__main__":
    main()
