"""Foreign code: what callers bring may fail, and its own words may quote cells."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from halfmask._errors import DataError, HalfmaskError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def foreign(
    failed: str,
    *,
    hint: str | None = None,
    also: tuple[type[BaseException], ...] = (),
    told_as: type[HalfmaskError] = DataError,
    keep_cause: bool = False,
) -> Iterator[None]:
    """Run a model, an encoder, a function or another library of a caller's in this block.

    Notes
    -----
    **Edge cases.** Errors of halfmask pass, which hold no cell; what they were raised from, and
    only hide, is taken from them. ``MemoryError`` passes, too.

    Examples
    --------
    >>> with foreign("The model failed on 3 rows"):
    ...     raise KeyError("somebody's name")
    Traceback (most recent call last):
    ...
    halfmask._errors.DataError: The model failed on 3 rows (KeyError).
    """
    failures: tuple[type[BaseException], ...] = (Exception, *also)
    try:
        yield
    except MemoryError:
        raise
    except HalfmaskError as told:
        if told.__suppress_context__:
            told.__context__ = None
        raise
    except failures as error:
        failure = told_as(f"{failed} ({type(error).__name__}).", hint=hint)
        if keep_cause:
            raise failure from error
        try:
            raise failure from None
        finally:
            failure.__context__ = None  # `from None` only hides it
