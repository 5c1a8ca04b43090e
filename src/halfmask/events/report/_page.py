"""report.html of a run: one page for its owner, which names what was dropped.

The page is one file without script, network, external font or image; its policy (CSP) forbids all
of them.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask.claims import WEAKNESSES
from halfmask.events.report._fields import field_name
from halfmask.events.report._risk import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment

    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.report._manifest import EventsManifest
    from halfmask.events.report._seen import SeenPaths
    from halfmask.events.running._run_summary import RunSummary

__all__ = ["render_events_report"]

#: So many rules and dropped paths are listed; the page says how many more there are.
MOST_LISTED = 500
_LETTERS = 120
_DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _RuleFact:
    """A rule, what it wrote and what it couldn't."""

    number: int
    path: str
    fields: tuple[str, ...]
    actions: str
    conditional: bool
    weaknesses: tuple[str, ...]
    failures: tuple[tuple[str, int], ...]
    unmet: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClaimFact:
    """A guarantee or aggregate, with the evidence of the run."""

    name: str
    about: str
    evidence: str


def render_events_report(
    manifest: EventsManifest,
    *,
    policy: EventPolicy,
    summary: RunSummary,
    seen: SeenPaths | None = None,
) -> str:
    """Return the report of a run as one HTML document, for its owner.

    Parameters
    ----------
    manifest
        What the run says of its output.
    policy
        By which it was made: the page has the input's paths of its rules.
    summary
        What the run told.
    seen
        Places of the input; None: what was dropped isn't listed.

    Notes
    -----
    **Guarantees.** The page holds no script, no address of another page and nothing that a browser
    would fetch. Every text goes through HTML escaping; control and direction characters in names
    are replaced. No value of an event is in it. Names of the input's fields are: it stays at home.
    """
    rules = _rules(manifest, policy, summary)
    dropped = () if seen is None else seen.dropped(policy)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            manifest=manifest,
            summary=summary,
            rules=rules[:MOST_LISTED],
            more_rules=max(len(rules) - MOST_LISTED, 0),
            dropped=dropped[:MOST_LISTED],
            n_dropped=len(dropped),
            seen=seen,
            claims=_claims(manifest.claims),
            risk=manifest.risk,
            weaknesses=[(word, WEAKNESSES[word]) for word in manifest.weaknesses],
            n_fields=len({it.steps for it in manifest.fields}),
        )
    )


def _rules(manifest: EventsManifest, policy: EventPolicy, summary: RunSummary) -> list[_RuleFact]:
    fields: dict[int, list[str]] = defaultdict(list)
    for it in manifest.fields:
        fields[it.rule].append(field_name(it.steps))
    failures: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for rule, reason, count in summary.failures:
        failures[rule].append((reason, count))
    return [
        _RuleFact(
            number=number,
            path=rule.path,
            fields=tuple(dict.fromkeys(fields[number])),
            actions=", then ".join(it.do for it in rule.steps) or "names only",
            conditional=bool(rule.when),
            weaknesses=rule.weaknesses,
            failures=tuple(failures[number]),
            unmet=number in summary.unmet,
        )
        for number, rule in enumerate(policy.rules, start=1)
    ]


def _claims(claims: Mapping[str, Any] | None) -> list[_ClaimFact]:
    if claims is None:
        return []
    found = []
    for it in claims.get("guarantees", ()):
        m = "" if it["m"] is None else f", m = {it['m']}"
        least = it["least-entities-of-the-run"]
        found.append(
            _ClaimFact(
                name=f"{it['kind']}, k = {it['k']}{m}",
                about=", ".join(map(_joined, it["fields"])),
                evidence="nothing to count" if least is None else f"{least:,} entities at least",
            )
        )
    for it in claims.get("aggregates", ()):
        least = [
            f"{it[key]:,} {word}"
            for key, word in (("least-events", "events"), ("least-entities", "entities"))
            if it[key] is not None
        ]
        found.append(
            _ClaimFact(
                name=f"cells{'' if it['name'] is None else ' ' + it['name']}",
                about=f"by {', '.join([it['window'], *it['by']])}",
                evidence=f"each of {' and '.join(least)} at least",
            )
        )
    return found


def _joined(steps: Sequence[str]) -> str:
    """Return steps as claims have them as a path."""
    return field_name(tuple("[]" if step == "[]" else f".{step}" for step in steps))


def _environment() -> Environment:
    """Return a template environment that escapes everything and knows how numbers are read."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 # 30 ms

    environment = Environment(
        loader=PackageLoader("halfmask.events.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_controls,
    )
    environment.filters.update(
        percent=percent,
        count=lambda number: f"{number:,}",
        name=lambda text: text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…",
    )
    return environment


def _without_controls(value: object) -> object:
    """Return a text with control and direction characters replaced; anything else as it is.

    Subclasses of str are what jinja2 already escaped.
    """
    if type(value) is not str:
        return value
    return "".join("\N{REPLACEMENT CHARACTER}" if _controls(it) else it for it in value)


def _controls(letter: str) -> bool:
    if unicodedata.category(letter) in {"Cc", "Cs"}:
        return letter != "\n"
    return unicodedata.bidirectional(letter) in _DIRECTIONS
