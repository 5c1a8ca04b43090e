"""FastPath: bypasses FastAPI for the two most frequent routes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.requests import Request

if TYPE_CHECKING:
    from fastapi import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

#: A route of rows: the name of a model, the request, and its idempotency key.
Rows: TypeAlias = Callable[[str, Request, str | None], Awaitable["Response"]]

_PATH = re.compile(r"(/v1/models/)([^/]{1,64})(/[a-z]+)")
_KEY = re.compile(rb"[\x21-\x7e]{1,128}")


class FastPath:
    """Calls the routes of rows itself, and passes everything else to FastAPI.

    FastAPI's matching, dependencies and exits take more of the event loop than reading a batch, and
    predictions wait for it.

    Guarantees
    ----------
    A response is the one that FastAPI would give.
    """

    def __init__(self, app: ASGIApp, *, routes: Mapping[str, tuple[Any, Rows]]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        found = None
        if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
            found = _PATH.fullmatch(scope["path"])
        route = found and self._routes.get(f"{found[1]}{{name}}{found[3]}")
        keys = [value for name, value in scope.get("headers", ()) if name == b"idempotency-key"]
        if found and route and (not keys or (len(keys) == 1 and _KEY.fullmatch(keys[0]))):
            scope["route"], answer = route
            key = keys[0].decode("ascii") if keys else None
            response = await answer(found[2], Request(scope, receive), key)
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)
