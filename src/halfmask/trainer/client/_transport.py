"""Requests to a service: sent, sent again where that helps, answered or refused in our words."""

from __future__ import annotations

import json
import ssl
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask._errors import MissingDependencyError, TrainerError
from halfmask.trainer.client._body import Body
from halfmask.trainer.client._refusals import Answer, refused
from halfmask.trainer.client._retry_policy import RetryPolicy, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx

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
            return _lost(error, harmless=harmless)
        except RuntimeError:  # the client was closed meanwhile
            raise TrainerError("The connection to the service was closed.") from None
        if answer.status in _PASSING and (harmless or answer.status in {408, 429, 503}):
            asked = seconds_of(answer.headers.get("retry-after"))
            return _Failure(error=refused(answer, self._token), asked=asked)
        if not 200 <= answer.status < 300:
            raise refused(answer, self._token)
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


def _lost(error: httpx.TransportError, *, harmless: bool) -> _Failure:
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
