"""What a page is: what it shows, the actions that its forms post, and what they carry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from halfmask.workbench._desk import Desk

Need: TypeAlias = Literal["", "table", "policy"]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that a form brought, in a temporary file of mode 0600."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Fields:
    """What a form posted: texts by name, each perhaps several times, and files."""

    texts: Mapping[str, Sequence[str]]
    uploads: Mapping[str, Sequence[Upload]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether a field was posted, as a ticked box is."""
        return name in self.texts

    def all(self, name: str) -> list[str]:
        """Return all texts of a field."""
        return list(self.texts.get(name, ()))

    def text(self, name: str, default: str = "") -> str:
        """Return the text of a field, without blanks around it."""
        found = self.texts.get(name)
        return found[0].strip() if found else default

    def number(self, name: str) -> float:
        """Return the number in a field; it raises where there is none."""
        try:
            found = float(self.text(name))
        except ValueError:
            found = math.nan
        if not math.isfinite(found):
            raise ParameterError(
                f"The field {name!r} wants a number.", hint="Write it with a point, such as 0.5."
            )
        return found

    def whole(self, name: str) -> int:
        """Return the whole number in a field."""
        found = self.number(name)
        if found != int(found):
            raise ParameterError(f"The field {name!r} wants a whole number.")
        return int(found)

    def upload(self, name: str) -> Upload | None:
        """Return the file of a field, if one was chosen."""
        return next(iter(self.uploads_of(name)), None)

    def uploads_of(self, name: str) -> list[Upload]:
        """Return all files of a field."""
        return list(self.uploads.get(name, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """Where an action leads: to a page, with a notice, or to a file that is downloaded."""

    to: str = ""
    """The name of a page; by default the one whose form was posted."""
    query: Mapping[str, str] = field(default_factory=dict)
    """No cell may be in it: addresses are kept in histories."""
    notice: str = ""
    file: Path | None = None
    is_passing: bool = False
    """Whether the file is only made to be downloaded, and goes when it was sent."""


Show: TypeAlias = "Callable[[Desk, Mapping[str, str]], Mapping[str, Any]]"
Action: TypeAlias = "Callable[[Desk, Fields], PageAnswer | None]"


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its name in addresses, its title, what it shows, and its actions by name."""

    name: str
    title: str
    show: Show
    actions: Mapping[str, Action] = field(default_factory=dict)
    needs: Need = "policy"

    @property
    def template(self) -> str:
        """The template that renders what the page shows."""
        return f"{self.name}.html"
