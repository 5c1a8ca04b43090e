"""What the officer who signs a release reads: a summary, the record, and the owner's page.

The report is released with the data. A receiver could test guesses of the whole table by a hash of
the input, and infer more from a policy. So the hash, the policy's text, names of dropped columns
and paths are on the owner's page alone, which lies next to the release and stays.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import ParameterError
from halfmask.data.io.formats import is_object_address
from halfmask.release.meanings import meanings, stated_parameters
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
    from halfmask.claims import Manifest

#: What follows the name of a release in that of its owner's page.
OWNER: Final = ".owner.html"
ATTACK: Final = "halfmask assess release TABLE RELEASE --policy POLICY"
_APPROVAL: Final = {
    "approver": "Approved by",
    "date": "Approved on",
    "receiver": "Receiver",
    "purpose": "Purpose",
    "thresholds": "Why these parameters",
}
_EMPTY: Final = StyledCell("empty", "no")
#: So many sentences of a kind are on the one page, and names or labels in one.
_MOST: Final = 4
_NAMED: Final = 20
_STAYS: Final = (
    "This page stays with the owner of the data. It holds the policy, from which an attacker can "
    "infer more, and what the report doesn't say. Don't hand it over with the release."
)
_HIDDEN: Final = "On the owner's page: by a hash, the receiver could test guesses of the table."


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What a kind says of a release to the officer: sentences that were counted.

    Parameters
    ----------
    released
        What is released, where it isn't rows with columns.
    protected, lost, remains
        Who is protected, in place of the claims; what the protection took; and what attackers still
        find, before the weaknesses.
    attacked
        Which attacks ran when it was made, and where their findings are.
    attack
        The command that attacks it, with TABLE, RELEASE and POLICY for the paths.
    unpictured
        Why the report has no pictures of columns, where it has none.
    owner
        What only the owner's page shows.
    """

    released: str = ""
    protected: Sequence[str] = ()
    lost: Sequence[str] = ()
    remains: Sequence[str] = ()
    attacked: str = ""
    attack: str = ""
    unpictured: str = ""
    owner: Sequence[AnyBlock] = field(default=(), repr=False)

    @property
    def attack_sentence(self) -> str:
        """Which attacks ran, or by which command they run."""
        ran = self.attacked or "No attack was run on this release."
        again = " again" if self.attacked else ""
        return f"{ran} To attack it{again}: {self.attack}" if self.attack else ran

    def command(self, **paths: str | Path | None) -> str | None:
        """Return the command of the attacks, with the paths that are known.

        Parameters
        ----------
        paths
            For TABLE, RELEASE and POLICY.
        """
        given = {name: shlex.quote(str(path)) for name, path in paths.items() if path is not None}
        return re.sub("[A-Z]{5,}", lambda it: given.get(it[0], it[0]), self.attack) or None


def moment(created: str) -> str:
    """Return a date, or a time in UTC, for readers.

    Examples
    --------
    >>> moment("2026-11-29T15:30:15Z"), moment("2026-03-01")
    ('29 November 2026, 15:30 UTC', '1 March 2026')
    """
    try:
        found = datetime.fromisoformat(created)
        found = found.astimezone(UTC) if found.tzinfo else found
    except (ValueError, OverflowError):  # what a manifest from outside says
        return created
    time = f", {found:%H:%M} UTC" if found.tzinfo else ""
    return f"{found.day} {found:%B %Y}{time}"


def summary_blocks(
    manifest: Manifest, briefing: Briefing, *, has_approval: bool = True
) -> list[AnyBlock]:
    """Return the summary for the head of an office, which prints as one page."""
    weaknesses = [re.sub("^[a-z-]+: ", "", each) for each in manifest.weaknesses]
    parts = {
        "What is released": [briefing.released or _content(manifest)],
        "Who is protected, and how": briefing.protected or meanings(manifest.claims),
        "What is lost": briefing.lost,
        "What an attacker can still do": [
            *briefing.remains,
            *(each[:1].upper() + each[1:] for each in weaknesses),
        ],
        "What to do before you hand it over": list(
            _steps(manifest.approval, briefing, has_approval=has_approval)
        ),
    }
    blocks = [
        TextBlock(title, _few(sentences) or ["Nothing is stated."], "list")
        for title, sentences in parts.items()
    ]
    return [ChapterBlock("Summary", blocks, style="summary")]


