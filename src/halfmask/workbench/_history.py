"""Versions of a policy file: each change is kept, undo goes back one, redo forward."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from halfmask.data import atomic_file

_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a policy: why it was made, when, and its text's name."""

    why: str
    when: str
    sha256: str


class History:
    """The versions of one policy file, in a folder of its own, and which of them is in force."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._list = folder / "versions.json"
        self.versions: list[Version] = []
        self.at = -1
        if self._list.is_file():
            stored = json.loads(self._list.read_text(encoding="utf-8"))
            self.versions = [Version(**each) for each in stored["versions"]]
            self.at = stored["at"]

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier version."""
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        """Whether a later version was undone."""
        return self.at + 1 < len(self.versions)

    def add(self, text: str, why: str) -> None:
        """Keep a version; those that were undone go, and so do the oldest of very many."""
        version = Version(why, datetime.now(UTC).isoformat(timespec="seconds"), digest_of(text))
        if 0 <= self.at < len(self.versions) and self.versions[self.at].sha256 == version.sha256:
            return
        self._write(self._text_file(version), text)
        self.versions = [*self.versions[: self.at + 1], version][-_MOST:]
        self.at = len(self.versions) - 1
        self._keep()

    def text(self, step: int) -> str:
        """Return the text of the version some steps from the one in force."""
        version = self.versions[self.at + step]
        return self._text_file(version).read_bytes().decode("utf-8")

    def go(self, step: int) -> Version:
        """Put the version some steps away into force."""
        self.at += step
        self._keep()
        return self.versions[self.at]

    def _text_file(self, version: Version) -> Path:
        return self.folder / f"{version.sha256}.toml"

    def _keep(self) -> None:
        stored = {"at": self.at, "versions": [asdict(each) for each in self.versions]}
        self._write(self._list, json.dumps(stored, indent=1))

    def _write(self, where: Path, text: str) -> None:
        for each in (self.folder.parent, self.folder):  # the mode holds for the last one alone
            each.mkdir(mode=0o700, exist_ok=True)
        with atomic_file(where, overwrite=True) as file:
            file.write(text.encode("utf-8"))


def digest_of(text: str) -> str:
    """Return the name of a text: changes of the file by others show by it."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
