"""Answer: a service's response, and the error of a refused request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask._errors import TrainerError

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_LETTERS = 300
_MESSAGES = {
    400: ("The service doesn't understand the request", None),
    401: ("The service doesn't know the token", "Ask for a token, or look for one that expired."),
    403: ("The token doesn't allow this", "Ask for a token with the scope that it takes."),
    404: (
        "The service has no such model, for this token",
        "Ask the operator for the model's name; a token reaches models of its tenant alone.",
    ),
    408: ("The service had no time to wait for the rows", "Send fewer rows in a batch."),
    409: ("The service has something else under that name", None),
    413: ("The request is larger than the service takes", "Send fewer rows in a batch."),
    415: ("The service doesn't take this kind of request", None),
    422: ("The service doesn't accept what was sent", None),
    429: ("The service is asked for more than it gives", "Wait, or ask for a larger quota."),
    503: ("The service is too busy, or is being started", "Try again later."),
    507: (
        "The disk of the service is full",
        "Nothing that was acknowledged is lost; inform the operator.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response of a service; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:  # noqa: ANN401 # what JSON holds
        """Return the JSON of an answer."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise TrainerError(
                "The service's answer isn't JSON.",
                hint="Check the address: something else may answer there.",
                status=self.status,
            ) from None


def refused(answer: Answer, token: str | None) -> TrainerError:
    """Return the error of an answer that isn't what was asked for.

    The service isn't trusted: one printable line of its message is shown, unless it holds the
    token.
    """
    what, hint = _MESSAGES.get(answer.status, ("The service didn't do it", None))
    try:
        found = json.loads(answer.content)
    except (ValueError, RecursionError):
        found = None
    payload = found if isinstance(found, dict) else {}
    words, code = _shown(payload.get("error"), token), _shown(payload.get("code"), token)
    message = (
        f"{what} ({answer.status}). Its message: {words}."
        if words
        else f"{what} ({answer.status})."
    )
    return TrainerError(message, hint=hint, status=answer.status, word=code or None)


def _shown(words: object, token: str | None) -> str:
    """Return a service's message in printable form."""
    if not isinstance(words, str) or (token is not None and token in words):
        return ""
    line = " ".join(words.split())
    shown = "".join(each if each.isprintable() else "?" for each in line)[:_MAX_LETTERS]
    return shown.rstrip(". ")
