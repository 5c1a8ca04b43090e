"""verify_release: read an output of events and its manifest as a stranger, and count again."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import VerificationError
from halfmask.verifier.events._places import Places
from halfmask.verifier.events._promised import differences
from halfmask.verifier.events._reading import event_of, hashed, is_table, lines_of
from halfmask.verifier.events._release_verdict import OutputCheck, ReleaseVerdict
from halfmask.verifier.events._verifying import verify_events

if TYPE_CHECKING:
    from halfmask.verifier.events._verdict import Check

__all__ = ["verify_release"]

_SUFFIX: Final = ".manifest.json"
_LARGEST: Final = 1 << 28


def verify_release(
    where: str | Path, *, promised: Mapping[str, Any] | None = None
) -> ReleaseVerdict:
    """Count again, from the files on disk, what the manifest of an output of events says.

    Parameters
    ----------
    where
        The output, a file or folder, with its manifest beside it; the manifest; or a folder with
        one output and its manifest.
    promised
        What a policy promises, see `halfmask.events.report.promises_of`: the manifest must name
        it, and have its fields and claims. None: the manifest is taken at its word.

    Returns
    -------
    ReleaseVerdict
        What was found. Look at ``.holds``.

    Raises
    ------
    VerificationError
        If there is no manifest, or none that this halfmask can check. What the output says is never
        raised but returned.

    Notes
    -----
    **Guarantees.** It shares no code that counts with what made the output.

    ``.holds`` is true only if the files are those of the manifest, with their hashes, sizes and
    lines, and no others; every line is an object of JSON; every field in it is one of the
    manifest's, and every value looks like what the action leaves: times on their grid, numbers on
    their step, masked texts masked, numbers of sequences within an event without gaps; counts
    agree; and every claim that the lines can tell holds.

    **Edge cases.** The manifest isn't signed: whoever changes lines and writes a manifest that goes
    with them is believed. Have the manifest, or its hash, from whom you trust; or have the policy
    from them, and give what it promises: then these promises are counted, whoever made the lines.
    Which lines are of one window stays the manifest's word. It can't see whether a value that looks
    right was made by the rule: that a token stands for its value is known to who has the vault.
    Sequences over more than an event go on from run to run and may begin anywhere. In tables, null
    is taken for what isn't there. What a claim's recount needs and the lines don't tell is the
    run's word; `Check.counted` says so.
    """
    path = _manifest_path(Path(where))
    manifest = _manifest(path)
    recount = _Recount(manifest, path.with_name(path.name.removesuffix(_SUFFIX)))
    try:
        found = recount.verdict()
        if promised is None:
            return found
        return replace(found, differences=tuple(differences(manifest, promised)))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged() from None


def _manifest_path(where: Path) -> Path:
    if where.name.endswith(_SUFFIX) and where.is_file():
        return where
    beside = where.with_name(where.name + _SUFFIX)
    if beside.is_file():
        return beside
    within = sorted(where.glob("*" + _SUFFIX)) if where.is_dir() else []
    if len(within) != 1:
        raise VerificationError(
            "There is no manifest to verify by.",
            hint="It lies beside the output, with .manifest.json behind its name.",
        )
    return within[0]


def _manifest(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise _damaged()
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise _damaged() from None
    if not isinstance(found, dict) or found.get("format") != "halfmask events release":
        raise VerificationError("The manifest isn't one of a release of events.")
    if found.get("version") != 1:
        raise VerificationError("The manifest is of a version that this halfmask doesn't read.")
    return found


def _damaged() -> VerificationError:
    return VerificationError("The manifest can't be read, or is damaged.")


@dataclass(slots=True)
class _Faults:
    """What is wrong with lines, by what it is: how many, and the first."""

    counts: Counter[str] = field(default_factory=Counter)
    firsts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, line: int, count: int = 1) -> None:
        if count:
            self.counts[what] += count
            self.firsts.setdefault(what, line)

    def sentences(self) -> Iterator[str]:
        for what, count in self.counts.items():
            yield f"{_SAID[what].format(count=count)}; the first in line {self.firsts[what]}."


_SAID: Final = {
    "not-json": "{count} lines aren't objects of JSON",
    "unknown": "{count} times a field stands in a line that the manifest doesn't have",
    "formless": "{count} values don't look like what their action leaves",
    "gaps": "{count} times numbers of an event have a gap",
}


class _Recount:
    """One release, counted again."""

    def __init__(self, manifest: Mapping[str, Any], output: Path) -> None:
        self._manifest = manifest
        self._output = output
        self._problems: list[str] = []

    def verdict(self) -> ReleaseVerdict:
        files = self._files()
        faults, lines, unique = _Faults(), 0, 0
        checks: tuple[OutputCheck, ...] = ()
        try:
            checks, lines, unique = self._lines(files, faults)
        except VerificationError as error:
            self._problems.append(error.what)
        self._problems += faults.sentences()
        self._problems += self._counts(lines, unique)
        claims = self._claims(files)
        return ReleaseVerdict(
            files=checks,
            claims=claims,
            lines=lines,
            problems=tuple(self._problems),
        )

    def _files(self) -> list[tuple[Path, Mapping[str, Any]]]:
        """Return the files of the manifest, and see that there are no others."""
        is_folder = bool(self._manifest["folder"])
        told = list(self._manifest["files"])
        names = [str(it["name"]) for it in told]
        plain = all(name == Path(name).name and name not in {"", ".", ".."} for name in names)
        if not plain or not names or len(set(names)) < len(names):
            raise _damaged()
        if not is_folder:
            return [
                (self._output.with_name(name), it) for name, it in zip(names, told, strict=True)
            ]
        there = {it.name for it in self._output.iterdir()} if self._output.is_dir() else set()
        if more := len(there - set(names)):
            self._problems.append(f"{more} files are in the folder that the manifest doesn't have.")
        return [(self._output / name, it) for name, it in zip(names, told, strict=True)]

    def _lines(
        self, files: list[tuple[Path, Mapping[str, Any]]], faults: _Faults
    ) -> tuple[tuple[OutputCheck, ...], int, int]:
        tables = any(is_table(path) for path, _ in files)
        fields = self._manifest["fields"]
        whole = self._manifest["claims"] is None
        places = Places(fields, exact=not tables, dense=whole)
        looked = _Looked(self._manifest["risk"])
        checks, total = [], 0
        for path, told in files:
            if path.is_symlink() or not path.is_file():
                self._problems.append("A file that the manifest has isn't there.")
                checks.append(OutputCheck(name=str(told["name"]), lines=None, holds=False))
                continue
            digest, size = hashed(path)
            lines = 0
            for line in lines_of(path):
                lines += 1
                looked.add(line)
                event = event_of(line)
                if event is None:
                    faults.add("not-json", total + lines)
                    continue
                found = places.check(event)
                faults.add("unknown", total + lines, found.unknown)
                faults.add("formless", total + lines, found.formless)
                faults.add("gaps", total + lines, found.gaps)
            total += lines
            same = (digest, size, lines) == (told["sha256"], told["bytes"], told["lines"])
            checks.append(OutputCheck(name=str(told["name"]), lines=lines, holds=same))
        return tuple(checks), total, looked.unique

    def _counts(self, lines: int, unique: int) -> Iterator[str]:
        manifest, counts = self._manifest, self._manifest["counts"]
        if lines != manifest["lines"]:
            yield f"There are {lines} lines; the manifest has {manifest['lines']}."
        if manifest["claims"] is None and lines != counts["passed"]:
            yield f"There are {lines} lines; the run let {counts['passed']} events pass."
        left = counts["stage"].get("events-written")
        if left is not None and lines != left:
            yield f"There are {lines} lines; the run let {left} events out."
        bad = sum(int(count) for count in counts["bad"].values())
        sums = counts["passed"] + counts["held"] == counts["events"]
        if not sums or counts["events"] + bad > counts["lines"]:
            yield "The counts of the manifest don't go together."
        risk = manifest["risk"]
        tables = any(is_table(Path(str(it["name"]))) for it in manifest["files"])
        if risk is not None and not tables and unique != risk["unique_events"]:
            yield (
                f"{unique} of the first {risk['events']} lines are equal to no other; the manifest "
                f"has {risk['unique_events']}."
            )

    def _claims(self, files: list[tuple[Path, Mapping[str, Any]]]) -> tuple[Check, ...]:
        told = self._manifest["claims"]
        if told is None:
            return ()
        written = [
            [step.removeprefix(".") for step in field["steps"]]
            for field in self._manifest["fields"]
        ]
        guarded = [field for claim in told.get("guarantees", ()) for field in claim["fields"]]
        if any(list(field) not in written for field in guarded):
            self._problems.append("A claim is of a field that the manifest doesn't have.")
        there = [path for path, _ in files if path.is_file()]
        try:
            lines = (line for path in there for line in lines_of(path))
            found = verify_events(lines, told)
        except VerificationError as error:
            self._problems.append(f"The claims can't be counted again: {error.what}")
            return ()
        return found.checks


class _Looked:
    """The first lines, of which it is counted how many are equal to no other."""

    def __init__(self, risk: Mapping[str, Any] | None) -> None:
        self._most = 0 if risk is None else int(risk["events"])
        self._seen: Counter[bytes] = Counter()
        self._lines = 0

    def add(self, line: bytes) -> None:
        if self._lines < self._most:
            self._lines += 1
            self._seen[hashlib.sha256(line).digest()[:16]] += 1

    @property
    def unique(self) -> int:
        return sum(count == 1 for count in self._seen.values())
