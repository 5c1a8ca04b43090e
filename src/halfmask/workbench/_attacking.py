"""The battery on a candidate: in its own job, or as it was measured when the candidate was made."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask.assess.attacks import CrosstabTarget, attack, attack_shuffled, explain_verdicts
from halfmask.data import open_table
from halfmask.microdata import Policy
from halfmask.microdata.attacked import read_shuffled
from halfmask.workbench._candidate import MEASURED, PLACES
from halfmask.workbench._compared import owners_of
from halfmask.workbench._json_files import write_json

if TYPE_CHECKING:
    from halfmask._progress import Progress
    from halfmask.assess.attacks import AttackReport, Finding
    from halfmask.release import Release

#: Record linkage compares each row with each other one: of more rows it takes an hour.
_MOST_LINKED: Final = 4_000
_CLASSES: Final = (
    "On Protect, ask for diversity: l-diversity or t-closeness of the column that is inferred."
)
_COARSER: Final = (
    "On Protect, ask for a larger k, or make the columns coarser that single rows out: Compare "
    "names them. A column that nobody needs can be dropped on Columns."
)
#: What helps, by the family of an attack that succeeds.
_ADVICE: Final = {
    "classes": _CLASSES,
    "attributes": _CLASSES,
    "tables": _COARSER,
    "membership": "On Protect, learn from larger groups of rows, or draw rows under an epsilon.",
    "releases": "Reuse the classes of the earlier release: [book] of the policy with reuse.",
    "crosstabs": "Raise the rule's threshold in the policy, so that more cells are hidden.",
}
_NOTHING: Final = {
    "INVALID": "Nothing follows from it, neither good nor bad.",
    "not shown": "It has too few people to be settled: more rows would show it.",
}


def attack_candidate(
    report: Progress,
    folder: Path,
    *,
    release: str,
    table: str,
    project: str,
    policy: str,
    control: str,
) -> dict[str, Any]:
    """Attack a candidate with the table, and perhaps held-out rows, as ``assess release`` does."""
    known = Policy.from_toml(policy, folder=project)
    report("reading the table")
    options = known.read_options()
    original = open_table(table, options=options).read()
    target = read_shuffled(Path(release), original, known, called="The table")
    del folder
    places = Path(release).with_name(PLACES)
    if places.is_file() and original.height <= _MOST_LINKED:
        target = replace(target, owners=owners_of(places), guarantees=known.guarantees())
    if control:
        held = open_table(control, options=options, called="The control table").read()
        target = replace(target, control=held)
    return _described(attack_shuffled(target, progress=report), original.height)


def keep_attacks(release: Release[Any], folder: Path, report: Progress) -> None:
    """Keep what was measured while a candidate was made: it needs what only that process has."""
    found = _measured(release, report)
    if found is not None:
        write_json(folder / MEASURED, _described(found))


def _measured(release: Release[Any], report: Progress) -> AttackReport | None:
    kind = release.kind.name
    if kind == "synthetic" and release.facts.measured is not None:
        found: AttackReport | None = release.facts.measured.attacks
        return found
    if kind != "tables" or release.facts.noise:
        return None

    target = CrosstabTarget.of_release(release)
    return attack(target, unprotected=target.unprotected(), progress=report)


def _described(found: AttackReport, rows: int = 0) -> dict[str, Any]:
    """Return findings in sentences, and which attacks weren't run; no cell is in it."""
    findings = [_explained(each) for each in found.findings]
    advised = [it["advice"] for it in findings if it["verdict"] == "broken" and it["advice"]]
    skipped: dict[str, list[str]] = {}
    for name, why in found.skipped:
        reason = f"needs {why}"
        if "(owners)" in why and rows > _MOST_LINKED:
            reason = f"compares each row with each other one: too long with {rows:,} rows"
        skipped.setdefault(reason, []).append(name.replace("/", ": "))
    for name, why in found.too_few:
        skipped.setdefault(why, []).append(name)
    return {
        "summary": Counter(it["verdict"] for it in findings),
        "advice": list(dict.fromkeys(advised)),
        "findings": findings,
        "meanings": explain_verdicts(found.findings),
        "skipped": list(skipped.items()),
    }


def _explained(finding: Finding) -> dict[str, str]:
    outcome = finding.outcome
    family = outcome.attack.partition("/")[0]
    advice = _ADVICE.get(family, "") if finding.verdict == "broken" else ""
    return {
        "attack": outcome.attack.rpartition("/")[2].replace("_", " ").replace("-", " "),
        "measure": outcome.measure,
        "sentence": _sentence(finding),
        "verdict": finding.verdict,
        "advice": advice or _NOTHING.get(finding.verdict, ""),
    }


def _sentence(finding: Finding) -> str:
    """Return what was found in words that need no table: the success, and its interval."""
    outcome, raw, risk = finding.outcome, finding.positive_control, finding.risk
    if finding.failure:
        return f"It {finding.failure}."
    against = "are claimed" if outcome.is_claimed else "without the release"
    said = (
        f"It reaches {risk.value:.3f} (interval {risk.low:.3f} to {risk.high:.3f}) on the release, "
        f"and {outcome.reference.value:.3f} {against}."
    )
    if raw is not None:
        said += f" On the raw rows it reaches {raw.success.value:.3f}."
    return f"{said} It {finding.why}." if finding.why else said
