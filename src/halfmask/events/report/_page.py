"""report.html of a run: one page for its owner, which names what was dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from halfmask.claims import WEAKNESSES, CellsClaim
from halfmask.events.report._fields import field_name
from halfmask.events.report._risk import percent
from halfmask.release import BarsBlock, TableBlock, TextBlock, html_page
from halfmask.release.briefing import Briefing, moment, record_rows, summary_blocks

if TYPE_CHECKING:
    from halfmask.claims import EventsManifest
    from halfmask.claims.event_claims import EventClaim
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.report._risk import ReleasedRisk
    from halfmask.events.report._seen import SeenPaths
    from halfmask.events.running._run_summary import RunSummary
    from halfmask.release.page import AnyBlock

#: So many rules and dropped paths are listed; the page says how many more there are.
MOST_LISTED: Final = 500
_LETTERS: Final = 120
_UNBOUND: Final = (
    "The policy has no [[guarantee]] and no [[aggregate]]: nothing bounds how few people share "
    "what an event shows."
)


def render_events_report(
    manifest: EventsManifest,
    *,
    policy: EventPolicy,
    summary: RunSummary,
    risk: ReleasedRisk,
    seen: SeenPaths | None = None,
) -> str:
    """Return the report of a run for its owner, as one HTML document.

    Notes
    -----
    **Guarantees.** No value of an event is in the page. Names of the input's fields are: it stays
    at home.
    """
    warned = () if risk.warning is None else (f"Warning: {risk.warning}", str(risk.advice))
    lead = [
        "This page stays with you: it names fields of the input, also dropped ones.",
        "The output and its manifest are released. They name only released fields.",
    ]
    stated, briefing = manifest.stated(), _briefing(manifest)
    return html_page(
        f"Report of events: {_short(manifest.release)}",
        [
            *(TextBlock("", [it], "bad") for it in (*summary.warnings(), *warned)),
            TextBlock("", lead, "notice"),
            *summary_blocks(stated, briefing),
            _counts(manifest, summary),
            _rules(manifest, policy, summary),
            _dropped(policy, seen),
            _weaknesses(manifest),
            _claims(manifest),
            *_risk(risk, manifest.lines),
            _left_out(summary),
            _files(manifest),
            TableBlock("Record", (), record_rows(stated, briefing)),
            TextBlock("Policy", [policy.text], "code"),
        ],
    )


def _briefing(manifest: EventsManifest) -> Briefing:
    """Return what is written of how many events, for the officer who signs."""
    written = len({field.steps for field in manifest.fields})
    return Briefing(
        protected=[] if manifest.claims else [_UNBOUND],
        lost=[f"{written:,} fields are written. Fields without a rule are dropped."],
        attacked="No attack was run. halfmask.assess.attacks has attacks on events.",
    )


def _counts(manifest: EventsManifest, summary: RunSummary) -> AnyBlock:
    software = ", ".join(f"{name} {version}" for name, version in manifest.software.items())
    written = len({field.steps for field in manifest.fields})
    return TextBlock(
        title="What was counted",
        sentences=[
            f"Made {moment(manifest.created)}, by {software}.",
            f"{summary.lines:,} lines were read; {sum(summary.bad.values()):,} are no events.",
            f"{summary.events:,} events became {manifest.lines:,} lines of output.",
            f"{summary.held:,} events were refused by a rule.",
            f"{written:,} fields are written. Fields without a rule are dropped, also later ones.",
        ],
    )


def _rules(manifest: EventsManifest, policy: EventPolicy, summary: RunSummary) -> AnyBlock:
    fields: dict[int, list[str]] = defaultdict(list)
    for it in manifest.fields:
        fields[it.rule].append(_short(field_name(it.steps)))
    failures: dict[int, list[str]] = defaultdict(list)
    for number, reason, count in summary.failures:
        failures[number].append(f"{count:,} {reason}")
    rows = []
    for number, rule in enumerate(policy.rules[:MOST_LISTED], start=1):
        actions = ", then ".join(it.do for it in rule.steps) or "names only"
        actions += " under conditions" if rule.when else ""
        actions += " (no event had the path)" if number in summary.unmet else ""
        written = ", ".join(dict.fromkeys(fields[number]))
        weak, failed = ", ".join(rule.weaknesses), ", ".join(failures[number])
        rows.append((str(number), _short(rule.path), written, actions, weak, failed))
    more = len(policy.rules) - len(rows)
    return TableBlock(
        title="Rules",
        caption="In the order of the policy. If several rules have the same path, the first whose "
        "conditions hold is applied."
        + (f" {more:,} more rules are in the policy." if more else ""),
        columns=(
            *("Rule", "Path of the input", "Field of the output", "Action", "Weaknesses"),
            "Not applied to",
        ),
        rows=rows,
    )


def _dropped(policy: EventPolicy, seen: SeenPaths | None) -> AnyBlock:
    title = "Dropped fields"
    if seen is None:
        sentence = "The input wasn't inspected for this page, so it can't list dropped fields."
        return TextBlock(title=title, sentences=[sentence])
    dropped = seen.dropped(policy)
    inspected = f"{seen.events:,} inspected events of the input"
    if not dropped:
        sentence = f"In the {inspected}, every field with a value has a rule."
        return TextBlock(title=title, sentences=[sentence])
    return TableBlock(
        title=title,
        caption=f"{len(dropped):,} fields with values that no rule writes, in the {inspected}"
        + (f"; the first {MOST_LISTED} of them" if len(dropped) > MOST_LISTED else "")
        + ". A star stands for names that look like values.",
        columns=("Path of the input", "Events that have it"),
        rows=[(_short(it.path), f"{it.events:,}") for it in dropped[:MOST_LISTED]],
    )


def _weaknesses(manifest: EventsManifest) -> AnyBlock:
    seen = (
        "The number of events, the number of elements of each array and missing fields are always "
        "visible."
    )
    weak = [f"{word}: {WEAKNESSES[word]}" for word in manifest.weaknesses]
    return TextBlock("Weaknesses", [*weak, seen], "list")


def _claims(manifest: EventsManifest) -> AnyBlock:
    if not manifest.claims:
        return TextBlock(title="Guarantees", sentences=[_UNBOUND])
    return TableBlock(
        title="Guarantees",
        caption="Counted by the run on its output, window by window. halfmask verify counts again "
        "what the lines show.",
        columns=("Claim", "Fields", "Evidence"),
        rows=[_claim(each) for each in manifest.claims],
    )


def _claim(claim: EventClaim) -> tuple[str, str, str]:
    if isinstance(claim, CellsClaim):
        bounds = ((claim.min_events, "events"), (claim.min_entities, "entities"))
        least = " and ".join(f"{count:,} {word}" for count, word in bounds if count is not None)
        name = "cells" if claim.name is None else f"cells {_short(claim.name)}"
        about = _short(f"by {', '.join([claim.window, *claim.by])}")
        return name, about, f"each of {least} at least"
    m = "" if claim.m is None else f", m = {claim.m}"
    fewest = claim.min_entities
    evidence = "nothing to count" if fewest is None else f"{fewest:,} entities at least"
    about = ", ".join(
        field_name(tuple("[]" if step == "[]" else f".{step}" for step in steps))
        for steps in claim.fields
    )
    return f"{claim.model}, k = {claim.k}{m}", _short(about), evidence


def _risk(risk: ReleasedRisk, lines: int) -> Iterator[AnyBlock]:
    first = "the first" if risk.events < lines else "all"
    alone = percent(risk.unique_events / risk.events if risk.events else 0.0)
    sentences = [
        f"{risk.unique_events:,} of {first} {risk.events:,} released lines ({alone}) are unique.",
        "An attacker with the exact released values of such an event finds it.",
        "Attackers who know events roughly, or other fields, aren't counted here.",
        "The attacks of halfmask.assess.attacks test these.",
    ]
    if not risk.traces:
        sentences.append("The output doesn't tell entities or sessions apart.")
        yield TextBlock(title="Risk", sentences=sentences)
        return
    whom = "entities" if risk.by == "entity" else "sessions"
    sentences.append(
        f"{risk.traces:,} {whom} can be distinguished in these lines; all events of "
        f"{risk.unique_traces:,} of them, taken together, are unique."
    )
    yield TextBlock(title="Risk", sentences=sentences)
    if risk.known:
        yield BarsBlock(
            title=f"{whom.capitalize()} that known events single out",
            shares={
                f"{points} known events, {traces:,} {whom} tried": found
                for points, traces, found in risk.known
            },
        )


def _left_out(summary: RunSummary) -> AnyBlock:
    rows = [
        (reason, f"{count:,}", "; ".join(_places(summary.bad_lines.get(reason, ()))))
        for reason, count in summary.bad.items()
    ]
    rows += [("refused by a rule", f"{summary.held:,}", "")] if summary.held else []
    rows += [(name, f"{count:,}", "") for name, count in summary.stage.items()]
    if summary.clock_went_back:
        sentence = "earlier than the event before; written all the same"
        rows.append((sentence, f"{summary.clock_went_back:,}", ""))
    if not rows:
        sentence = "Every line was an event, and every event was written."
        return TextBlock(title="Lines and events", sentences=[sentence])
    return TableBlock(title="Lines and events", columns=("Count of", "", "First lines"), rows=rows)


def _places(found: tuple[tuple[int, int], ...]) -> list[str]:
    return [f"{line:,}" if file == 1 else f"file {file}, {line:,}" for file, line in found[:10]]


def _files(manifest: EventsManifest) -> AnyBlock:
    return TableBlock(
        title="Files",
        caption="Recipients of the output count it again with its manifest: halfmask verify and "
        f"the name of the output. Policy: sha256 {manifest.policy_sha256}",
        columns=("File", "Lines", "Bytes", "sha256"),
        rows=[
            (_short(it.name), f"{it.n_rows:,}", f"{it.n_bytes:,}", it.sha256)
            for it in manifest.files
        ],
    )


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
