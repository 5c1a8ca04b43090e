"""Precision and recall of the search for personal details in free text, by type, and of Presidio.

    python benchmarks/peers.py --only presidio      # once: Presidio in a venv of its own
    python benchmarks/quality/free_text.py          # about a minute
    python benchmarks/quality/free_text.py --quick  # without Presidio; seconds

The 1,500 labelled sentences of Presidio Research were made from templates. Those of half of the
templates were looked at while patterns were chosen (development); the bars are on the other half
(held-back). Invented people of FakeNameGenerator, every second of them held back, have national
numbers and telephone numbers of many countries.

- recall: labelled details that found details of their type cover whole.
- covered: the same, by found details of any type. It is what the mask takes out.
- precision: found details that overlap a label of their type.

Names are searched for in two ways: alone (after titles and "name is"), and with the given names and
surnames of FakeNameGenerator's people as the table's own identifier columns. The sentences were
made from the same people and from others, so this is the case of texts about a table's own rows.
Presidio runs with its patterns alone: no spaCy model is on the package index.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from bars import Bar, report, say
from halfmask.masks.text import USUAL_TYPES, DetailSearch, KnownNames
from peers import DEFAULT_INTO, REPOSITORY, python_of

SHARED = Path(os.environ.get("HALFMASK_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
HALVES = ("development", "held-back")
#: The countries of FakeNameGenerator's people that have a national number or telephone numbers.
COUNTRIES = (
    "AT", "AU", "BE", "BR", "CA", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GB", "GL",
    "HU", "IS", "IT", "NL", "NO", "NZ", "PL", "SE", "SI", "TN", "US", "UY", "ZA",
)  # fmt: skip
LABELS = {
    "EMAIL_ADDRESS": "email",
    "DOMAIN_NAME": "url",
    "IP_ADDRESS": "ip",
    "IBAN_CODE": "iban",
    "CREDIT_CARD": "card",
    "PHONE_NUMBER": "phone",
    "US_SSN": "national-number",
    "US_DRIVER_LICENSE": "driving-licence",
    "DATE_TIME": "date",
    "ZIP_CODE": "postcode",
    "PERSON": "name",
}
PRESIDIO = LABELS | {"URL": "url", "US_PASSPORT": "passport"}
#: What must be found whole of the held-back details; recall isn't bounded where forms are many.
LEAST = {"email": 0.95, "url": 0.95, "iban": 0.95, "card": 0.95, "national-number": 0.9}
Span: TypeAlias = tuple[int, int, str]


@dataclass(slots=True)
class Score:
    """What was counted of one half."""

    labelled: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    covered: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    unlabelled: Counter[str] = field(default_factory=Counter)

    def count(self, labels: list[Span], spans: list[Span]) -> None:
        """Count one sentence."""
        for start, stop, kind in labels:
            over = [it for it in spans if it[0] <= start and stop <= it[1]]
            self.labelled[kind] += 1
            self.found[kind] += any(it[2] == kind for it in over)
            self.covered[kind] += bool(over)
        for start, stop, kind in spans:
            touched = {it[2] for it in labels if start < it[1] and it[0] < stop}
            self.right[kind] += kind in touched
            self.wrong[kind] += kind not in touched
            self.unlabelled[kind] += not touched

    def recall(self, kind: str) -> float | None:
        return self.found[kind] / self.labelled[kind] if self.labelled[kind] else None

    def precision(self, kind: str) -> float | None:
        n = self.right[kind] + self.wrong[kind]
        return self.right[kind] / n if n else None


def half_of(template: int) -> str:
    """Return the half of a template; chosen once by a hash."""
    return HALVES[hashlib.sha256(str(template).encode()).digest()[0] % 2]


def sentences() -> list[dict[str, Any]]:
    path = SHARED / "pii" / "presidio_synth_dataset_v2.json.gz"
    found: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def people() -> list[dict[str, str]]:
    path = SHARED / "pii" / "FakeNameGenerator.com_3000.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8-sig") as opened:
        return list(csv.DictReader(opened))


def labels_of(sentence: dict[str, Any]) -> list[Span]:
    return [
        (it["start_position"], it["end_position"], kind)
        for it in sentence["spans"]
        for kind in [LABELS.get(it["entity_type"], it["entity_type"].lower())]
    ]


def scored(data: list[dict[str, Any]], found: list[list[Span]]) -> dict[str, Score]:
    """Return the scores of both halves."""
    scores = {half: Score() for half in HALVES}
    for it, spans in zip(data, found, strict=True):
        scores[half_of(it["template_id"])].count(labels_of(it), spans)
    return scores


def ours(data: list[dict[str, Any]], search: DetailSearch) -> list[list[Span]]:
    return [[tuple(each) for each in search.find(it["full_text"])] for it in data]


def presidio(data: list[dict[str, Any]], python: Path) -> list[list[tuple[int, int, str, float]]]:
    """Return what Presidio's patterns find, with their scores."""
    script = Path(__file__).resolve().parent / "peer_presidio.py"
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder) / "texts.json"
        texts.write_text(json.dumps([it["full_text"] for it in data]), encoding="utf-8")
        done = subprocess.run([python, script, texts], check=True, capture_output=True, text=True)
    said = json.loads(done.stdout.splitlines()[-1])
    return [
        [(start, stop, PRESIDIO.get(kind, kind.lower()), score) for start, stop, kind, score in it]
        for it in said["spans"]
    ]


