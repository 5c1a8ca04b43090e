"""The application: pages by name, their actions, and what every page has around it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from halfmask import __version__
from halfmask._errors import HalfmaskError
from halfmask.claims import REPORT_NAME
from halfmask.claims.manifest import released_file
from halfmask.plots.svg import without_controls
from halfmask.workbench._desk import Desk
from halfmask.workbench._guard import PageGuard
from halfmask.workbench._jobs import Jobs
from halfmask.workbench._notices import Notice, notice_of
from halfmask.workbench._page import Action, Fields, Page, PageAnswer, Upload
from halfmask.workbench._project import Project
from halfmask.workbench._releases import release_named
from halfmask.workbench.pages import PAGES, page_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

#: Of one upload; a larger table is named in the terminal.
MOST_BYTES: Final = 4 << 30
#: How long an action waits for the one before it.
PATIENCE = 20.0
_STATIC: Final = Path(__file__).parent / "static"
_MISSING_TABLE: Final = Notice("No table is open.", "Choose one on the page Data.", "bad")
_MISSING_POLICY: Final = Notice("There is no policy.", "Make one on the page Columns.", "bad")
_NO_PAGE: Final = Notice("There is no such page.", "Choose one above.", "bad")
_NO_ACTION: Final = Notice("There is no such action.", None, "bad")
_NO_REPORT: Final = Notice("The release has no report.", None, "bad")
_TOO_MANY: Final = Notice(
    "The form can't be read: it has too many files or fields.", "Drop one zip of them.", "bad"
)
_STALE: Final = Notice(
    "The policy has changed since the page was opened. Nothing was done.",
    "This is how it is now: choose again.",
    "bad",
)
_BUSY: Final = Notice(
    "The step before this one isn't done yet. Nothing was changed.",
    "Wait and try again. If it never ends, stop the workbench in the terminal by Ctrl+C.",
    "bad",
)

_Given = TypeVar("_Given")


def create_workbench(
    folder: Path, table: str | None, policy: Path | None, *, token: str, port: int
) -> PageGuard:
    """Return the guarded application for a folder."""
    project = Project(folder, table, policy)
    desk = Desk(project, Jobs(project.hidden / "jobs"))
    _clear(desk)
    pages = Pages(desk)
    routes = [
        Mount("/static", StaticFiles(directory=_STATIC)),
        Route("/", pages.start),
        Route("/report/{name}", pages.report),
        Route("/{page}", pages.show),
        Route("/{page}/{action}", pages.act, methods=["POST"]),
    ]
    app = Starlette(routes=routes)
    app.state.desk = desk
    return PageGuard(
        app,
        token=token,
        port=port,
        most_bytes=MOST_BYTES,
        working=lambda: any(each.is_running for each in desk.jobs.all()),
        close=desk.jobs.cancel_own,
    )


def _clear(desk: Desk) -> None:
    """Remove files of tables that a workbench which was killed has left, if no other is open."""
    hidden = desk.project.hidden
    lock = os.open(hidden / "open", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until the process ends
    except OSError:
        os.close(lock)
        return
    ended = [job.folder / "received" for job in desk.jobs.all() if not job.is_running]
    names = ("waiting", "downloads", "upload-*", "received-*")
    for each in [*ended, *(found for name in names for found in hidden.glob(name))]:
        shutil.rmtree(each, ignore_errors=True)


class Pages:
    """Answers requests: a page is shown, an action is done and leads to a page."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._environment = _environment()

    async def start(self, _: Request) -> Response:
        """Lead to where the work goes on."""
        project = self.desk.project
        to = "data" if not project.has_table else "protect" if project.has_policy else "columns"
        return RedirectResponse(f"/{to}", 303)

    async def show(self, request: Request) -> Response:
        """Show a page."""
        page = page_named(request.path_params["page"])
        if page is None:
            return self._failed(_NO_PAGE, 404)
        return await _in_thread(partial(self._shown, page, dict(request.query_params)))

    def _shown(self, page: Page, query: dict[str, str]) -> Response:
        said = query.pop("said", "")
        project = self.desk.project
        try:
            if page.needs and not project.has_table:
                return self._failed(_MISSING_TABLE, 200, page, said)
            if page.needs == "policy" and not project.has_policy:
                return self._failed(_MISSING_POLICY, 200, page, said)
            return self._html(page.template, 200, page, said, **page.show(self.desk, query))
        except Exception as error:  # noqa: BLE001 # every error gets a page in words
            return self._failed(notice_of(error), 422, page, said)

    async def report(self, request: Request) -> Response:
        """Show the report of a release: a page of its own, to which the guard allows no script."""
        try:
            folder = release_named(self.desk.project.folder, request.path_params["name"])
        except HalfmaskError as error:
            return self._failed(notice_of(error), 404)
        report = released_file(folder, REPORT_NAME)
        if report is None:
            return self._failed(_NO_REPORT, 404)
        return FileResponse(report, media_type="text/html")

    async def act(self, request: Request) -> Response:
        """Do what a form asks for, and lead to a page."""
        page = page_named(request.path_params["page"])
        name = request.path_params["action"]
        common = {"undo": _undo, "redo": _redo}
        action = None if page is None else page.actions.get(name) or common.get(name)
        if page is None or action is None:
            return self._failed(_NO_ACTION, 404)
        hidden = self.desk.project.hidden
        # The files of a form go when it is answered.
        with tempfile.TemporaryDirectory(prefix="upload-", dir=hidden) as folder:
            try:
                fields = await _fields_of(request, Path(folder))
            except HTTPException:
                return self._failed(_TOO_MANY, 400, page)
            return await _in_thread(partial(self._done, page, action, fields))

    def _done(self, page: Page, action: Action, fields: Fields) -> Response:
        desk, answer = self.desk, PageAnswer()
        if not desk.lock.acquire(timeout=PATIENCE):
            desk.say(_BUSY)
            return self._led(page, answer)
        try:
            if fields.text("version") == desk.project.stamp:
                answer = action(desk, fields) or answer
            else:
                desk.say(_STALE)
        except Exception as error:  # noqa: BLE001 # as above
            desk.say(notice_of(error))
            # Forms say where the page was in fields that begin with ``at-``.
            places = {name: texts[0] for name, texts in fields.texts.items()}
            query = {name[3:]: it for name, it in places.items() if name.startswith("at-")}
            answer = PageAnswer(query=query)
        finally:
            desk.lock.release()
        return self._led(page, answer)

    def _led(self, page: Page, answer: PageAnswer) -> Response:
        if answer.file is not None:
            after = BackgroundTask(_remove, answer.file) if answer.is_passing else None
            return FileResponse(answer.file, filename=answer.file.name, background=after)
        if answer.notice:
            self.desk.say(Notice(answer.notice))
        said = self.desk.keep_notices()
        query = dict(answer.query) | ({"said": said} if said else {})
        return RedirectResponse(f"/{answer.to or page.name}?{urlencode(query)}".rstrip("?"), 303)

    def _failed(
        self, notice: Notice, status: int, page: Page | None = None, said: str = ""
    ) -> Response:
        return self._html("failed.html", status, page, said, failure=notice)

    def _html(
        self,
        template: str,
        status: int,
        page: Page | None,
        said: str,
        **context: Any,  # noqa: ANN401 # what templates take
    ) -> Response:
        project = self.desk.project
        text = self._environment.get_template(template).render(
            page=page,
            pages=PAGES,
            project=project,
            history=project.history,
            notices=self.desk.take_notices(said),
            halfmask=__version__,
            **context,
        )
        return HTMLResponse(text, status)


