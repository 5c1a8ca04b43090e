"""Foreign code: it fails, and its own words may quote cells; or it isn't installed.

The base installation verifies, and reads releases in Parquet. Other tables are read with pyarrow,
and most jobs need a compiler and scikit-learn: they are extras of the distribution.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from halfmask._errors import DataError, HalfmaskError, MissingDependencyError

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


#: What is imported, what it is called where packages are installed, and the extra that has it.
OPTIONAL: Final = {
    "adbc_driver_postgresql": ("adbc-driver-postgresql", "postgres"),
    "dp_accounting": ("dp-accounting", "dp"),
    "duckdb": ("duckdb", "duckdb"),
    "faker": ("faker", "pii"),
    "fastexcel": ("fastexcel", "excel"),
    "h3": ("h3", "geo"),
    "highspy": ("highspy", "tables"),
    "llvmlite": ("numba", "protect"),
    "numba": ("numba", "protect"),
    "opacus": ("opacus", "dp-torch"),
    "opendp": ("opendp", "dp"),
    "phonenumbers": ("phonenumberslite", "pii"),
    "presidio_analyzer": ("presidio-analyzer", "presidio"),
    "pyarrow": ("pyarrow", "describe"),
    "pyogrio": ("pyogrio", "geo-files"),
    "pyproj": ("pyproj", "geo-files"),
    "pyreadstat": ("pyreadstat", "statfiles"),
    "python_multipart": ("python-multipart", "workbench"),
    "scipy": ("scipy", "protect"),
    "shapely": ("shapely", "geo"),
    "sklearn": ("scikit-learn", "protect"),
    "spacy": ("spacy", "presidio"),
    "sqlglot": ("sqlglot", "dp"),
    "starlette": ("starlette", "workbench"),
    "stdnum": ("python-stdnum", "pii"),
    "threadpoolctl": ("threadpoolctl", "protect"),
    "torch": ("torch", "dp-torch"),
    "uvicorn": ("uvicorn", "workbench"),
    "xlsxwriter": ("xlsxwriter", "excel"),
}


def need(*modules: str) -> None:
    """Raise if a library that a job needs isn't installed, before the job has begun.

    Examples
    --------
    >>> need("numba", "sklearn")
    """
    absent = [name for name in modules if find_spec(name) is None]
    if absent:
        raise _without(absent)


def missing(error: ModuleNotFoundError) -> MissingDependencyError | None:
    """Return what to say of an import that failed, or None if no extra would have helped.

    Examples
    --------
    >>> print(missing(ModuleNotFoundError(name="sklearn.tree")).what)
    This needs scikit-learn, which isn't installed.
    """
    absent = (error.name or "").partition(".")[0]
    return _without([absent]) if absent in OPTIONAL else None


def _without(absent: list[str]) -> MissingDependencyError:
    packages = dict.fromkeys(OPTIONAL[name][0] for name in absent)
    extras = dict.fromkeys(OPTIONAL[name][1] for name in absent)
    are = "isn't" if len(packages) == 1 else "aren't"
    return MissingDependencyError(
        f"This needs {', '.join(packages)}, which {are} installed.",
        hint=f"Install the extra that has it: pip install 'halfmask[{','.join(extras)}]'.",
    )
