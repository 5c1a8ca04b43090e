"""PageGuard: who may ask the workbench for a page, and what each answer forbids the browser."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from html import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: On every answer. With the referrer policy `no-referrer` forms would send ``Origin: null``.
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'; font-src 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: A report is a page with a style of its own: it may draw itself, and nothing else.
REPORT: Final = "/report/"
REPORT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'; sandbox"
)
METHODS: Final = frozenset({"GET", "HEAD", "POST"})
#: Style and script of the pages: they hold nothing of a table, and need no cookie.
STATIC: Final = "/static/"
ENTER: Final = "/enter"
#: A token and the address around it are shorter.
_ENTER_BYTES: Final = 1_024
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>halfmask workbench</title>
<link rel="icon" href="/static/mask.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/workbench.css">
{head}</head>
<body>
<main id="main">
<h1>halfmask workbench</h1>
<p>{what}</p>
<p>{hint}</p>
{form}</main>
</body>
</html>
"""
_SCRIPT: Final = '<script src="/static/enter.js" defer></script>\n'
_FORM: Final = f"""<form method="post" action="{ENTER}" id="enter">
<p><label for="token">Address or token</label>
<input id="token" name="token" autocomplete="off" spellcheck="false" required></p>
<p><button>Open the workbench</button></p>
</form>
"""
_CLOSED: Final = "This page isn't open in this browser yet."
_CLOSED_HINT: Final = "Open the address that the terminal shows, or paste it here."
_USED: Final = (
    "This address was used before, or it isn't the one that the terminal shows. Each address "
    "opens the workbench once, in one browser."
)
_USED_HINT: Final = (
    "Your work is kept. Stop the workbench in the terminal, start it again and open its new "
    "address."
)
_LARGE: Final = "The file is larger than a form may be. Nothing was changed."
_LARGE_HINT: Final = "Go back, and name the file in the terminal: halfmask workbench TABLE."
_FAILED: Final = "halfmask failed in a way that it didn't expect ({})."
_FAILED_HINT: Final = "Go back and choose another way."
_TYPE_IT: Final = "Copy the address that the terminal shows into the browser's address bar."


class PageGuard:
    """Refuses requests that the user's own page or address bar didn't make."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        port: int,
        most_bytes: int,
        working: Callable[[], bool] = lambda: False,
        close: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.app = app
        #: Ends the jobs; the server calls it before it ends.
        self.close = close
        #: What opens the workbench, once; then None.
        self._token: str | None = token
        self._secret = secrets.token_urlsafe(32)
        # Cookies don't know ports: two workbenches need two names.
        self._cookie = f"halfmask-{port}"
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        self._most_bytes = most_bytes
        #: A running job counts as a request.
        self._working = working
        self._clock = clock
        self._last_request = clock()

    @property
    def idle_seconds(self) -> float:
        """How long ago the last request was admitted or a job ran."""
        if self._working():
            self._last_request = self._clock()
        return self._clock() - self._last_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _with_headers(send, scope["path"]))
        else:  # the pages use no websocket
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, path = Headers(scope=scope), scope["path"]
        refused = self._refusal(scope["method"], headers)
        inside = refused is None and self._admits(headers)
        if refused is None and (path, scope["method"]) == (ENTER, "POST"):
            body = await _start_of_body(receive)
            refused = RedirectResponse("/", 303) if inside else self._enter(body)
        elif inside:
            self._last_request = self._clock()
        elif refused is None and not path.startswith(STATIC):
            refused = _page(200 if path == "/" else 401, _CLOSED, _CLOSED_HINT, form=True)
        if refused is None:
            await _BoundedAnswer(self._most_bytes, receive, send).give(self.app, scope)
        else:
            await refused(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        """Return the answer to a request of another site or a wrong kind, or None."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _page(403, "The workbench doesn't answer under this name.", _TYPE_IT)
        if method not in METHODS:
            refused = _page(405, "A page can be read, and a form can be posted.", "Go back.")
            refused.headers["Allow"] = ", ".join(sorted(METHODS))
            return refused
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site not in {None, "same-origin", "none"}:
            return _page(403, "Another site has opened this page.", _TYPE_IT)
        if origin is None:
            own = method != "POST" or site == "same-origin"
        else:
            own = origin.lower() == f"http://{hosts[0].lower()}"
        return None if own else _page(403, "Another site has sent this form.", _TYPE_IT)

    def _admits(self, headers: Headers) -> bool:
        given = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        return _are_equal(given, self._secret)

    def _enter(self, body: bytes) -> Response:
        """Exchange the token for the cookie, once."""
        given = parse_qs(body.decode("latin-1")).get("token", [""])[0].strip()
        if self._token is None or not _are_equal(given.rpartition("#")[2], self._token):
            return _page(403, _USED, _USED_HINT)
        self._token, self._last_request = None, self._clock()
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
        return answer


class _BodyTooLargeError(Exception):
    """Stops an application that reads a body over the limit."""


class _BoundedAnswer:
    """An application's answer to a request whose body is bounded; every failure is in words."""

    def __init__(self, most_bytes: int, receive: Receive, send: Send) -> None:
        self._left = most_bytes
        self._receive, self._send = receive, send
        self._begun = self._ended = self._dropped = False

    async def give(self, app: ASGIApp, scope: Scope) -> None:
        """Answer a request by the application, or say what failed."""
        length, kind = Headers(scope=scope).get("content-length", "0"), ""
        try:
            if length.isdecimal() and int(length) > self._left:
                self._left = -1
            else:
                await app(scope, self._take, self._give)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 # polars' panics; no log gets their words
            kind = type(error).__name__
        if self._left < 0:
            # Browsers read an answer only after they have sent all of the form.
            while not self._ended:
                self._note(await self._receive())
            answer = _page(413, _LARGE, _LARGE_HINT)
        elif kind or self._dropped:
            answer = _page(500, _FAILED.format(kind or "error"), _FAILED_HINT)
        else:
            return
        if not self._begun:
            await answer(scope, self._receive, self._send)

    async def _take(self) -> Message:
        message = await self._receive()
        self._note(message)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise _BodyTooLargeError
        return message

    def _note(self, message: Message) -> None:
        self._ended = not message.get("more_body", False)

    async def _give(self, message: Message) -> None:
        """Send a part of the answer, unless it only explains a failure in a library's words."""
        if not self._begun and (self._left < 0 or message.get("status") == 500):
            self._dropped = True
        if not self._dropped:
            self._begun = True
            await self._send(message)


def _with_headers(send: Send, path: str) -> Send:
    """Return a `send` that puts our headers on an answer, in the place of the application's."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            if path.startswith(REPORT) and message["status"] == 200:  # else it is a page of ours
                headers["Content-Security-Policy"] = REPORT_POLICY
        await send(message)

    return sending


async def _start_of_body(receive: Receive) -> bytes:
    """Return a short body; of a longer one its start, and nothing more is read."""
    body, more = b"", True
    while more and len(body) <= _ENTER_BYTES:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body[:_ENTER_BYTES]


def _are_equal(given: str, wanted: str) -> bool:
    """Compare in a time that says nothing of where the texts differ."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def _page(status: int, what: str, hint: str, *, form: bool = False) -> Response:
    """Return a page that says what is wrong and what to do."""
    head, below = (_SCRIPT, _FORM) if form else ("", "")
    page = _PAGE.format(head=head, what=escape(what), hint=escape(hint), form=below)
    return HTMLResponse(page, status_code=status)
