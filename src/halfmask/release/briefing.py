"""What who signs a release reads: a summary on one page, the record, and the owner's page.

The report is released with the data. A receiver could test guesses of the whole table by a hash of
the input, and infer more from a policy. So the hash, the policy's text, names of dropped columns
and paths are on the owner's page alone, which lies next to the release and stays.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ParameterError
from halfmask.data.io.formats import is_object_address
from halfmask.release.page import (
    AnyBlock,
    ChapterBlock,
    StyledCell,
    TableBlock,
    TextBlock,
    html_page,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask._policy_files import WrittenPolicy
    from halfmask.claims import Claim, Manifest
    from halfmask.release._given import GivenFile

#: What follows the name of a release in that of its owner's page.
OWNER: Final = ".owner.html"
#: The fields of ``[approval]``, as a record calls them.
APPROVAL: Final = {
    "approver": "Approved by",
    "date": "Approved on",
    "receiver": "Receiver",
    "purpose": "Purpose",
    "thresholds": "Why these parameters",
}
_EMPTY: Final = "empty: [approval] of the policy doesn't say it"
#: So many sentences of a kind are on the one page.
_MOST: Final = 4
_LETTERS: Final = 300
_LABELS: Final = 40
_STAYS: Final = (
    "This page stays with the owner of the data. It holds the policy, from which an attacker can "
    "infer more, and what the report doesn't say. Don't hand it over with the release."
)
_NO_HASH: Final = "not here: by its hash, a receiver could test guesses of the table"
#: What claims mean for who doesn't know the models; others are said as the manifest says them.
_PLAIN: Final = {
    "k-anonymity": "By the quasi-identifiers alone, nobody can tell a row apart from at least "
    "{others} others (k = {k}).",
    "distinct-l-diversity": "Whoever finds the group of a person sees at least {l} different "
    "values of {column}.",
    "t-closeness": "In each group, {column} is distributed as in the whole table, up to a distance "
    "of {t}.",
    "copied-rows": "Drawn rows don't equal original rows more often than by chance.",
    "released-columns": "The files have the columns that the policy releases, and no other.",
    "protected-cells": "Nobody can compute a sensitive cell closer than its rule allows.",
    "unchanged-cells": "",
    "rows-of-table": "",
    "references-hold": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What a kind says of a release to who signs it: sentences, each of what was counted.

    Parameters
    ----------
    content, lost
        What is in the release, and what the protection took from it.
    protected, remains
        Who is protected, before the claims, and what attackers still find, before the weaknesses.
    rows_in
        The rows of the input; ``None`` where the release may not state them.
    attacked
        Which attacks ran when it was made, and where their findings are.
    attack
        The command that attacks it, with TABLE, RELEASE and POLICY for the paths.
    attack_hint
        What else it takes, behind the command.
    unpictured
        Why the report has no pictures of columns, where it has none.
    levels
        The labels of each level of a hierarchy above the values, by column.
    owner
        What only the owner's page shows.
    """

    content: Sequence[str]
    lost: Sequence[str]
    protected: Sequence[str] = ()
    remains: Sequence[str] = ()
    rows_in: int | None = None
    attacked: str = ""
    attack: str = ""
    attack_hint: str = ""
    unpictured: str = ""
    levels: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict, repr=False)
    owner: Sequence[AnyBlock] = field(default=(), repr=False)

    @property
    def attack_sentence(self) -> str:
        """Which attacks ran, or by which command they run."""
        ran = self.attacked or "No attack was run on this release."
        again = " again" if self.attacked else ""
        return f"{ran} To attack it{again}: {self.attack}{self.attack_hint}" if self.attack else ran


def moment(created: str) -> str:
    """Return a time in UTC, or a date, for readers.

    Examples
    --------
    >>> moment("2026-11-29T15:30:15Z"), moment("2026-03-01")
    ('29 November 2026, 15:30 UTC', '1 March 2026')
    """
    try:
        found = datetime.fromisoformat(created).astimezone(UTC) if "T" in created else None
        day = found or datetime.fromisoformat(created)
    except ValueError:
        return created
    return f"{day.day} {day:%B %Y}{f', {found:%H:%M} UTC' if found else ''}"


def in_plain_words(claim: Claim) -> str:
    """Return a claim as who doesn't know the models reads it.

    Examples
    --------
    >>> from halfmask.claims import Claim
    >>> in_plain_words(
    ...     Claim(model="k-anonymity", parameters={"k": 10}, about={}, basis="counted", evidence={})
    ... )
    'By the quasi-identifiers alone, nobody can tell a row apart from at least 9 others (k = 10).'
    """
    known = {"column": "the sensitive column", **claim.about, **claim.parameters}
    k = claim.parameters.get("k")
    known["others"] = k - 1 if isinstance(k, int) else "k - 1"
    try:
        return _PLAIN[claim.model].format_map(known)
    except KeyError:
        return claim.sentence()


def summary_blocks(manifest: Manifest, briefing: Briefing) -> list[AnyBlock]:
    """Return the summary for the head of an office, which prints as one page."""
    claims = dict.fromkeys(filter(None, map(in_plain_words, manifest.claims)))
    weaknesses = [_without_word(each) for each in manifest.weaknesses]
    parts = {
        "What is released": briefing.content,
        "Who is protected, and how": [*briefing.protected, *claims],
        "What is lost": briefing.lost,
        "What an attacker can still do": [*briefing.remains, *weaknesses],
        "What to do before you hand it over": list(_steps(manifest, briefing)),
    }
    blocks = [
        TextBlock(title, _few(sentences) or ["Nothing is stated."], "list")
        for title, sentences in parts.items()
    ]
    return [ChapterBlock("Summary", blocks, style="summary")]


