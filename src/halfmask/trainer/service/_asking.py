"""What every route asks of its request, and what each may answer when it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from halfmask.trainer.service._door import TOKEN
from halfmask.trainer.service._told import Failed

if TYPE_CHECKING:
    from fastapi import Request

    from halfmask.trainer.service._service import Service
    from halfmask.trainer.store import Token

__all__ = ["BODY_FAILURES", "FAILURES", "service_of", "token_of"]


def _said(**why: str) -> dict[int | str, dict[str, Any]]:
    return {int(status[1:]): {"model": Failed, "description": it} for status, it in why.items()}


#: What every route with a token may answer.
FAILURES = _said(
    s400="The request can't be read.",
    s401="No token, or none that is of use.",
    s403="The token hasn't the scope, or has used up its quota.",
    s404="The tenant has no such model or snapshot.",
    s405="The method isn't one of this path.",
    s409="The name is taken, or there are as many as may be.",
    s422="The body says something that can't be.",
    s429="Too fast, or the trainer has too much to do: wait for Retry-After.",
    s503="The trainer is starting or stopping, or the model has stopped.",
    s507="The disk is full.",
)
#: What those may answer that read rows.
BODY_FAILURES = _said(
    s408="The body took too long.",
    s413="The body is too long, packed or unpacked.",
    s415="The body is of a kind that isn't taken.",
)


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    return cast("Service", request.app.state.service)


def token_of(request: Request) -> Token:
    """Return the token of a request; the door has checked it."""
    return cast("Token", request.scope[TOKEN])
