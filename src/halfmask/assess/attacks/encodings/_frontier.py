"""Frontier: a learner's accuracy on each encoding, and what attacks recover from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask._progress import silent
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._several import several
from halfmask.assess.attacks.encodings._frequency import FrequencyMatching
from halfmask.assess.attacks.encodings._joint_frequency import JointFrequencyMatching
from halfmask.assess.attacks.encodings._known_plaintext import KnownPlaintext
from halfmask.assess.attacks.encodings._learners import accuracies
from halfmask.assess.attacks.encodings._population_sample import PopulationSample
from halfmask.assess.attacks.encodings._quantiles import QuantileMatching
from halfmask.assess.attacks.encodings._re_merge import ReMerge
from halfmask.data import atomic_file, to_polars

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from halfmask._progress import Progress
    from halfmask.encode import Codec, Task

_FEWEST_ROWS = 50
_FROM = "variance_from_"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """One encoding: the accuracy of a learner, and what attacks recover.

    Parameters
    ----------
    name
        The codec's name in tables.
    learner
        Kind of learner that the codec is made for. This kind was trained.
    plain, encoded
        Score of the learner on plain and on encoded rows, in [0, 1]: accuracy for classes, share
        of explained variance for a numeric target.
    recovered
        What each attack recovers, in [0, 1], by its name and measure.
    without
        What the same attacks reach without the encoded rows, by the same keys.
    k50
        The smallest number of known rows that recovers half of the variance of numbers, among the
        numbers that were tried; ``None`` if none did.
    curve
        Recovered share of the variance of numbers, by the number of known rows.
    """

    name: str
    learner: str
    plain: float
    encoded: float
    recovered: Mapping[str, float]
    without: Mapping[str, float]
    k50: int | None
    curve: Mapping[int, float]

    def to_dict(self) -> dict[str, Any]:
        """Return everything under its name, for JSON."""
        return {
            "name": self.name,
            "learner": self.learner,
            "accuracy_plain": self.plain,
            "accuracy_encoded": self.encoded,
            "recovered": dict(self.recovered),
            "without": dict(self.without),
            "k50": self.k50,
            "curve": {str(k): share for k, share in self.curve.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """The points of a table, in the order of the codecs.

    Parameters
    ----------
    points
        One for each codec.
    known
        How many rows an attacker knows.
    rows
        How many rows were encoded.
    random_state
        What the rows were parted by.
    refused
        The codecs that could not give this table back exactly, and so encoded nothing.
    """

    points: tuple[FrontierPoint, ...]
    known: int
    rows: int
    random_state: int
    refused: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything under its name, for JSON."""
        return {
            "known": self.known,
            "refused": list(self.refused),
            "rows": self.rows,
            "seed": self.random_state,
            "points": [point.to_dict() for point in self.points],
        }

    def to_svg(self) -> str:
        """Draw accuracy against what is recovered, and a table of all attacks."""
        from halfmask.assess.attacks.encodings._frontier_picture import (  # noqa: PLC0415 # as above
            frontier_picture,
        )

        return frontier_picture(self)

    def write(self, where: Path, *, picture: Path | None = None) -> None:
        """Write the numbers as JSON and, if asked, the picture as SVG.

        Parameters
        ----------
        where, picture
            The files; their folders must exist.
        """
        with atomic_file(where) as file:
            file.write(json.dumps(self.to_dict(), indent=1, allow_nan=False).encode())
        if picture is not None:
            with atomic_file(picture) as file:
                file.write(self.to_svg().encode())


def frontier(
    table: object,
    *,
    target: str,
    task: Task | None = None,
    codecs: Sequence[Codec] | None = None,
    known: int = 50,
    random_state: int = 0,
    progress: Progress = silent,
) -> Frontier:
    """Measure the accuracy that encodings keep, and what attacks recover.

    Parameters
    ----------
    table
        Rows with the target, of any supported library. They are parted at random: four tenths are
        encoded and trained on, two tenths are predicted, four tenths are the attacker's sample.
    target, task
        As of :meth:`halfmask.encode.Codec.fit`.
    codecs
        Unfitted codecs. ``None``: one for each kind of learner, trees with split categories, and
        networks with flows of strength 0.5, 1, 2 and 4.
    known
        How many rows the attacker knows.
    random_state
        What rows are parted by, attacks draw from, and the keys of codecs that weren't given
        follow from.
    progress
        Called with the name of each codec and the share that is done.

    Returns
    -------
    Frontier

    Raises
    ------
    ColumnNotFoundError
        If there is no such target.
    DataError
        If there are fewer than 50 rows.
    ParameterError
        If `codecs` is no list, or empty.

    Notes
    -----
    **Guarantees.** Attacks are measured on the training rows of this table. The result is no
    guarantee for another table.

    **Edge cases.** A measure that a table has no columns for is left out. A codec that refuses
    the table, since its cells would not come back, is among the refused. Categories that only the
    predicted rows have are sent by the code for values never seen.
    """
    integer_at_least(1, owner="frontier", known=known)
    integer_at_least(0, owner="frontier", random_state=random_state)
    rows = to_polars(table)
    if target not in rows.columns:
        raise ColumnNotFoundError.of([target], rows.columns, where="the table")
    if rows.height < _FEWEST_ROWS:
        raise DataError(f"A frontier needs {_FEWEST_ROWS} rows. The table has {rows.height}.")
    order = np.random.default_rng(random_state).permutation(rows.height)
    first, second = int(0.4 * rows.height), int(0.6 * rows.height)
    train, test, sample = rows[order[:first]], rows[order[first:second]], rows[order[second:]]
    chosen: Sequence[Codec] = (
        _profiles(random_state)
        if codecs is None
        else several(codecs, parameter="codecs", owner="frontier", of="codecs")
    )
    points: list[FrontierPoint] = []
    refused: list[str] = []
    for place, codec in enumerate(chosen):
        name = _named(codec)
        progress(name, place / len(chosen))
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
    progress("done", 1.0)
    return Frontier(
        points=tuple(points),
        known=known,
        rows=train.height,
        random_state=random_state,
        refused=tuple(refused),
    )


def _profiles(random_state: int) -> list[Codec]:
    from halfmask.encode import Codec  # noqa: PLC0415 # loads late
    from halfmask.vault import Secret  # noqa: PLC0415 # the same

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
