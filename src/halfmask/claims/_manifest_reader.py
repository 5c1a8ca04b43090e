"""manifest.json read strictly: whatever isn't exactly a manifest of version 1 is refused.

The file comes from a stranger. No message says more of it than a place, a type or a count.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, cast

from halfmask._errors import VerificationError
from halfmask.claims._manifest import (
    FORMAT,
    MANIFEST_NAME,
    VERSION,
    Claim,
    DataFile,
    Evidence,
    Json,
    Manifest,
    ReleasedColumn,
    RowCounts,
    SupportFile,
)
from halfmask.claims._released_files import check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["StatedSet", "StatedSets", "parse_manifest", "read_manifest", "stated_sets"]

MAX_BYTES: Final = 64 * 1024 * 1024
ROLES: Final = ("identifier", "quasi_identifier", "sensitive", "insensitive")
KINDS: Final = ("numeric", "ordinal", "categorical", "datetime", "geo", "text")
FORMATS: Final = ("parquet", "csv", "arrow", "jsonl")
CREATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
SHA256: Final = re.compile(r"[0-9a-f]{64}")

T = TypeVar("T")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a release folder.

    Parameters
    ----------
    folder
        The release folder.

    Returns
    -------
    Manifest
        What the release says of itself; nothing of it is checked against the files yet.

    Raises
    ------
    VerificationError
        If there is none, or it isn't exactly a manifest of version 1: not JSON, too large, a key
        twice, missing or unknown, a wrong type, a file name that leads out of the folder.
    """
    path = folder / MANIFEST_NAME
    if not folder.is_dir():
        raise VerificationError(
            "The release to verify isn't a folder.", hint="Give the folder that protect wrote."
        )
    if path.is_symlink() or not path.is_file():
        raise VerificationError(
            "The release folder has no manifest.json of its own.",
            hint="Give the folder that protect wrote.",
        )
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise VerificationError(
            f"manifest.json can't be read: {error.strerror or 'the system refused'}."
        ) from None
    if len(raw) > MAX_BYTES:
        raise VerificationError(f"manifest.json is larger than {MAX_BYTES} bytes.")
    return parse_manifest(raw)


def parse_manifest(raw: bytes) -> Manifest:
    """Return the manifest that these bytes are; see `read_manifest` for what is refused."""
    try:
        found = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except VerificationError:
        raise
    except (ValueError, RecursionError):
        # Python's own messages quote the text around the fault.
        raise VerificationError(
            "manifest.json isn't strict JSON in UTF-8.", hint="Write the release again."
        ) from None
    return _manifest(_At(cast("Json", found), "manifest.json"))


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # Two readers could each believe another one of the two.
        raise VerificationError("manifest.json has an object with a key twice.")
    return found


def _no_constant(_: str) -> NoReturn:
    raise VerificationError("manifest.json has a number that is infinite or not a number.")


