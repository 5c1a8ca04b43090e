"""RefusedError: a request that a trainer refuses, with its HTTP status."""

from __future__ import annotations

from halfmask._errors import TrainerError


class RefusedError(TrainerError):
    """A refused request, with a status and a code for the client.

    Parameters
    ----------
    what
        One sentence without a name, a path or a value that a client sent.
    status
        The status of HTTP: 4xx where the client can do something, 5xx where the trainer has to.
    word
        A word for programs, stable between versions.
    hint
        The one action that is most likely to help.
    retry_after
        Seconds after which the same request may succeed; None where it won't.

    Examples
    --------
    >>> refusal = RefusedError("There is no such model.", status=404, word="not-found")
    >>> refusal.status, refusal.word
    (404, 'not-found')
    """

    def __init__(
        self,
        what: str,
        *,
        status: int,
        word: str,
        hint: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(what, hint=hint, status=status)
        self.status: int = status
        self.word = word
        self.retry_after = retry_after
