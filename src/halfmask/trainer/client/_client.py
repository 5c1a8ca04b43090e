"""A trainer service, seen from home."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from halfmask._errors import ParameterError, TrainerError
from halfmask._progress import silent
from halfmask._validation import integer_at_least, one_of
from halfmask.trainer.client._address import check_token, checked_url, tls_context
from halfmask.trainer.client._flow import place_batches
from halfmask.trainer.client._journal import Journal
from halfmask.trainer.client._model_admin import ModelAdmin, path_of
from halfmask.trainer.client._sending import Pushed, predict_batches, push_batches, without_labels
from halfmask.trainer.client._transport import RetryPolicy, Transport
from halfmask.trainer.client.content_key import work_name

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from halfmask._progress import Progress
    from halfmask.hashing import HashedRows
    from halfmask.trainer.client._flow import Compression

#: Two or three megabytes of 39 features.
BATCH_ROWS = 4096
_MAX_AT_ONCE = 32


class TrainerClient(ModelAdmin):
    """A client of a trainer service: make models, push rows, predict.

    Parameters
    ----------
    url
        Where the service is, such as ``"https://trainer.example:8443"``. Over ``http`` only this
        machine is talked to, unless ``plain_http``.
    token
        The bearer token that the service knows the client by.
    verify
        Who vouches for the service's certificate: ``True`` for the authorities that the
        system trusts, or a file in PEM. Verification can't be turned off.
    certificate
        The client's own certificate for mutual TLS: a file in PEM, or the certificate's and the
        key's, the key without a passphrase.
    retry_policy
        How long it waits for an answer, and when a request is sent again.
    compression
        Of the rows on their way: ``"none"``, ``"lz4"`` or ``"zstd"``. Hashed indices hardly
        compress; it helps thin lines.
    plain_http
        Whether a service on another machine may be talked to without TLS. Everybody on the way
        then reads the token and the rows.
    proxy
        The address of a proxy. None is taken from the surroundings, nor a password.

    Raises
    ------
    ParameterError
        If one is out of range, or a certificate can't be read.
    MissingDependencyError
        If httpx isn't installed: the extra ``client``.

    Notes
    -----
    **Guarantees.** The client sends what `HashedRows` holds, a key of its content for
    each batch, the model's name and settings, and the token in one header. No name of a column, no
    category, no key and nothing of a vault can: they aren't known here. The token is in no error
    and no ``repr``. Redirects aren't followed. The service's answers are checked before they are
    used, and bounded in length.

    **Edge cases.** A batch whose answer was lost is sent again, and the service knows by its key
    that it has learned from it: see `push`. Threads may share a client.

    Examples
    --------
    >>> client = TrainerClient("https://trainer.example", token="a-token-of-ours")
    >>> client
    TrainerClient('https://trainer.example')
    >>> TrainerClient("http://trainer.example", token="a-token-of-ours")
    Traceback (most recent call last):
    ...
    halfmask._errors.ParameterError: The address of a service on another machine must begin with
    https.
    <BLANKLINE>
    Hint: By http everybody on the way reads the token and the rows; plain_http allows it.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        verify: bool | str | Path = True,
        certificate: str | Path | Sequence[str | Path] | None = None,
        retry_policy: RetryPolicy | None = None,
        compression: Compression = "none",
        plain_http: bool = False,
        proxy: str | None = None,
    ) -> None:
        one_of(("none", "lz4", "zstd"), owner="TrainerClient", compression=compression)
        check_token(token)
        self._url = checked_url(url, plain_http=plain_http)
        self._compression: Compression = compression
        self._transport = Transport(
            self._url,
            token=token,
            context=tls_context(verify, certificate),
            retry_policy=retry_policy or RetryPolicy(),
            proxy=proxy,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    @property
    def sent_again(self) -> int:
        """How many requests had to be sent again so far."""
        return self._transport.again

    def push(
        self,
        name: str,
        batches: Iterable[HashedRows],
        *,
        stream: str = "",
        batch_rows: int = BATCH_ROWS,
        in_flight: int = 1,
        journal: str | Path | None = None,
        rows: int | None = None,
        progress: Progress | None = None,
    ) -> Pushed:
        """Let a model learn from hashed rows.

        Parameters
        ----------
        name
            The model's.
        batches
            The rows, with labels, in batches of any size; read once, as they are needed.
        stream
            A word for these rows: the same rows at the same place of the same stream are learned
            from once. Give another word to learn from them again. It must not hold a secret.
        batch_rows
            How many rows one request has, at least 1.
        in_flight
            How many requests are under way at once, 1 to 32. With 1 the model learns in the
            order of the rows; with more, batches may overtake each other.
        journal
            A file that remembers what was acknowledged, made if it isn't there. After a break the
            same call goes on behind it.
        rows
            How many there will be, where it is known: only for ``progress``.
        progress
            Called with the stage and the fraction that is done.

        Returns
        -------
        Pushed
            How many rows there were, and what was done with them.

        Raises
        ------
        TrainerError
            If the service refuses a batch, or can't be reached until it is given up. What was
            acknowledged stays learned.
        DataError
            If the journal is of other work, or of other rows than are there now.

        Notes
        -----
        **Guarantees.** When it returns, the service has acknowledged every row, so that it is on
        the service's disk. Whatever breaks or is killed, the same call (same rows, stream and
        ``batch_rows``, same token) sends what is missing, and no row is learned from twice: each
        batch has a key that follows from its content and its place, and the service learns from
        a key once. The journal only saves the sending.

        **Edge cases.** Two batches that hold the same rows at the same place of two sources count
        as one, unless they are of different streams. Without rows nothing is sent. A model doesn't
        learn a batch with which learning diverges; `metrics` counts its rows as ``skipped_rows``.
        """
        _check(batch_rows=batch_rows, in_flight=in_flight)
        report = progress or silent
        with ExitStack() as stack:
            opened = self._journal(stack, journal, "push", name, stream, batch_rows)
            total = Pushed(rows=0, sent=0, resumed=0, known=0)
            for done in push_batches(
                self._transport,
                path_of(name, "examples"),
                place_batches(batches, model=name, stream=stream, n_rows=batch_rows),
                in_flight=in_flight,
                compression=self._compression,
                journal=opened,
            ):
                total = total.and_(done)
                report("pushing", min(1.0, total.rows / rows) if rows else None)
        return total

    def predict(
        self,
        name: str,
        batches: Iterable[HashedRows],
        *,
        batch_rows: int = BATCH_ROWS,
        in_flight: int = 1,
        journal: str | Path | None = None,
        rows: int | None = None,
        progress: Progress | None = None,
    ) -> Generator[NDArray[np.float32]]:
        """Yield a model's predictions, batch by batch, in the order of the rows.

        Parameters
        ----------
        name
            The model's.
        batches
            The rows, without labels, in batches of any size; read once, as they are needed.
        batch_rows, in_flight, rows, progress
            As of `push`. The order is kept whatever is in flight. With one in flight, rows are
            made while none is; with more, at the same time.
        journal
            A file that remembers what was answered. After a break the same call takes from it
            what is there, and asks for the rest. It holds the predictions: keep it at home.

        Yields
        ------
        Of each batch of ``batch_rows`` an array of a number for each row, or of a row of numbers
        where the model is a softmax: one for each class.

        Raises
        ------
        TrainerError
            As of `push`, or if an answer isn't one finite number for each that was asked for.
        DataError
            As of `push`.

        Notes
        -----
        **Guarantees.** Labels aren't sent. Memory doesn't grow with the rows.

        **Edge cases.** A model that learns meanwhile answers each request as it is then.
        """
        _check(batch_rows=batch_rows, in_flight=in_flight)
        return self._predictions(
            name,
            (without_labels(each) for each in batches),
            batch_rows=batch_rows,
            in_flight=in_flight,
            journal=journal,
            report=lambda done: (progress or silent)(
                "predicting", min(1.0, done / rows) if rows else None
            ),
        )

    def _predictions(
        self,
        name: str,
        bare: Iterable[HashedRows],
        *,
        batch_rows: int,
        in_flight: int,
        journal: str | Path | None,
        report: Callable[[int], None],
    ) -> Generator[NDArray[np.float32]]:
        done = 0
        with ExitStack() as stack:
            opened = self._journal(stack, journal, "predict", name, "", batch_rows)
            for found in predict_batches(
                self._transport,
                path_of(name, "predict"),
                place_batches(bare, model=name, stream="", n_rows=batch_rows),
                in_flight=in_flight,
                compression=self._compression,
                journal=opened,
            ):
                done += len(found)
                report(done)
                yield found

    def _journal(
        self,
        stack: ExitStack,
        where: str | Path | None,
        work: str,
        name: str,
        stream: str,
        batch_rows: int,
    ) -> Journal | None:
        if where is None:
            return None
        target = work_name(work, self._url, name, stream)
        made = self._made(name)
        return stack.enter_context(Journal(where, work=target, batch_rows=batch_rows, made=made))

    def _made(self, name: str) -> float | None:
        """Return when a model was made, if the token may know it."""
        try:
            made = self.model(name).info.get("created")
        except TrainerError as error:
            if error.status == 403:
                return None
            raise
        return made if isinstance(made, float | int) else None


def _check(*, batch_rows: int, in_flight: int) -> None:
    integer_at_least(1, owner="TrainerClient", batch_rows=batch_rows, in_flight=in_flight)
    if in_flight > _MAX_AT_ONCE:
        raise ParameterError(
            f"The 'in_flight' parameter of TrainerClient must be at most {_MAX_AT_ONCE}."
        )
