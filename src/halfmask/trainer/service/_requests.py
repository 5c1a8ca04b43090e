"""What every route needs of its request, and the errors it may answer with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from starlette.requests import ClientDisconnect

from halfmask.trainer.service._auth_middleware import TOKEN
from halfmask.trainer.service._bodies import Pace, read_body
from halfmask.trainer.service._schemas import Failed
from halfmask.trainer.store import RefusedError

if TYPE_CHECKING:
    from fastapi import Request

    from halfmask.trainer.service._service import Service
    from halfmask.trainer.store import Lease, Token


def _described(**why: str) -> dict[int | str, dict[str, Any]]:
    return {int(status[1:]): {"model": Failed, "description": it} for status, it in why.items()}


#: What every route with a token may answer.
FAILURES = _described(
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
BODY_FAILURES = _described(
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