def show(name: str, score: Score, kinds: Iterable[str] = LABELS.values()) -> None:
    """Show one half's scores on stderr."""
    say(f"{name}: type, labelled, recall, covered, precision (wrong; of these in no label)")
    for kind in kinds:
        n = score.labelled[kind]
        shares = [
            "   -" if it is None else f"{it:.3f}"
            for it in (
                score.recall(kind), score.covered[kind] / n if n else None, score.precision(kind)
            )
        ]  # fmt: skip
        wrong = f"{score.wrong[kind]}; {score.unlabelled[kind]}"
        say(f"  {kind:16} {n:4} {' '.join(shares)} ({wrong})")


def numbers_found() -> dict[str, dict[str, tuple[int, int]]]:
    """Return by column and country how many held-back numbers are found, and of how many."""
    columns = {"NationalID": "national-number", "TelephoneNumber": "phone", "ZipCode": "postcode"}
    counted: dict[str, dict[str, tuple[int, int]]] = {column: {} for column in columns}
    for column, kind in columns.items():
        for country in COUNTRIES:
            search = DetailSearch((kind,), countries=(country,))
            values = [
                it[column]
                for it in people()[1::2]
                if it["Country"] == country and it[column] and "E+" not in it[column]
            ]
            found = sum(bool(search.find(f"Please note {it}, and thanks.")) for it in values)
            counted[column][country] = (found, len(values))
    return counted


def bars_of(score: Score, peer: Score | None) -> list[Bar]:
    bars = []
    for kind, least in LEAST.items():
        n = f"of {score.labelled[kind]} labelled"
        bars += [
            Bar(name=f"{kind}: recall, held-back", value=score.recall(kind), goal=least,
                side="at least", why=n),
            Bar(name=f"{kind}: precision, held-back", value=score.precision(kind), goal=0.95,
                side="at least", why=n),
        ]  # fmt: skip
    for kind in (*LEAST, "phone", "date"):
        theirs = None if peer is None else peer.recall(kind)
        own = score.recall(kind)
        gap = None if theirs is None or own is None else own - theirs
        bars.append(
            Bar(name=f"{kind}: recall minus Presidio's, held-back", value=gap, goal=0.0,
                side="at least", why="Presidio wasn't run" if peer is None else "")
        )  # fmt: skip
    return bars


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without Presidio")
    parser.add_argument("--peers", type=Path, default=DEFAULT_INTO, help="the folder of the venvs")
    arguments = parser.parse_args()
    data = sentences()
    names = [it[part] for it in people() for part in ("GivenName", "Surname")]
    searches = {
        f"{len(COUNTRIES)} countries": DetailSearch(USUAL_TYPES, countries=COUNTRIES),
        "US alone": DetailSearch(USUAL_TYPES, countries=("US",)),
        "known names": DetailSearch(("name",), names=KnownNames(names)),
        "known names, none in lower case alone": DetailSearch(
            ("name",), names=KnownNames(names, lower_case=False)
        ),
    }
    every = {name: scored(data, ours(data, search)) for name, search in searches.items()}
    for name, scores in every.items():
        for half in HALVES:
            kinds = ("name",) if "names" in name else LABELS.values()
            show(f"halfmask, {name}, {half}", scores[half], kinds)
    python = None if arguments.quick else python_of("presidio", arguments.peers)
    peer = None
    if python is not None:
        spans = presidio(data, python)
        for least in (0.0, 0.4):
            kept = [[it[:3] for it in each if it[3] >= least] for each in spans]
            peer = scored(data, kept)
            for half in HALVES:
                show(f"Presidio's patterns, score from {least}, {half}", peer[half])
    for column, by_country in numbers_found().items():
        shares = ", ".join(f"{it} {n}/{of}" for it, (n, of) in by_country.items() if of)
        say(f"{column} of held-back people found: {shares}")
    report(
        bars_of(
            next(iter(every.values()))["held-back"], None if peer is None else peer["held-back"]
        )
    )


if __name__ == "__main__":
    main()
