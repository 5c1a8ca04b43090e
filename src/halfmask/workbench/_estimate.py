"""What a policy does to a sample of the table: measured while the sliders move."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from halfmask._errors import HalfmaskError
from halfmask.workbench._desk import Notice, notice_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from halfmask.microdata import Policy
    from halfmask.microdata.exploring.preview import PreviewTable, ReleasePreview
    from halfmask.workbench._project import Project

#: So many rows are measured at most: a slider answers at once.
ROWS: Final = 50_000
#: Remedies of one kind that are shown.
_SHOWN: Final = 3
#: Suppression is offered up to this share, and a remedy must gain so much of the detail.
_SUPPRESSED: Final = (0.01, 0.02, 0.05)
_GAINED: Final = 0.005
_SECTION: Final = "section"
#: One at a time: compiled code may not run in two threads.
_MEASURING: Final = threading.Lock()

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change of the policy by one click, and what it gains."""

    label: str
    gain: str
    action: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleEstimate:
    """What was measured on a sample; ``failure`` says why there is no release."""

    rows: int
    whole: int
    preview: ReleasePreview | None = None
    changed: Mapping[str, float] = field(default_factory=dict)
    kept_rows: int | None = None
    failure: Notice | None = None
    remedies: tuple[Remedy, ...] = ()


def file_stamps(folder: Path, policy: Policy) -> tuple[tuple[int, int], ...]:
    """Return what changes when a file does that a policy names."""
    trees = (it.hierarchy for it in policy.columns.values())
    named = [getattr(it, "file", None) for it in (*trees, *policy.maps.values())]
    paths = (folder / name for name in named if name is not None)
    found = (path.stat() for path in paths if path.exists())
    return tuple((it.st_mtime_ns, it.st_size) for it in found)


class Estimates:
    """Measures policies of one project; the project keeps what was measured."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def estimate(self) -> SampleEstimate:
        """Return what the policy does to the sample; errors are in words."""
        try:
            return self._kept("estimate", self._estimate)
        except HalfmaskError as error:  # the table can't be read
            return SampleEstimate(rows=0, whole=0, failure=notice_of(error))

    def costs(self) -> tuple[Remedy, ...]:
        """Return what would save most, each measured; none where the policy can't be met."""
        try:
            return self._kept("costs", lambda policy: tuple(self._remedies(policy)))
        except HalfmaskError:
            return ()

    def _kept(self, name: str, make: Callable[[Policy], _Made]) -> _Made:
        with _MEASURING:
            policy = self._project.policy()
            key = (name, self._project.stamp, file_stamps(self._project.folder, policy))
            return self._project.kept(key, lambda: make(policy))

    def _estimate(self, policy: Policy) -> SampleEstimate:
        from halfmask.microdata.exploring.preview import changed_cells  # noqa: PLC0415 # compiles

        rows = self._project.sample(ROWS)
        about: dict[str, Any] = {"rows": rows.height, "whole": self._project.rows().height}
        try:
            if policy.kind == "masked":
                changed, kept = changed_cells(rows, policy)
                return SampleEstimate(**about, changed=changed, kept_rows=kept)
            if policy.kind == "microdata":
                return SampleEstimate(**about, preview=self._table(policy).preview(policy))
        except Exception as error:  # noqa: BLE001 # the controls that led here must stay
            nearest = tuple(self._nearest(policy))
            return SampleEstimate(**about, failure=_in_words(error, policy), remedies=nearest)
        return SampleEstimate(**about)

    def _table(self, policy: Policy) -> PreviewTable:
        """Return the summary of the sample, which sliders don't change."""
        from halfmask.microdata.exploring.preview import PreviewTable  # noqa: PLC0415 # compiles

        about = tuple(each.about for each in policy.guarantee_sections)
        slid = {"guarantee_sections", "method", "recoding", "suppression", "output"}
        said = policy.model_dump_json(exclude=slid)
        key = (
            "preview",
            said,
            about,
            policy.split_targets,
            file_stamps(self._project.folder, policy),
        )
        rows = self._project.sample
        return self._project.kept(key, lambda: PreviewTable.of(rows(ROWS), policy))

    def _nearest(self, policy: Policy) -> Iterator[Remedy]:
        """Yield the nearest parameter that can be met, if it is met then."""
        try:
            found = self._table(policy).nearest(policy)
            if found is None:
                return
            section = policy.guarantee_sections[found.number]
            changed = [it.model_dump(exclude_none=True) for it in policy.guarantee_sections]
            changed[found.number][found.parameter] = found.value
            met = self._table(policy).preview(policy.changed(guarantees=changed))
        except Exception:  # noqa: BLE001 # as above
            return
        yield Remedy(
            label=f"Ask for {found.parameter} = {found.value:g}",
            gain=f"The nearest {section.named} that the sample can meet; "
            f"{met.kept:.1%} of the detail is kept.",
            action="guarantee",
            fields={"number": str(found.number), found.parameter: f"{found.value:g}"},
        )

    def _remedies(self, policy: Policy) -> Iterator[Remedy]:
        now = self._estimate(policy).preview
        if now is None:
            return
        yield from self._columns(policy, now)
        offered = set()
        for label, action, fields, sections in _changes(policy):
            then = None if action in offered else self._tried(policy, **sections)
            if then is None:
                continue
            fewer = now.suppressed - then.suppressed
            if then.kept - now.kept >= _GAINED or (fewer > 0 and action != _SECTION):
                gain = (
                    f"detail {now.kept:.1%} -> {then.kept:.1%}, {_rows(then.suppressed)} "
                    f"suppressed, highest risk {now.highest:.1%} -> {then.highest:.1%}"
                )
                yield Remedy(label=label, gain=gain, action=action, fields=fields)
                offered |= {action} & {_SECTION}  # the least share that saves detail

    def _columns(self, policy: Policy, now: ReleasePreview) -> Iterator[Remedy]:
        """Yield the columns that cost most: by the detail of the others, then suppressed rows."""
        gains = []
        for name, it in self._table(policy).without_each_column(policy).items():
            kept = sum(it.detail.values()) / len(it.detail)
            before = sum(now.detail[each] for each in it.detail) / len(it.detail)
            gains.append((kept - before, now.suppressed - it.suppressed, kept, name))
        for gained, fewer, kept, name in sorted(gains, reverse=True)[:_SHOWN]:
            if fewer > 0 or gained >= _GAINED:
                gain = f"the other columns keep {kept:.1%} instead of {kept - gained:.1%}"
                if fewer > 0:
                    gain = f"{_rows(fewer, 'fewer ')} suppressed, {gain}"
                fields = {"column": name, "role": "identifier"}
                yield Remedy(label=f"Drop {name}", gain=gain, action="role", fields=fields)

    def _tried(self, policy: Policy, **sections: object) -> ReleasePreview | None:
        try:
            changed = policy.changed(**sections)
            return self._table(changed).preview(changed)
        except HalfmaskError:
            return None