async def _in_thread(work: Callable[[], _Given]) -> _Given:
    """Work in a thread that keeps neither the server nor the process: a read may never end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Given] = loop.create_future()

    def give(result: _Given | None, error: BaseException | None) -> None:
        if done.done():  # who asked has gone
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type] # there is one if there is no error

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 # polars' panics, too
            error = raised
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(give, result, error)

    threading.Thread(target=run, daemon=True).start()
    return await done


@cache
def _environment() -> Environment:
    """Return what renders pages; each template is compiled once in a process."""
    found = Environment(
        loader=PackageLoader("halfmask.workbench"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["percent"] = lambda share: f"{share:.1%}"
    found.filters["count"] = lambda number: f"{number:,}"
    # Marks that turn the direction of text would let a cell rewrite the words around it.
    found.filters["plain"] = lambda value: without_controls(str(value))
    return found


def _undo(desk: Desk, _: Fields) -> PageAnswer:
    undone = desk.project.undo()
    return PageAnswer(notice="Nothing to undo." if undone is None else f"Undone: {undone}.")


def _redo(desk: Desk, _: Fields) -> PageAnswer:
    done = desk.project.redo()
    return PageAnswer(notice="Nothing to redo." if done is None else f"Done again: {done}.")


async def _fields_of(request: Request, folder: Path) -> Fields:
    texts: dict[str, list[str]] = {}
    uploads: dict[str, list[Upload]] = {}
    async with request.form(max_files=100, max_fields=20_000) as form:
        for number, (name, value) in enumerate(form.multi_items()):
            if not isinstance(value, UploadFile):
                texts.setdefault(name, []).append(value)
            elif value.filename:
                kept = await _in_thread(partial(_keep, value, folder / str(number)))
                uploads.setdefault(name, []).append(kept)
    return Fields(texts, uploads)


def _remove(file: Path) -> None:
    """Remove a file that was sent, and its folder if that held nothing else."""
    file.unlink(missing_ok=True)
    with suppress(OSError):
        file.parent.rmdir()


def _keep(upload: UploadFile, where: Path) -> Upload:
    with where.open("xb") as file:
        where.chmod(0o600)
        shutil.copyfileobj(upload.file, file)
    return Upload(Path((upload.filename or "").replace("\\", "/")).name, where)
