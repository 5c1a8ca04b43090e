"""What it costs that numbers become bins, and what interactions and signs are good for."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from bars import Bar, say
from halfmask.trainer.learner import OnlineLearner
from quality.hashings import subjects, vowpal
from quality.hashings.streams import Stream

if TYPE_CHECKING:
    from quality.hashings.subjects import Subject

__all__ = ["measure"]

BITS, FEW = 22, 12
WORSE = 0.002
RAW = 'numbers="raw"'
PLAIN = "bins=32 (default)"
WAYS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "bins=8": {"bins": 8},
    "bins=128": {"bins": 128},
    'numbers="log", bins_per_octave=1': {"numbers": "log", "bins_per_octave": 1},
    'numbers="log", bins_per_octave=4': {"numbers": "log"},
    RAW: {"numbers": "raw"},
}
#: Chosen by what the columns mean, before anything was measured; Criteo's mean nothing to us.
CROSSED = {
    "Adult": [("education", "occupation"), ("marital-status", "sex"), ("age", "hours-per-week")],
    "Lending Club": [("sub_grade", "term"), ("purpose", "home_ownership"), ("annual_inc", "dti")],
    "Wikipedia": [("channel", "namespace"), ("namespace", "isNew"), ("channel", "delta")],
    "Criteo": [("C6", "C9"), ("C17", "C20"), ("I6", "I11")],
}


def of_subject(
    subject: Subject, orders: int, folder: Path | None
) -> tuple[dict[str, float], Bar | None]:
    """Return the mean loss of each way, and how the way without bins stands to the peer's."""
    ways = WAYS | {"interactions": {"interactions": CROSSED[subject.name]}}
    losses: dict[str, float] = {}
    gaps = []
    for way, settings in ways.items():
        found = []
        for order in range(orders):
            stream = Stream.of(subject, order, **settings)
            found.append(OnlineLearner(bits=BITS).learn(stream.at(BITS)).loss)
            if way == RAW and folder is not None:
                text = folder / "rows.vw"
                stream.write_vw(text)
                told = f"-d {text} -b {BITS} --loss_function logistic --hash_seed {order}"
                gaps.append(found[-1] - vowpal.losses_of([told])[0])
        losses[way] = mean(found)
    for name, signed in ((f"{FEW} bits", False), (f"{FEW} bits, signed", True)):
        streams = (Stream.of(subject, order, signed=signed) for order in range(orders))
        losses[name] = mean(OnlineLearner(bits=FEW).learn(s.at(FEW)).loss for s in streams)
    if not gaps:
        return losses, None
    name = f"{subject.name}, numbers kept: log-loss above Vowpal Wabbit's, worst"
    why = f"mean {mean(gaps):+.5f}"
    return losses, Bar(name=name, value=max(gaps), goal=WORSE, side="at most", why=why)


def measure(*, quick: bool, orders: int) -> tuple[list[Bar], str]:
    """One table: a line for each way, a column for each table."""
    bars = vowpal.missed("numbers kept") if not quick else []
    columns: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if vowpal.there() and not quick else None
        for subject in subjects.present(subjects.BINARY)[0]:
            columns[subject.name], bar = of_subject(subject, orders, folder)
            bars += [bar] if bar is not None else []
            say(f"{subject.name}: {columns[subject.name]}")
    ways = next(iter(columns.values()), {})
    lines = [f"{BITS} bits where nothing is said; log-loss.", ""]
    lines += ["| | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for way in ways:
        cells = " | ".join(f"{losses[way]:.4f}" for losses in columns.values())
        lines.append(f"| {way} | {cells} |")
    return bars, "\n".join(lines)
