"""Frontier: a learner's accuracy on each encoding, and what attacks recover from it.

python benchmarks/quality/encodings/frontier.py rows.csv income --picture frontier.svg
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from frontier_picture import frontier_picture
from learners import accuracies

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask.assess.attacks import EncodingTarget
from halfmask.assess.attacks.encodings import (
    FrequencyMatching,
    JointFrequencyMatching,
    KnownPlaintext,
    PopulationSample,
    QuantileMatching,
    ReMerge,
)
from halfmask.data import open_table, to_polars
from halfmask.encode import Codec
from halfmask.vault import Secret

if TYPE_CHECKING:
    from halfmask.encode import Task

_FEWEST_ROWS = 50
_FROM = "variance_from_"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """One encoding: the accuracy of a learner of its kind, and what attacks recover."""

    name: str
    learner: str
    #: Scores in [0, 1]: accuracy for classes, the explained fraction of variance for a number.
    plain: float
    encoded: float
    #: What each attack recovers, and what it reaches without the encoded rows, by its measure.
    recovered: Mapping[str, float]
    without: Mapping[str, float]
    #: The fewest known rows that recover half of the variance of numbers, of those tried.
    k50: int | None
    curve: Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """The points of a table, in the order of the codecs."""

    points: tuple[FrontierPoint, ...]
    known: int
    rows: int
    random_state: int
    #: The codecs that could not give this table back exactly, and so encoded nothing.
    refused: tuple[str, ...] = ()


def frontier(
    table: object,
    *,
    target: str,
    task: Task | None = None,
    codecs: Sequence[Codec] | None = None,
    known: int = 50,
    random_state: int = 0,
) -> Frontier:
    """Measure the accuracy that encodings keep, and what attacks recover.

    Four tenths of the rows are encoded and trained on, two tenths are predicted, four tenths are
    the attacker's sample. Without codecs: one for each kind of learner, trees with split
    categories, and networks with flows of strength 0.5, 1, 2 and 4.
    """
    rows = to_polars(table)
    if target not in rows.columns:
        raise ColumnNotFoundError.of([target], rows.columns, where="the table")
    if rows.height < _FEWEST_ROWS:
        raise DataError(f"A frontier needs {_FEWEST_ROWS} rows. The table has {rows.height}.")
    order = np.random.default_rng(random_state).permutation(rows.height)
    first, second = int(0.4 * rows.height), int(0.6 * rows.height)
    train, test, sample = rows[order[:first]], rows[order[first:second]], rows[order[second:]]
    points: list[FrontierPoint] = []
    refused: list[str] = []
    for codec in codecs or _profiles(random_state):
        name = _named(codec)
        try:
            codec.fit(train, target=target, task=task)
            plain, encoded = accuracies(codec, train, test)
        except SchemaError:
            refused.append(name)
            continue
        aim = EncodingTarget.of_codec(codec, train, population=sample)
        recovered, without, curve = _attacked(aim, known, random_state)
        points.append(
            FrontierPoint(
                name=name,
                learner=codec.learner,
                plain=plain,
                encoded=encoded,
                recovered=recovered,
                without=without,
                k50=min((k for k, share in curve.items() if share >= 0.5), default=None),
                curve=curve,
            )
        )
    return Frontier(
        points=tuple(points),
        known=known,
        rows=train.height,
        random_state=random_state,
        refused=tuple(refused),
    )


def _profiles(random_state: int) -> list[Codec]:
    # Encoded rows are measured and thrown away: a public secret is enough.
    secret = Secret.from_bytes(hashlib.sha256(f"frontier {random_state}".encode()).digest())
    wanted: list[dict[str, Any]] = [
        {"learner": "trees"},
        {"learner": "trees", "split": True},
        {"learner": "distances"},
        {"learner": "linear"},
        *({"learner": "networks", "strength": strength} for strength in (0.0, 0.5, 1.0, 2.0, 4.0)),
    ]
    return [Codec(secret=secret, unseen="reserve", precision="column", **each) for each in wanted]


def _named(codec: Codec) -> str:
    name: str = codec.learner
    if codec.strength:
        name += f", flow {codec.strength:g}"
    if codec.by:
        name += ", a matrix a category"
    return name + (", split" if codec.split else "")


def _attacked(
    aim: EncodingTarget, known: int, random_state: int
) -> tuple[dict[str, float], dict[str, float], dict[int, float]]:
    recovered: dict[str, float] = {}
    without: dict[str, float] = {}
    curve: dict[int, float] = {}
    for attack in (
        KnownPlaintext(known=known),
        PopulationSample(),
        QuantileMatching(),
        FrequencyMatching(),
        JointFrequencyMatching(),
        ReMerge(),
    ):
        if attack.missing_inputs(aim):
            continue
        for outcome in attack.run(aim, random_state=random_state):
            key = f"{attack.name}: {outcome.measure}"
            recovered[key] = outcome.success.value
            without[key] = outcome.reference.value
            curve |= {
                int(name.removeprefix(_FROM)): share
                for name, share in outcome.details.items()
                if name.startswith(_FROM)
            }
    return recovered, without, curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", help="a CSV or Parquet file; a few thousand rows are enough")
    parser.add_argument("target", help="the column that a model predicts")
    parser.add_argument("--task", choices=["classification", "regression"])
    parser.add_argument("--known", type=int, default=50, help="rows that the attacker knows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, help="draw it here, as SVG")
    given = parser.parse_args()
    found = frontier(
        pl.concat(list(open_table(given.table).batches())),
        target=given.target,
        task=given.task,
        known=given.known,
        random_state=given.seed,
    )
    if given.picture is not None:
        given.picture.write_text(frontier_picture(found), encoding="utf-8")
    print(json.dumps(asdict(found), indent=1, allow_nan=False))


if __name__ == "__main__":
    main()
