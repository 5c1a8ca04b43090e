"""The reference of the policy tells every key, choice, reason and weakness, and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from halfmask.claims import WEAKNESSES
from halfmask.events.actions import ACTIONS, HierarchySection
from halfmask.events.policy._policy_sections import RuleSection, StreamSection
from halfmask.events.running._context import Condition
from halfmask.events.secrets._tables import TableKind

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "events-policy.md").read_text(encoding="utf-8")


def _section(title):
    return re.split(r"\n###? ", PAGE.split(f" {title}\n")[1])[0]


def _told(text):
    """Return the words in backticks of the first column of a section's tables."""
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    return {word.strip('"[]') for row in rows for word in re.findall(r"`([^`]+)`", row)}


def _keys(model):
    return {field.alias or name for name, field in model.model_fields.items()}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.model_fields["do"].default)
def test_every_key_of_an_action_is_told(action):
    """In its own section; the page has no key that the action doesn't know."""
    word, keys = action.model_fields["do"].default, _keys(action) - {"do"}
    titles = {"token": "`token`, `hash`", "hash": "`token`, `hash`"}
    if keys:
        told = _told(_section(titles.get(word, f"`{word}`")))
        assert keys <= told
        assert told <= keys | ({"bits", "form"} if word == "token" else set())
    assert f'| `"{word}"` |' in PAGE


def test_rules_streams_and_conditions():
    """So are theirs."""
    assert _told(_section("`[[rule]]`")) == _keys(RuleSection) | {"then"}
    assert _told(_section("`[stream]`")) == _keys(StreamSection)
    assert _told(_section("`when`")) == _keys(Condition) - {"path"}
    hierarchy = _section("`generalize`")
    assert all(f"`{key}`" in hierarchy for key in _keys(HierarchySection))
    assert _told(_section("Secret tables")) - {"kind"} == set(get_args(TableKind))


def test_every_weakness_and_reason_is_told():
    """The words that the code has for them."""
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src" / "halfmask" / "events").glob("**/*.py")
        if path.parent.name in {"events", "actions"}
    )
    reasons = set(re.findall(r'\.fail\(\s*"([a-z-]+)"', source))
    returned = set(re.findall(r'(?:return|else) "((?:not|no|wrong|too|personal)-[a-z-]+)"', source))

    assert _told(_section("Weaknesses")) - {"word"} <= set(WEAKNESSES)
    assert [it for it in sorted(reasons | returned) if f"`{it}`" not in PAGE] == []
