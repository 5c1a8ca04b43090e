"""Manifests as version 0.1 wrote them, turned into those of version 2, which are read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError
from halfmask.claims._strict import At
from halfmask.claims.manifest import EVENTS, FORMAT, MICRODATA, VERSION
from halfmask.claims.weaknesses import WEAKNESSES, weakness_sentence

if TYPE_CHECKING:
    from halfmask.claims.claim import Json

#: What version 0.1 called its manifests of events.
FIRST_EVENTS: Final = "halfmask events release"
#: Names of counts that version 0.1 had for others.
_RENAMED: Final = {"least-events": "min-events", "least-entities": "min-entities"}


def table_of_first_version(top: At) -> dict[str, Json]:
    """Return a table's manifest as version 2 has it: all claims were counted."""
    details = ("rows", "support", "columns", "method", "risk", "utility")
    same = ("created", "software", "policy", "files", "weaknesses")
    at = top.keys("format", "version", "claims", *same, *details, optional=("report",))
    at["columns"].each(lambda it: it.keys("name", "role", "kind", "recoding", "dtype"))
    return {
        **_head(MICRODATA),
        **_values(at, *same, "report"),
        "claims": list(at["claims"].each(_claim)),
        "details": _values(at, *details),
    }


def events_of_first_version(top: At) -> dict[str, Json]:
    """Return an output's manifest as version 2 has it."""
    details = ("counts", "failures", "risk")
    at = top.keys(
        *("format", "version", "created", "software", "policy", "folder", "files", "lines"),
        *("fields", "claims", "weaknesses", *details),
    )
    at["weaknesses"].mapping()
    files = at["files"].each(_file)
    if at["lines"].count() != sum(each["rows"] for each in files if isinstance(each["rows"], int)):
        at["lines"].refuse("the sum of the lines of its files")
    policy = at["policy"].keys("sha256", "release")
    fields = at["fields"].each(_field)
    claims, panes = at["claims"].or_none(_event_claims) or ([], [])
    words = {word for _, words in fields for word in words if word in WEAKNESSES}
    return {
        **_head(EVENTS),
        **_values(at, "created", "software"),
        "policy": _values(policy, "sha256"),
        "files": list(files),
        "claims": claims,
        "weaknesses": [weakness_sentence(word) for word in sorted(words)],
        "details": {
            **_values(policy, "release"),
            **_values(at, *details),
            "fields": [field for field, _ in fields],
            "panes": panes,
        },
    }


def _head(kind: str) -> dict[str, Json]:
    return {"format": FORMAT, "version": VERSION, "kind": kind}


def _values(at: Mapping[str, At], *names: str) -> dict[str, Json]:
    return {name: at[name].value for name in names if name in at}


def _claim(at: At) -> Json:
    required = ("model", "parameters", "column", "quasi_identifiers", "evidence")
    found = at.keys(*required, optional=("support",))
    return {
        **_values(found, "model", "parameters", "evidence"),
        "about": _values(found, "column", "quasi_identifiers", "support"),
        "basis": "counted",
    }


def _file(at: At) -> dict[str, Json]:
    found = at.keys("name", "sha256", "bytes", "lines")
    suffix = PurePath(found["name"].text()).suffix.removeprefix(".")
    return {
        **_values(found, "name", "sha256", "bytes"),
        "format": suffix if suffix in {"parquet", "arrow"} else "jsonl",
        "rows": found["lines"].count(),
    }


def _field(at: At) -> tuple[Json, tuple[str, ...]]:
    # It named the field twice, once for people.
    found = at.keys("field", "steps", "rule", "form", "weaknesses")
    words = found["weaknesses"].texts()
    return _values(found, "steps", "rule", "form", "weaknesses"), words


def _event_claims(at: At) -> tuple[list[Json], Json]:
    found = at.keys("format", "version", optional=("panes", "guarantees", "aggregates"))
    if (found["format"].value, found["version"].value) != ("halfmask events claims", 1):
        raise VerificationError("The claims are of a version that this halfmask doesn't read.")
    if "aggregates" in found:
        claims, panes = found["aggregates"].each(_cells), At([], at.place)
    else:
        both = at.keys("format", "version", "panes", "guarantees")
        claims, panes = both["guarantees"].each(_guarantee), both["panes"]
    if not claims:
        at.refuse("null, or something that is claimed")
    return list(claims), panes.value


def _guarantee(at: At) -> Json:
    least = "least-entities-of-the-run"
    found = at.keys("kind", "k", "m", "fields", "unit", "session", "entity", "fails", least)
    return {
        "model": found["kind"].value,
        "parameters": _values(found, "k", *(("m",) if found["kind"].value == "k-m" else ())),
        "about": _values(found, "fields", "unit", "session", "entity", "fails"),
        "basis": "counted",
        "evidence": {"min_entities": found[least].value},
    }


def _cells(at: At) -> Json:
    about = ("name", "window", "by", "count", "entities", "totals")
    found = at.keys(*about, *_RENAMED)
    least = {new: found[old].value for old, new in _RENAMED.items()}
    return {
        "model": "cells",
        "parameters": {word: count for word, count in least.items() if count is not None},
        "about": _values(found, *about),
        "basis": "counted",
        "evidence": {},
    }