def _few(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - _MOST
    kept = [shortened(each, _LETTERS) for each in sentences[: _MOST + (more == 1)]]
    return [*kept, f"{more} more are below."] if more > 1 else kept


def _without_word(weakness: str) -> str:
    """Return the sentence of a weakness without the word that names it."""
    said = re.sub(r"^[a-z-]+: ", "", weakness)
    return said[:1].upper() + said[1:]


def _steps(manifest: Manifest, briefing: Briefing) -> Iterator[str]:
    approval = manifest.approval
    yield briefing.attack_sentence
    empty = [APPROVAL[name].lower() for name in ("approver", "receiver") if name not in approval]
    if empty:
        yield f"Fill in [approval] of the policy, where this is empty: {', '.join(empty)}."
    else:
        when = f" on {moment(approval['date'])}" if "date" in approval else ""
        yield f"{approval['approver']} approved it{when}, for {approval['receiver']}."
    yield (
        "Find out which other data about these people the receiver has or gets, and agree that "
        "nobody matches them. The claims don't cover it."
    )
    yield "Hand over the release alone. The policy, the owner's page, keys and the vault stay."


def record_rows(manifest: Manifest, briefing: Briefing) -> list[tuple[str, str]]:
    """Return what an auditor asks of a release, and what is stated of it."""
    made = ", ".join(f"{name} {version}" for name, version in manifest.software.items())
    numbers = dict.fromkeys(
        f"{each.model}: {', '.join(f'{name} = {it}' for name, it in each.parameters.items())}"
        for each in manifest.claims
        if each.parameters
    )
    approval = {
        title: manifest.approval.get(name) or StyledCell(_EMPTY, "soft")
        for name, title in APPROVAL.items()
    }
    if "date" in manifest.approval:
        approval[APPROVAL["date"]] = moment(manifest.approval["date"])
    rows = "not stated" if briefing.rows_in is None else f"{briefing.rows_in:,}"
    return [
        ("Made", f"{moment(manifest.created)}, by {made}"),
        ("Policy", f"sha256 {manifest.policy_sha256}"),
        ("Parameters", "; ".join(numbers) or "none"),
        *approval.items(),
        ("Rows of the input", rows),
        ("Attacks", briefing.attack_sentence),
    ]


def record_blocks(manifest: Manifest, briefing: Briefing, n_dropped: int) -> list[AnyBlock]:
    """Return the record, as it may be released."""
    rows = [
        *record_rows(manifest, briefing),
        ("Input", f"its file and hash are {_NO_HASH}"),
        ("Columns dropped", f"{n_dropped:,}"),
    ]
    caption = "The owner's page has the policy, the columns dropped by name, and the input's hash."
    return [
        TableBlock("Record", (), rows, caption),
        *([TextBlock("Pictures", [briefing.unpictured])] if briefing.unpictured else []),
    ]


def owner_page(
    manifest: Manifest,
    briefing: Briefing,
    *,
    policy: WrittenPolicy,
    files: Sequence[GivenFile],
    command: str | None,
) -> str:
    """Return the page that stays: the record in full, the policy, labels of levels."""
    return html_page(
        f"Owner's page: {manifest.kind}",
        [
            TextBlock("", [_STAYS], "bad"),
            *summary_blocks(manifest, briefing),
            TableBlock(
                "Record",
                (),
                [
                    *record_rows(manifest, briefing),
                    *([("Command of the attacks", command)] if command else []),
                    ("Columns dropped", ", ".join(policy.dropped) or "none"),
                ],
            ),
            _input_block(files),
            TextBlock("Policy", [policy.text], "code"),
            *_levels_blocks(briefing.levels),
            *briefing.owner,
        ],
    )


def _input_block(files: Sequence[GivenFile]) -> AnyBlock:
    if not files:
        sentence = "The input was no local file: a table in memory, a database or a pipe. No hash."
        return TextBlock("Input", [sentence])
    rows = [(it.name, f"{it.n_bytes:,}", StyledCell(it.sha256, "code")) for it in files]
    return TableBlock("Input", ("File", "Bytes", "sha256"), rows)


def _levels_blocks(levels: Mapping[str, Sequence[Sequence[str]]]) -> list[AnyBlock]:
    rows = []
    for column, labels_of in levels.items():
        for level, labels in enumerate(labels_of, start=1):
            more = f", and {len(labels) - _LABELS:,} more" if len(labels) > _LABELS else ""
            rows.append(
                (column, str(level), f"{len(labels):,}", f"{', '.join(labels[:_LABELS])}{more}")
            )
    if not rows:
        return []
    return [TableBlock("Labels of levels", ("Column", "Level", "Labels", ""), rows)]


def command_of(briefing: Briefing, **paths: str | Path | None) -> str | None:
    """Return the command of the attacks with paths in place of TABLE, RELEASE and POLICY."""
    if not briefing.attack:
        return None
    given = {name: shlex.quote(str(path)) for name, path in paths.items() if path is not None}
    return re.sub(r"[A-Z]{5,}", lambda it: given.get(it[0], it[0]), briefing.attack)


def owner_path(out: str | Path) -> Path:
    """Return where the owner's page is: next to the release; of an object store, in this folder."""
    if isinstance(out, str) and is_object_address(out):
        return Path(out.rstrip("/").rpartition("/")[2] + OWNER)
    path = Path(os.path.abspath(out))  # noqa: PTH100 # resolve() would follow a link
    if not path.name:
        raise ParameterError("The folder to write has no name.", hint="Name a new folder.")
    return path.with_name(path.name + OWNER)
