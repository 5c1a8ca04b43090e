"""The manifest of an output of events read strictly, as version 2 and as version 0.1 wrote it."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError
from halfmask.claims._common_keys import created_of, released_name, software_of
from halfmask.claims._events_manifest import (
    CELLS,
    EVENTS,
    GUARANTEES,
    CellsClaim,
    EventClaim,
    EventClaims,
    EventsManifest,
    GuaranteeClaim,
    LinesRisk,
    ReleasedField,
    RunCounts,
)
from halfmask.claims._manifest import DataFile, Manifest
from halfmask.claims._released_files import MANIFEST_NAME
from halfmask.claims._strict import At
from halfmask.claims._weaknesses import WEAKNESSES

if TYPE_CHECKING:
    from halfmask.claims._claim import Claim

#: What version 0.1 called its manifests of events.
FIRST_FORMAT: Final = "halfmask events release"


def events_manifest(manifest: Manifest) -> EventsManifest:
    """Read the manifest of an output of events.

    Parameters
    ----------
    manifest
        A manifest of an output of events.

    Raises
    ------
    VerificationError
        If the manifest is of another kind, or its details or claims aren't those of events.
    """
    if manifest.kind != EVENTS:
        raise VerificationError("The manifest isn't one of a release of events.")
    if manifest.report_sha256 is not None:
        raise VerificationError("The manifest names a report, and that of events isn't released.")
    top = At(dict(manifest.details), f"{MANIFEST_NAME}: details")
    at = top.keys("release", "counts", "fields", "failures", "panes", "risk")
    claims = tuple(_claim(n, each) for n, each in enumerate(manifest.claims, start=1))
    found = EventsManifest(
        created=manifest.created,
        software=manifest.software,
        policy_sha256=manifest.policy_sha256,
        release=at["release"].text(),
        files=manifest.files,
        fields=at["fields"].each(_field),
        counts=_counts(at["counts"]),
        failures=at["failures"].each(_failure),
        claimed=EventClaims(claims=claims, panes=at["panes"].each(At.count)),
        risk=at["risk"].or_none(_risk),
    )
    _check_panes(found.claimed)
    if not set(found.weaknesses) <= {each.partition(":")[0] for each in manifest.weaknesses}:
        raise VerificationError("The manifest doesn't name a weakness that its fields have.")
    return found


def _check_panes(claimed: EventClaims) -> None:
    """Refuse windows without the guarantee that is counted in them: it was removed."""
    if claimed.panes and not any(isinstance(each, GuaranteeClaim) for each in claimed.claims):
        raise VerificationError("The manifest has panes, but no guarantee that is counted in them.")


def _claim(number: int, claim: Claim) -> EventClaim:
    place = f"{MANIFEST_NAME}: claims number {number}"
    At(claim.basis, f"{place}: basis").word(("counted",))
    model = At(claim.model, f"{place}: model").word((*GUARANTEES, CELLS))
    about = At(dict(claim.about), f"{place}: about")
    parameters = At(dict(claim.parameters), f"{place}: parameters")
    evidence = At(dict(claim.evidence), f"{place}: evidence")
    if model == CELLS:
        evidence.keys()
        least = parameters.keys(optional=("min-events", "min-entities"))
        return _cells(
            about.keys("name", "window", "by", "count", "entities", "totals"),
            {word: at.count() for word, at in least.items()},
        )
    numbers = parameters.keys("k", *(("m",) if model == "k-m" else ()))
    return _guarantee(
        model,
        about.keys("fields", "unit", "session", "entity", "fails"),
        k=numbers["k"].count(),
        m=numbers["m"].count() if "m" in numbers else None,
        least=evidence.keys("min_entities")["min_entities"].or_none(At.count),
    )


def _guarantee(
    model: str, about: dict[str, At], *, k: int, m: int | None, least: int | None
) -> GuaranteeClaim:
    return GuaranteeClaim(
        model=model,
        k=k,
        m=m,
        fields=about["fields"].each(At.texts),
        unit=about["unit"].word(("event", "session")),
        session=about["session"].or_none(At.texts),
        entity=about["entity"].or_none(At.texts),
        fails=about["fails"].text(),
        min_entities=least,
    )


def _cells(about: dict[str, At], least: dict[str, int]) -> CellsClaim:
    return CellsClaim(
        name=about["name"].text_or_none(),
        window=about["window"].text(),
        by=about["by"].texts(),
        count=about["count"].text_or_none(),
        entities=about["entities"].text_or_none(),
        min_events=least.get("min-events"),
        min_entities=least.get("min-entities"),
        totals=about["totals"].boolean(),
    )


def _field(at: At) -> ReleasedField:
    return _read_field(at.keys("steps", "rule", "form", "weaknesses"))


def _first_field(at: At) -> ReleasedField:
    # It named the field twice, once for people.
    return _read_field(at.keys("field", "steps", "rule", "form", "weaknesses"))


def _read_field(found: dict[str, At]) -> ReleasedField:
    return ReleasedField(
        steps=found["steps"].texts(),
        rule=found["rule"].count(),
        form=found["form"].mapping(),
        weaknesses=found["weaknesses"].each(_weakness),
    )


def _weakness(at: At) -> str:
    word = at.text()
    if word not in WEAKNESSES:
        at.refuse("a weakness that this version knows")
    return word


def _counts(at: At) -> RunCounts:
    found = at.keys("lines", "events", "passed", "held", "bad", "clock_went_back", "stage")
    return RunCounts(
        lines=found["lines"].count(),
        events=found["events"].count(),
        passed=found["passed"].count(),
        held=found["held"].count(),
        bad=found["bad"].counts(),
        clock_went_back=found["clock_went_back"].count(),
        stage=found["stage"].counts(),
    )


def _failure(at: At) -> tuple[int, str, int]:
    found = at.keys("rule", "reason", "values")
    return found["rule"].count(), found["reason"].text(), found["values"].count()


def _risk(at: At) -> LinesRisk:
    found = at.keys("events", "unique_events", "by", "traces", "unique_traces", "known")
    return LinesRisk(
        events=found["events"].count(),
        unique_events=found["unique_events"].count(),
        by=found["by"].text_or_none(),
        traces=found["traces"].count(),
        unique_traces=found["unique_traces"].count(),
        known=found["known"].each(_known),
    )


def _known(at: At) -> tuple[int, int, float]:
    found = at.keys("points", "traces", "singled_out")
    return found["points"].count(), found["traces"].count(), found["singled_out"].number()


def first_events_version(top: At) -> EventsManifest:
    """Return what a manifest of events of version 1 says; version 0.1 wrote these."""
    at = top.keys(
        *("format", "version", "created", "software", "policy", "folder", "files", "lines"),
        *("counts", "fields", "failures", "claims", "weaknesses", "risk"),
    )
    at["weaknesses"].mapping()
    policy = at["policy"].keys("sha256", "release")
    found = EventsManifest(
        created=created_of(at["created"]),
        software=software_of(at["software"]),
        policy_sha256=policy["sha256"].sha256(),
        release=policy["release"].text(),
        files=at["files"].each(_first_file),
        fields=at["fields"].each(_first_field),
        counts=_counts(at["counts"]),
        failures=at["failures"].each(_failure),
        claimed=at["claims"].or_none(_first_claims) or EventClaims(),
        risk=at["risk"].or_none(_risk),
    )
    if at["lines"].count() != found.lines:
        at["lines"].refuse("the sum of the lines of its files")
    return found


def _first_file(at: At) -> DataFile:
    found = at.keys("name", "sha256", "bytes", "lines")
    name = released_name(found["name"], None)
    suffix = PurePath(name).suffix.removeprefix(".")
    return DataFile(
        name=name,
        format=suffix if suffix in {"parquet", "arrow"} else "jsonl",
        sha256=found["sha256"].sha256(),
        n_bytes=found["bytes"].count(),
        n_rows=found["lines"].count(),
    )


def _first_claims(at: At) -> EventClaims:
    found = at.keys("format", "version", optional=("panes", "guarantees", "aggregates"))
    if (found["format"].value, found["version"].value) != ("halfmask events claims", 1):
        raise VerificationError("The claims are of a version that this halfmask doesn't read.")
    if "aggregates" in found:
        claims: tuple[EventClaim, ...] = found["aggregates"].each(_first_cells)
        panes: tuple[int, ...] = ()
    else:
        both = at.keys("format", "version", "panes", "guarantees")
        claims, panes = both["guarantees"].each(_first_guarantee), both["panes"].each(At.count)
    if not claims:
        at.refuse("null, or something that is claimed")
    return EventClaims(claims=claims, panes=panes)


def _first_guarantee(at: At) -> GuaranteeClaim:
    found = at.keys(
        *("kind", "k", "m", "fields", "unit", "session", "entity", "fails"),
        "least-entities-of-the-run",
    )
    return _guarantee(
        found["kind"].word(GUARANTEES),
        found,
        k=found["k"].count(),
        m=found["m"].count() if found["kind"].value == "k-m" else None,
        least=found["least-entities-of-the-run"].or_none(At.count),
    )


def _first_cells(at: At) -> CellsClaim:
    bounds = {"least-events": "min-events", "least-entities": "min-entities"}
    found = at.keys("name", "window", "by", "count", "entities", "totals", *bounds)
    least = {word: found[old].or_none(At.count) for old, word in bounds.items()}
    return _cells(found, {word: count for word, count in least.items() if count is not None})