def _content(manifest: Manifest) -> str:
    """Return how many rows the files have, and their columns."""
    columns: Any = manifest.details.get("columns", [])
    n_rows = sum(each.n_rows for each in manifest.files)
    what = "line" if manifest.kind == "events" else "row"
    has = f"{n_rows:,} {what}{'' if n_rows == 1 else 's'}"
    names = f", with the columns {named([each['name'] for each in columns])}" if columns else ""
    return f"{has} in {len(manifest.files):,} file{'' if len(manifest.files) == 1 else 's'}{names}."


def named(names: Sequence[str]) -> str:
    """Return names in words; of many, the first."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _few(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - _MOST
    kept = [shortened(each, 300) for each in sentences[: _MOST + (more == 1)]]
    return [*kept, f"{more} more are below."] if more > 1 else kept


def _steps(approval: Mapping[str, str], briefing: Briefing, *, has_approval: bool) -> Iterator[str]:
    yield briefing.attack_sentence
    empty = [_APPROVAL[name].lower() for name in ("approver", "receiver") if name not in approval]
    if not has_approval:
        yield "Write down who approves it, and for which receiver. The release doesn't state it."
    elif empty:
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
        f"{each.model}: {stated_parameters(each.parameters)}"
        for each in manifest.claims
        if each.parameters
    )
    stated = dict(manifest.approval)
    if "date" in stated:
        stated["date"] = moment(stated["date"])
    rows: Any = manifest.details.get("rows", {})
    return [
        ("Made", f"{moment(manifest.created)}, by {made}"),
        ("Policy", f"sha256 {manifest.policy_sha256}"),
        ("Parameters", "; ".join(numbers) or "none"),
        *((title, stated.get(name, _EMPTY)) for name, title in _APPROVAL.items()),
        ("Rows of the input", f"{rows['in']:,}" if "in" in rows else "not stated"),
        ("Attacks", briefing.attack_sentence),
    ]


def record_blocks(manifest: Manifest, briefing: Briefing, n_dropped: int | None) -> list[AnyBlock]:
    """Return the record, as it may be released; without a number, it has no owner's page."""
    dropped = [] if n_dropped is None else [("Columns dropped", f"{n_dropped:,}")]
    more = [*dropped, ("Policy and input", _HIDDEN)] if dropped else []
    return [
        *([TextBlock("Pictures", [briefing.unpictured])] if briefing.unpictured else []),
        TableBlock("Record", (), [*record_rows(manifest, briefing), *more]),
    ]


def owner_page(
    manifest: Manifest,
    briefing: Briefing,
    policy: Any,  # noqa: ANN401 # a WrittenPolicy, which loads pydantic
    files: Sequence[tuple[str, str]],
    command: str | None,
) -> str:
    """Return the page that stays: the record in full, the policy, labels of levels."""
    none = [("", "It is no local file, but a table in memory, a pipe, a database or an object.")]
    rows = [
        *record_rows(manifest, briefing),
        ("Command of the attacks", command or "none"),
        ("Columns dropped", ", ".join(policy.dropped) or "none"),
    ]
    levels = [
        (column, str(level), f"{len(it):,}", named(it))
        for column, labels in policy.labels().items()
        for level, it in enumerate(labels, start=1)
    ]
    return html_page(
        f"Owner's page: {manifest.kind}",
        [
            TextBlock("", [_STAYS], "bad"),
            *summary_blocks(manifest, briefing),
            TableBlock("Record", (), rows),
            TableBlock("Input", ("File", "sha256"), files or none),
            TextBlock("Policy", [policy.text], "code"),
            *([TableBlock("Levels", ("Column", "Level", "Labels", ""), levels)] if levels else []),
            *briefing.owner,
        ],
    )


def owner_path(out: str | Path) -> Path:
    """Return where the owner's page is: next to the release; of an object store, in this folder."""
    if isinstance(out, str) and is_object_address(out):
        return Path(out.rstrip("/").rpartition("/")[2] + OWNER)
    path = Path(os.path.abspath(out))  # noqa: PTH100 # resolve() would follow a link
    if not path.name:
        raise ParameterError("The folder to write has no name.", hint="Name a new folder.")
    return path.with_name(path.name + OWNER)
