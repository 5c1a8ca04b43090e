"""Libraries that verify and describe do without: what is said where one isn't installed.

The base installation reads, describes and verifies. The other jobs need a compiler and
scikit-learn, which together are larger than all the rest: they are extras of the distribution.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from halfmask._errors import MissingDependencyError

__all__ = ["missing", "need"]

#: What is imported, and what it is called where packages are installed.
OPTIONAL: Final = {
    "adbc_driver_postgresql": "adbc-driver-postgresql",
    "dp_accounting": "dp-accounting",
    "duckdb": "duckdb",
    "faker": "faker",
    "fastexcel": "fastexcel",
    "llvmlite": "numba",
    "numba": "numba",
    "phonenumbers": "phonenumberslite",
    "opendp": "opendp",
    "opacus": "opacus",
    "presidio_analyzer": "presidio-analyzer",
    "pyreadstat": "pyreadstat",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "spacy": "spacy",
    "sqlglot": "sqlglot",
    "stdnum": "python-stdnum",
    "threadpoolctl": "threadpoolctl",
    "torch": "torch",
}


def need(*modules: str) -> None:
    """Raise if a library that a job needs isn't installed, before the job has begun.

    Parameters
    ----------
    modules
        Names as they are imported, each a key of ``OPTIONAL``.

    Raises
    ------
    MissingDependencyError
        It names the libraries and the extra that installs them.

    Examples
    --------
    >>> need("numba", "sklearn")
    """
    absent = [OPTIONAL[name] for name in modules if find_spec(name) is None]
    if absent:
        raise _without(absent)


def missing(error: ModuleNotFoundError) -> MissingDependencyError | None:
    """Return what to say of an import that failed, or None if no extra would have helped.

    Examples
    --------
    >>> print(missing(ModuleNotFoundError(name="sklearn.tree")).what)
    This needs scikit-learn, which isn't installed.
    """
    absent = OPTIONAL.get((error.name or "").partition(".")[0])
    return None if absent is None else _without([absent])


def _without(absent: list[str]) -> MissingDependencyError:
    are = "isn't" if len(absent) == 1 else "aren't"
    return MissingDependencyError(
        f"This needs {', '.join(absent)}, which {are} installed.",
        hint="Install what all jobs need: pip install 'halfmask[all]'.",
    )
