"""Requests to a service: sent, sent again where that helps, answered or refused in our words."""

from __future__ import annotations

import json
import math
import ssl
import threading
import time
from dataclasses import dataclass
from secrets import SystemRandom
from typing import TYPE_CHECKING, Any

from halfmask._errors import MissingDependencyError, TrainerError
from halfmask._validation import number_between
from halfmask.trainer.client._flow import Body

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long a client waits, and when it sends a request again.

    Parameters
    ----------
    answer_seconds
        How long a step of a request may take: to send a piece, to answer; to connect, no more
        than 10 s. More than 0. A model that is being made is waited for 300 s at least.
    first_seconds
        The longest wait before the second try; each later one may be twice as long. More than 0.
    max_seconds
        No wait is longer, unless the service asks for more by ``Retry-After``.
    give_up_seconds
        How long after a request's first failure it is tried again; 0 for never. A wait that would
        end later isn't begun.

    Raises
    ------
    ParameterError
        If one is out of range.

    Notes
    -----
    **Guarantees.** Waits are drawn evenly from half of the longest up to it, so that many clients
    that failed at once don't come back at once (full and equal jitter: Brooker, "Exponential
    Backoff and Jitter", 2015). A service's ``Retry-After`` is never undercut.

    Examples
    --------
    >>> waits = [RetryPolicy().wait(tries) for tries in range(4)]
    >>> [round(each, 1) <= 0.1 * 2**tries for tries, each in enumerate(waits)]
    [True, True, True, True]
    >>> RetryPolicy().wait(0, asked=7.0)
    7.0
    """

    answer_seconds: float = 60.0
    first_seconds: float = 0.1
    max_seconds: float = 30.0
    give_up_seconds: float = 300.0

    def __post_init__(self) -> None:
        number_between(
            0,
            math.inf,
            owner="RetryPolicy",
            low_open=True,
            answer_seconds=self.answer_seconds,
            first_seconds=self.first_seconds,
            max_seconds=self.max_seconds,
        )
        number_between(0, math.inf, owner="RetryPolicy", give_up_seconds=self.give_up_seconds)

    def wait(self, tries: int, *, asked: float | None = None) -> float:
        """Return how many seconds to wait after so many failed tries.

        Parameters
        ----------
        tries
            How many there were before the one that just failed: 0 at first.
        asked
            What the service asked for, in seconds.
        """
        longest = min(self.max_seconds, self.first_seconds * 2.0 ** min(tries, 60))
        drawn = SystemRandom().uniform(longest / 2, longest)
        return drawn if asked is None else max(asked, 0.0 if tries == 0 else drawn)


def seconds_of(header: str | None) -> float | None:
    """Return what ``Retry-After`` asks for, in seconds; None if it isn't a number of seconds.

    Examples
    --------
    >>> [seconds_of(each) for each in ("2", "0.25", "tomorrow", "-1", None)]
    [2.0, 0.25, None, None, None]
    """
    try:
        seconds = float(header) if header is not None else math.nan
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


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


def refusal_of(answer: Answer, token: str | None) -> TrainerError:
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


#: Of an answer that isn't predictions: a longer one is not ours.
MAX_BYTES = 1 << 24
#: The statuses of a service, or of what stands before it, that pass.
_PASSING = frozenset({408, 429, 502, 503, 504})
_CONNECTIONS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """A try that failed in a way that may pass."""

    error: TrainerError
    asked: float | None = None


class Transport:
    """Connections to one service; threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None,
        context: ssl.SSLContext,
        retry_policy: RetryPolicy,
        proxy: str | None,
    ) -> None:
        httpx, seconds = _httpx(), retry_policy.answer_seconds
        headers = {"User-Agent": "halfmask", "Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._token = token
        self._retry_policy = retry_policy
        # Nothing of the surroundings: netrc would send a password, a variable choose a proxy.
        self._client = httpx.Client(
            base_url=url,
            headers=headers,
            verify=context,
            timeout=httpx.Timeout(seconds, connect=min(seconds, 10.0)),
            limits=httpx.Limits(max_connections=_CONNECTIONS),
            follow_redirects=False,
            trust_env=False,
            proxy=proxy,
        )
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self.again = 0

    def close(self) -> None:
        """Close all connections."""
        self.stopped.set()
        self._client.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
        harmless: bool = True,
        max_bytes: int = MAX_BYTES,
        stopped: threading.Event | None = None,
        seconds: float = 0.0,
    ) -> Answer:
        """Return what the service answers."""
        began, tries, stop = 0.0, 0, stopped or self.stopped
        while True:
            found = self._once(method, path, body, headers or {}, harmless, max_bytes, seconds)
            if isinstance(found, Answer):
                return found
            now = time.monotonic()
            began = began if tries else now
            delay = self._retry_policy.wait(tries, asked=found.asked)
            if now + delay - began > self._retry_policy.give_up_seconds or stop.wait(delay):
                raise found.error
            tries += 1
            with self._lock:
                self.again += 1

    def json(  # the answer is what JSON holds
        self,
        method: str,
        path: str,
        *,
        value: object = None,
        harmless: bool = True,
        seconds: float = 0.0,
    ) -> Any:  # noqa: ANN401 # any JSON
        """Return the JSON that the service answers."""
        body = None
        if value is not None:
            text = json.dumps(value, allow_nan=False).encode()
            body = Body(buffer=text, kind="application/json")
        answer = self.request(method, path, body=body, harmless=harmless, seconds=seconds)
        return answer.json() if answer.content else None

    def _once(
        self,
        method: str,
        path: str,
        body: Body | None,
        headers: Mapping[str, str],
        harmless: bool,  # noqa: FBT001 # ours
        max_bytes: int,
        seconds: float,
    ) -> Answer | _Failure:
        httpx, retry_policy = _httpx(), self._retry_policy.answer_seconds
        sent: dict[str, Any] = {"headers": dict(headers)}
        if seconds > retry_policy:
            sent["timeout"] = httpx.Timeout(
                retry_policy, connect=min(retry_policy, 10.0), read=seconds
            )
        if body is not None:
            sent["content"] = body.pieces()
            sent["headers"] |= {"Content-Type": body.kind, "Content-Length": str(len(body))}
        try:
            with self._client.stream(method, path, **sent) as response:
                answer = Answer(
                    status=response.status_code,
                    headers=dict(response.headers),
                    content=_read(response, max_bytes),
                )
        except httpx.TransportError as error:
            return _judge_lost_request(error, harmless=harmless)
        except RuntimeError:  # the client was closed meanwhile
            raise TrainerError("The connection to the service was closed.") from None
        if answer.status in _PASSING and (harmless or answer.status in {408, 429, 503}):
            asked = seconds_of(answer.headers.get("retry-after"))
            return _Failure(error=refusal_of(answer, self._token), asked=asked)
        if not 200 <= answer.status < 300:
            raise refusal_of(answer, self._token)
        return answer


