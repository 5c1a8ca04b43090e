"""The desk: what every page works on, and what is said at the top of the next page."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from halfmask._errors import HalfmaskError
from halfmask._foreign import missing

if TYPE_CHECKING:
    from halfmask.workbench._jobs import Jobs
    from halfmask.workbench._project import Project

#: Notices that wait for a page; a page that nobody opens must not gather them for ever.
_MOST_WAITING: Final = 5


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence at the top of a page, and a way out if it says that something failed."""

    what: str
    hint: str | None = None
    style: Literal["good", "bad"] = "good"


@dataclass(slots=True)
class Desk:
    """The project, its jobs, and the notices that the next page shows."""

    project: Project
    jobs: Jobs
    notices: list[Notice] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    #: What pages keep from one request to the next, by name.
    shelf: dict[str, object] = field(default_factory=dict)

    def say(self, notice: Notice) -> None:
        """Show a notice on the next page."""
        self.notices.append(notice)
        del self.notices[:-_MOST_WAITING]

    def take_notices(self) -> list[Notice]:
        """Return the notices that wait, and forget them."""
        taken = self.notices[:]
        del self.notices[: len(taken)]
        return taken


def notice_of(error: BaseException) -> Notice:
    """Return what may be shown of an error: libraries may quote cells, so only ours speak."""
    if isinstance(error, ModuleNotFoundError):
        error = missing(error) or error
    if isinstance(error, HalfmaskError):
        what, hint = error.at_terminal
        # Options of the command line are no way out of a page.
        return Notice(what, None if hint is None or "--" in hint else hint, "bad")
    if isinstance(error, MemoryError):
        hint = "Give the table as a folder of Parquet files, or fewer columns."
        return Notice("Memory ran out. Nothing was changed.", hint, "bad")
    if isinstance(error, OSError):
        hint = "Check that the folder can be written and that the disk isn't full."
        return Notice("The system refused to read or write a file.", hint, "bad")
    what = f"halfmask failed in a way that it didn't expect ({type(error).__name__})."
    return Notice(what, "Nothing was changed. Undo the last step, or choose another way.", "bad")