def _in_words(error: Exception, policy: Policy) -> Notice:
    """Return an error whose guarantees are named as the page names them, not as Python does."""
    notice = notice_of(error)
    what = notice.what
    for section in policy.guarantee_sections:
        about = f" of {section.about}" if section.about else ""
        column = re.escape(f"column={section.about!r}") if section.about else ""
        shown = rf"\b{section.made_type.__name__}\([^()]*{column}[^()]*\)"
        words = f"The guarantee {section.named}{about}"
        what = re.sub(shown, words.replace("\\", r"\\"), what)
    return replace(notice, what=what)


def _changes(policy: Policy) -> Iterator[tuple[str, str, dict[str, str], dict[str, object]]]:
    """Yield changes that may save: what their button says and posts, and the sections they make."""
    for share in (each for each in _SUPPRESSED if each > policy.suppression.max_fraction):
        fields = {"section": "suppression", "max_fraction": f"{share:g}"}
        made: dict[str, object] = {"suppression": {"max_fraction": share}}
        yield f"Allow {share:.0%} suppression", _SECTION, fields, made
    sections = [it.model_dump(exclude_none=True) for it in policy.guarantee_sections]
    for number, section in enumerate(policy.guarantee_sections):
        before, own, after = sections[:number], sections[number], sections[number + 1 :]
        named = f"{section.named} of {section.about}" if section.about else section.named
        bounded, fields = getattr(section.made_type, "bounded", ""), {"number": str(number)}
        if bounded in ("k", "l") and (own.get(bounded) or 0) >= 4:
            lower = own[bounded] // 2
            made = {"guarantees": [*before, {**own, bounded: lower}, *after]}
            words = f"Lower {bounded} of {named} to {lower:g}"
            yield words, "guarantee", {**fields, bounded: f"{lower:g}"}, made
        if before or after:
            yield f"Remove {named}", "remove", fields, {"guarantees": [*before, *after]}


def _rows(n: int, which: str = "") -> str:
    return f"{n:,} {which}row{'' if n == 1 else 's'}"
