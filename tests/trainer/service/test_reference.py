"""The page of the API names every route, code and field that there is."""

from __future__ import annotations

import re
from pathlib import Path

from halfmask.trainer.service._responses import _WORDS
from halfmask.trainer.service._schemas import NewModel

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reference" / "trainer-api.md").read_text(encoding="utf-8")


def test_every_route_is_told(trainer):
    found = set(re.findall(r"^\| `(\w+) (/[^`]*)` \|", PAGE, re.MULTILINE))
    paths = trainer.client.get("/openapi.json").json()["paths"]

    assert found == {(method.upper(), path) for path in paths for method in paths[path]}


def test_every_code_is_told_and_no_other():
    found = set(re.findall(r"^\| `([\w-]+)` \| \d{3}", PAGE, re.MULTILINE))
    result = {"data", "parameter", *_WORDS.values()}
    for path in (ROOT / "src" / "halfmask" / "trainer").glob("*/*.py"):
        if path.parent.name in {"store", "service"}:
            text = path.read_text(encoding="utf-8")
            result |= set(re.findall(r'word="([\w-]+)"', text))
            result |= {each for pair in re.findall(r'word="([\w-]+)" if \w+ else "([\w-]+)"', text)
                     for each in pair}  # fmt: skip

    assert found == result


def test_every_field_of_a_model_is_told():
    found = set(re.findall(r"`(\w+)`", PAGE))

    assert set(NewModel.model_fields) <= found
