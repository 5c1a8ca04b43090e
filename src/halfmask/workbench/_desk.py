"""The desk: what every page works on, and what is said at the top of the next page."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from halfmask.workbench._notices import Notice as Notice  # noqa: PLC0414, TC001 # pages take both here
from halfmask.workbench._notices import notice_of as notice_of  # noqa: PLC0414 # as above

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.workbench._jobs import Jobs
    from halfmask.workbench._project import Project

#: Answers whose notices wait for their page; one that nobody opens must not gather them for ever.
_MOST_WAITING: Final = 20


class _Said(threading.local):
    """What was said in answer to one request, which one thread gives."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []


@dataclass(slots=True)
class Desk:
    """The project, its jobs, and the notices that the next page shows."""

    project: Project
    jobs: Jobs
    lock: threading.RLock = field(default_factory=threading.RLock)
    #: What pages keep from one request to the next, by name.
    shelf: dict[str, object] = field(default_factory=dict)
    _said: _Said = field(default_factory=_Said)
    _waiting: dict[str, list[Notice]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def say(self, notice: Notice) -> None:
        """Show a notice on this page, or on the one that an action leads to."""
        self._said.notices.append(notice)

    def keep_notices(self) -> str:
        """Keep what was said for the page that is opened by this name; ``""`` for nothing."""
        notices, self._said.notices = self._said.notices, []
        if not notices:
            return ""
        name = str(next(self._numbers))
        self._waiting[name] = notices
        for older in list(self._waiting)[:-_MOST_WAITING]:
            self._waiting.pop(older, None)
        return name

    def take_notices(self, name: str) -> list[Notice]:
        """Return the notices of a name and what was said for this page, and forget them."""
        notices, self._said.notices = self._said.notices, []
        return [*self._waiting.pop(name, ()), *notices]