def _httpx() -> Any:  # noqa: ANN401 # a module
    try:
        import httpx  # noqa: PLC0415 # an extra
    except ImportError:
        raise MissingDependencyError(
            "Talking to a trainer service takes httpx, which isn't installed.",
            hint="Install it: pip install 'halfmask[client]'.",
        ) from None
    return httpx


def _read(response: httpx.Response, most: int) -> bytes:
    """Return a body of bounded length: the service is another company's."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TrainerError("The service answered in a coding that wasn't asked for.")
    parts: list[bytes] = []
    length = 0
    for part in response.iter_raw():
        length += len(part)
        if length > most:
            raise TrainerError("The service answered at a length that its answer can't have.")
        parts.append(part)
    return b"".join(parts)


def _judge_lost_request(error: httpx.TransportError, *, harmless: bool) -> _Failure:
    """Return a failure that may pass, or raise where it won't, or where it may do harm."""
    httpx = _httpx()
    if any(isinstance(each, ssl.SSLError) for each in _causes(error)):
        raise TrainerError(
            "The service and this client don't accept each other's certificates.",
            hint="Give the authority's certificate, and the client's own if the service wants one.",
        ) from None
    if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        raise TrainerError("The request can't be sent in this form.") from None
    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    late = isinstance(error, httpx.TimeoutException)
    what = TrainerError(
        "The service can't be reached."
        if unsent
        else f"The service {'took too long' if late else 'closed the connection'}.",
        hint="Check the address and that it runs; what was acknowledged stays learned.",
    )
    if not (unsent or harmless):
        raise what from None
    return _Failure(error=what)


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
