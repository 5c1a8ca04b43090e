"""Personal details in texts: the mask `free-text` compared with a loop over Presidio's patterns.

Both in seconds of CPU time, all threads together, so that other work on the machine doesn't count.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import polars as pl

from bars import Bar, say
from halfmask.masks import TextRedaction
from peers import REPOSITORY, python_of

SHARED = Path(os.environ.get("HALFMASK_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
PEER = Path(__file__).resolve().parents[2] / "quality" / "peer_presidio.py"
COUNTRIES = ("US", "GB", "DE", "FR")
GOAL = 20.0
KNOWN_NAMES = 1_000_000


def sentences(n: int) -> list[str]:
    """Return the labelled sentences of Presidio Research, each with a number of its own."""
    path = SHARED / "pii" / "presidio_synth_dataset_v2.json.gz"
    texts = [it["full_text"] for it in json.loads(gzip.decompress(path.read_bytes()))]
    return [f"{texts[at % len(texts)]} ({at})" for at in range(n)]


def names(n: int) -> list[str]:
    """Return so many different full names, made of given names and surnames of 31 countries."""
    path = SHARED / "pii" / "FakeNameGenerator.com_3000.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8-sig") as opened:
        people = list(csv.DictReader(opened))
    given = sorted({it["GivenName"] for it in people})
    surnames = sorted({it["Surname"] for it in people})
    return [f"{one} {other}" for one in given for other in surnames][:n]


def presidio_rate(texts: list[str]) -> float | None:
    """Return how many texts a second Presidio's patterns search, or None without its venv."""
    python = python_of("presidio")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps(texts), encoding="utf-8")
        done = subprocess.run(
            [python, PEER, path], check=True, capture_output=True, text=True, cwd=REPOSITORY
        )
    return len(texts) / json.loads(done.stdout.splitlines()[-1])["cpu_seconds"]


def rate(table: pl.DataFrame, mask: TextRedaction) -> float:
    """Return how many texts a second the mask replaces."""
    mask.fit(table.head(100), bytes(32))  # imports the libraries
    start = time.process_time()
    mask.fit(table, bytes(32))
    return table.height / (time.process_time() - start)


def free_text(*, quick: bool) -> list[Bar]:
    n = 3_000 if quick else 30_000
    table = pl.DataFrame({"text": sentences(n)})
    patterns = rate(table, TextRedaction(columns=("text",), countries=COUNTRIES))
    say(f"  patterns: {patterns:,.0f} texts a second, {1e6 / patterns:.0f} microseconds each")
    peer = presidio_rate(sentences(1_500 if quick else 6_000))
    if peer is not None:
        say(f"  Presidio's patterns: {peer:,.0f} texts a second")
    known = names(KNOWN_NAMES // 10 if quick else KNOWN_NAMES)
    long = pl.DataFrame({"text": sentences(len(known)), "name": known})
    search = TextRedaction(columns=("text",), types=(), names_from=("name",))
    by_names = rate(long, search)
    say(f"  {len(known):,} known names: {by_names:,.0f} texts a second, with the table of names")
    return [
        Bar(
            name="free text: texts a second, times a loop over Presidio's patterns",
            value=None if peer is None else patterns / peer,
            goal=GOAL,
            side="at least",
            why="Presidio's venv isn't there" if peer is None else "",
        ),
        Bar(
            name=f"free text: {len(known):,} names in as many texts, times Presidio's patterns",
            value=None if peer is None else by_names / peer,
            goal=GOAL,
            side="at least",
            why="Presidio's venv isn't there" if peer is None else "",
        ),
    ]


ARMS = {"free-text": free_text}