@dataclass(frozen=True, slots=True)
class _At:
    """A value of the manifest and where it stands."""

    value: Json
    place: str

    def refuse(self, wanted: str) -> NoReturn:
        names = {dict: "an object", list: "a list", str: "text", type(None): "null"}
        got = names.get(type(self.value), f"a {type(self.value).__name__}")
        raise VerificationError(
            f"{self.place} must be {wanted}. Got {got}.", hint="Write the release again."
        )

    def keys(self, *required: str, optional: tuple[str, ...] = ()) -> dict[str, _At]:
        if not isinstance(self.value, dict):
            self.refuse("an object")
        for key in required:
            if key not in self.value:
                raise VerificationError(f"{self.place} lacks the key {key!r}.")
        unknown = len(self.value.keys() - {*required, *optional})
        if unknown:
            raise VerificationError(
                f"{self.place} has {unknown} keys that version {VERSION} doesn't know.",
                hint="Verify it with the version of halfmask that wrote it.",
            )
        return {key: _At(each, f"{self.place}: {key}") for key, each in self.value.items()}

    def entries(self) -> Iterator[_At]:
        if not isinstance(self.value, list):
            self.refuse("a list")
        for number, each in enumerate(self.value, start=1):
            yield _At(each, f"{self.place} number {number}")

    def each(self, read: Callable[[_At], T]) -> tuple[T, ...]:
        return tuple(read(one) for one in self.entries())

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value:
            self.refuse("text that isn't empty")
        return self.value

    def text_or_none(self) -> str | None:
        return None if self.value is None else self.text()

    def word(self, allowed: tuple[str, ...]) -> str:
        text = self.text()
        if text not in allowed:
            self.refuse(f"one of {', '.join(allowed)}")
        return text

    def like(self, pattern: re.Pattern[str], wanted: str) -> str:
        text = self.text()
        if not pattern.fullmatch(text):
            self.refuse(wanted)
        return text

    def count(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            self.refuse("a whole number of at least 0")
        return self.value

    def number(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.refuse("a number")
        try:
            finite = math.isfinite(self.value)
        except OverflowError:  # a whole number beyond every float
            finite = False
        if not finite:
            self.refuse("a finite number")
        return self.value

    def mapping(self) -> dict[str, Json]:
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return self.value


def _manifest(top: _At) -> Manifest:
    kind = top.mapping()
    if kind.get("format") != FORMAT:
        raise VerificationError("manifest.json isn't the manifest of a halfmask release.")
    version = kind.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise VerificationError(
            f"manifest.json isn't of version {VERSION}, the one that this halfmask reads.",
            hint="Verify it with the version of halfmask that wrote it.",
        )
    at = top.keys(
        *("format", "version", "created", "software", "policy", "rows", "files", "support"),
        *("columns", "method", "claims", "weaknesses", "risk", "utility"),
        optional=("report",),
    )
    software = _At(at["software"].value, "manifest.json: software")
    versions = {key: _At(each, software.place).text() for key, each in software.mapping().items()}
    return Manifest(
        created=at["created"].like(CREATED, "a time in UTC such as 2026-11-21T09:00:00Z"),
        software=versions,
        policy_sha256=_sha256(at["policy"].keys("sha256")["sha256"]),
        rows=_rows(at["rows"]),
        files=at["files"].each(_file),
        support=at["support"].each(_support),
        columns=at["columns"].each(_column),
        method=at["method"].mapping(),
        claims=at["claims"].each(_claim),
        weaknesses=at["weaknesses"].each(_At.text),
        risk=at["risk"].mapping(),
        utility=at["utility"].mapping(),
        report_sha256=_sha256(at["report"].keys("sha256")["sha256"]) if "report" in at else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSet:
    """A set of columns, and the rows that the manifest says are unique or in classes under k."""

    columns: tuple[str, ...]
    unique: int
    under_k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSets:
    """The risk over released columns, as a manifest states it; see `ReleasedColumnsRisk`."""

    k: int
    exact: bool
    every: StatedSet
    unchanged: StatedSet | None
    few: tuple[StatedSet, ...]

    @property
    def all_sets(self) -> tuple[StatedSet, ...]:
        """Every set that is stated."""
        whole = () if self.unchanged is None else (self.unchanged,)
        return (self.every, *whole, *self.few)


def stated_sets(manifest: Manifest) -> StatedSets | None:
    """Return what a manifest states of its released columns; ``None`` where it states nothing.

    Raises
    ------
    VerificationError
        If it isn't what it must be.
    """
    if "released_columns" not in manifest.risk:
        return None  # of a version before 0.2
    found = _At(manifest.risk["released_columns"], f"{MANIFEST_NAME}: risk: released_columns")
    at = found.keys("k", "exact", "every", "unchanged", "few")
    k, exact = at["k"].count(), at["exact"].value
    if k < 2:  # each row is in a class of one
        at["k"].refuse("a whole number of at least 2")
    if not isinstance(exact, bool):
        at["exact"].refuse("true or false")
    return StatedSets(
        k=k,
        exact=exact,
        every=_stated_set(at["every"]),
        unchanged=None if at["unchanged"].value is None else _stated_set(at["unchanged"]),
        few=at["few"].each(_stated_set),
    )


def _stated_set(at: _At) -> StatedSet:
    found = at.keys("columns", "unique", "under_k", "share_unique", "share_under_k")
    return StatedSet(
        columns=found["columns"].each(_At.text),
        unique=found["unique"].count(),
        under_k=found["under_k"].count(),
    )


def _sha256(at: _At) -> str:
    return at.like(SHA256, "64 lower-case hexadecimal digits")


def _name(at: _At, folder: str) -> str:
    name = at.text()
    if not check_name(name, folder):
        raise VerificationError(
            f"{at.place} must be the plain name of a file under {folder}/.",
            hint="A release names only files of its own folder.",
        )
    return name


def _rows(at: _At) -> RowCounts:
    found = at.keys("in", "out", "suppressed")
    return RowCounts(
        n_in=found["in"].count(),
        n_out=found["out"].count(),
        n_suppressed=found["suppressed"].count(),
    )


def _file(at: _At) -> DataFile:
    found = at.keys("name", "format", "sha256", "bytes", "rows")
    return DataFile(
        name=_name(found["name"], "data"),
        format=found["format"].word(FORMATS),
        sha256=_sha256(found["sha256"]),
        n_bytes=found["bytes"].count(),
        n_rows=found["rows"].count(),
    )


def _support(at: _At) -> SupportFile:
    found = at.keys("name", "column", "sha256")
    return SupportFile(
        name=_name(found["name"], "support"),
        column=found["column"].text(),
        sha256=_sha256(found["sha256"]),
    )


def _column(at: _At) -> ReleasedColumn:
    found = at.keys("name", "role", "kind", "recoding", "dtype")
    return ReleasedColumn(
        name=found["name"].text(),
        role=found["role"].word(ROLES),
        kind=found["kind"].word(KINDS),
        recoding=found["recoding"].text_or_none(),
        dtype=found["dtype"].text(),
    )


def _parameter(at: _At) -> float | int | str:
    return at.text() if isinstance(at.value, str) else at.number()


def _claim(at: _At) -> Claim:
    required = ("model", "parameters", "column", "quasi_identifiers", "evidence")
    found = at.keys(*required, optional=("support",))
    place = found["parameters"].place
    return Claim(
        model=found["model"].text(),
        parameters={
            key: _parameter(_At(each, place)) for key, each in found["parameters"].mapping().items()
        },
        column=found["column"].text_or_none(),
        quasi_identifiers=found["quasi_identifiers"].each(_At.text),
        evidence=_evidence(found["evidence"]),
        support=found["support"].text_or_none() if "support" in found else None,
    )


def _evidence(at: _At) -> Evidence:
    found = at.keys("achieved", "classes", "rows", "smallest_class")
    return Evidence(
        achieved=found["achieved"].number(),
        classes=found["classes"].count(),
        rows=found["rows"].count(),
        smallest_class=found["smallest_class"].count(),
    )
