"""Versions of a policy file: each change is kept, undo goes back one, redo forward."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from halfmask.data import atomic_file
from halfmask.workbench._json_files import read_json

_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a policy: why it was made, when, and its text's name."""

    why: str
    when: str
    sha256: str


class History:
    """The versions of one policy file, in a folder of its own, and which of them is in force.

    What is changed here is on disk once it is saved: a page that only looks writes nothing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._list = folder / "versions.json"
        self._unsaved: dict[str, bytes] = {}
        stored = read_json(self._list)
        self.versions = [Version(**each) for each in stored.get("versions", ())]
        self.at = int(stored.get("at", -1))

    @property
    def undoes(self) -> str | None:
        """What undo would take back."""
        return self.versions[self.at].why if self.at > 0 else None

    @property
    def redoes(self) -> str | None:
        """What redo would do again."""
        later = self.versions[self.at + 1 :]
        return later[0].why if later else None

    def add(self, content: bytes, why: str) -> None:
        """Add a version; those that were undone go, and so do the oldest of very many."""
        digest = digest_of(content)
        if self.versions and self.versions[self.at].sha256 == digest:
            return
        self._unsaved[digest] = content
        version = Version(why, datetime.now(UTC).isoformat(timespec="seconds"), digest)
        self.versions = [*self.versions[: self.at + 1], version][-_MOST:]
        self.at = len(self.versions) - 1

    def go(self, step: int) -> bytes:
        """Put the version some steps away into force, and return its content."""
        content = self.content(step)
        self.at += step
        return content

    def content(self, step: int) -> bytes:
        """Return the content of the version some steps from the one in force."""
        digest = self.versions[self.at + step].sha256
        return self._unsaved.get(digest) or self._file(digest).read_bytes()

    def text(self, step: int) -> str:
        """Return the text of that version."""
        return self.content(step).decode("utf-8-sig", "replace")

    def save(self) -> None:
        """Write what has changed."""
        for each in (self.folder.parent, self.folder):  # the mode holds for the last one alone
            each.mkdir(mode=0o700, exist_ok=True)
        stored = {"at": self.at, "versions": [asdict(each) for each in self.versions]}
        files = {self._file(digest): content for digest, content in self._unsaved.items()}
        for where, content in (files | {self._list: json.dumps(stored).encode()}).items():
            with atomic_file(where, overwrite=True) as file:
                file.write(content)

    def _file(self, digest: str) -> Path:
        return self.folder / f"{Path(digest).name}.toml"


def digest_of(content: bytes | str) -> str:
    """Return the name of a content: changes of the file by others show by it."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
