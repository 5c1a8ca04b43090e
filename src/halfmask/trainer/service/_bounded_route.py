"""Routes with a short JSON body, which is read within bounds before it is parsed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from halfmask.trainer.service._requests import body_of, service_of, token_of

if TYPE_CHECKING:
    from starlette.types import Message

#: A body with a thousand trusted clients has a third of this.
MAX_BYTES = 1 << 16


class BoundedBodyRoute(APIRoute):
    """A route that reads its body within bounds of length and time.

    FastAPI reads a body that it is to check to its end, however long it is and takes.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            if request.method != "POST":
                return await answer(request)
            service, token = service_of(request), token_of(request)
            lease = service.backlog.lease(client=token.id, tenant=token.tenant)
            try:
                body = b"".join(await body_of(request, lease, most=MAX_BYTES))
                return await answer(Request(request.scope, _given(body)))
            finally:
                lease.give_back()

        return bounded


def _given(body: bytes) -> Callable[[], Awaitable[Message]]:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
