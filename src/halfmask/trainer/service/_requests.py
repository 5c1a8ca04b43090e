"""What every route needs of its request: a body of bounded size, and the errors of its answer."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from halfmask.trainer.service._access import demand
from halfmask.trainer.service._auth_middleware import TOKEN
from halfmask.trainer.service._schemas import Failed
from halfmask.trainer.store import RefusedError

if TYPE_CHECKING:
    from starlette.types import Message

    from halfmask.trainer.service._service import Service
    from halfmask.trainer.store import Lease, Model, Scope, Token


#: How many times longer a body may be when it is unpacked.
MAX_RATIO = 32
#: Less than this is unpacked whatever the ratio: a short text of one letter is no attack.
SMALL = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a body has to come."""

    seconds: float
    stall_seconds: float
    bytes_per_second: int

    def deadline(self, start: float, now: float, size: int) -> float:
        """Return when more has to come, of a body that began at a time and has so many bytes."""
        late = start + self.stall_seconds + size / self.bytes_per_second
        return min(start + self.seconds, now + self.stall_seconds, late)


async def read_body(request: Request, lease: Lease, *, most: int, pace: Pace) -> list[bytes]:
    """Return the pieces of a body."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 20 and int(length) > most:
        raise _too_long(most)
    packing = request.headers.get("content-encoding", "identity").strip().lower()
    if packing not in {"identity", "gzip"}:
        raise RefusedError(
            "The body is packed in a way that isn't known here.",
            status=415,
            word="media-type",
            hint="Content-Encoding may be gzip.",
        )
    pieces = _Gunzipped(most) if packing == "gzip" else _Plain(most)
    clock, received = asyncio.get_running_loop().time, 0
    start = clock()
    try:
        async with asyncio.timeout_at(pace.deadline(start, start, 0)) as limit:
            async for piece in request.stream():
                before, received = pieces.size, received + len(piece)
                pieces.add(piece)
                lease.take(pieces.size - before)
                limit.reschedule(pace.deadline(start, clock(), received))
    except TimeoutError:
        raise RefusedError(
            "The body didn't come in time.",
            status=408,
            word="timeout",
            hint="Send smaller batches.",
        ) from None
    return pieces.whole()


class _Plain:
    """A body as it comes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self._most:
            raise _too_long(self._most)
        self._pieces.append(piece)

    def whole(self) -> list[bytes]:
        return self._pieces


class _Gunzipped(_Plain):
    """A body that is unpacked as it comes, and no further than it may be."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._packed = 0
        self._gunzip = zlib.decompressobj(wbits=31)

    def add(self, piece: bytes) -> None:
        self._packed += len(piece)
        # One byte more than may be is enough to know.
        allowed = min(self._most, max(SMALL, MAX_RATIO * self._packed)) - self.size + 1
        try:
            super().add(self._gunzip.decompress(piece, max_length=allowed))
        except zlib.error:
            raise _gzip_error() from None
        if self._gunzip.unconsumed_tail or self.size > max(SMALL, MAX_RATIO * self._packed):
            raise RefusedError(
                "The body is packed more tightly than hashed rows can be.",
                status=413,
                word="too-large",
                hint="Send it in smaller batches, or as it is.",
            )

    def whole(self) -> list[bytes]:
        if not self._gunzip.eof or self._gunzip.unused_data:
            raise _gzip_error()
        return super().whole()


def _too_long(most: int) -> RefusedError:
    return RefusedError(
        f"The body is longer than {most:,} bytes.",
        status=413,
        word="too-large",
        hint="Send it in smaller batches.",
    )


def _gzip_error() -> RefusedError:
    return RefusedError("The body isn't whole gzip.", status=400, word="bad-request")


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
                return await answer(Request(request.scope, _receive_once(body)))
            finally:
                lease.give_back()

        return bounded


def _receive_once(body: bytes) -> Callable[[], Awaitable[Message]]:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _describe_failures(**why: str) -> dict[int | str, dict[str, Any]]:
    return {int(status[1:]): {"model": Failed, "description": it} for status, it in why.items()}


#: What every route with a token may answer.
FAILURES = _describe_failures(
    s400="The request can't be read.",
    s401="No token, or none that is of use.",
    s403="The token hasn't the scope, or has used up its quota.",
    s404="The tenant has no such model or snapshot.",
    s405="The method isn't one of this path.",
    s409="The name is taken, or there are as many as may be.",
    s422="The body has a value that isn't allowed.",
    s429="Too fast, or the trainer has too much to do: wait for Retry-After.",
    s503="The trainer is starting or stopping, or the model has stopped.",
    s507="The disk is full.",
)
#: What those may answer that read rows.
BODY_FAILURES = _describe_failures(
    s408="The body took too long.",
    s413="The body is too long, packed or unpacked.",
    s415="The body is of a kind that isn't taken.",
)


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    return cast("Service", request.app.state.service)


def token_of(request: Request) -> Token:
    """Return the token of a request; `AuthMiddleware` has checked it."""
    return cast("Token", request.scope[TOKEN])


def admit_request(request: Request, scope: Scope) -> tuple[Service, Token]:
    """Return the service and the token of a request, which must have a scope."""
    token = token_of(request)
    demand(token, scope)
    return service_of(request), token


def admit_for_model(request: Request, name: str, scope: Scope) -> tuple[Service, Token, Model]:
    """Return these and a model of the token's tenant."""
    service, token = admit_request(request, scope)
    return service, token, service.store.model(token.tenant, name)


async def body_of(request: Request, lease: Lease, *, most: int) -> list[bytes]:
    """Return the pieces of a request's body, read at the pace that the service asks for."""
    options = service_of(request).options
    pace = Pace(
        seconds=options.body_seconds,
        stall_seconds=options.stall_seconds,
        bytes_per_second=options.body_bytes_per_second,
    )
    try:
        return await read_body(request, lease, most=most, pace=pace)
    except ClientDisconnect:
        raise RefusedError(
            "The connection ended before the body did.", status=400, word="bad-request"
        ) from None
