"""The errors of halfmask: one small tree.

::

    HalfmaskError (ValueError)
    ├── ParameterError          an argument outside of what it may be
    ├── PolicyError             the policy file says something that can't be
    ├── DataError               the input can't be read as a table
    ├── SchemaError             the table and what is said of its columns don't agree
    │   └── ColumnNotFoundError a column that isn't there
    ├── HierarchyError          levels that are no hierarchy, or don't cover the column
    ├── GuaranteeNotMetError    a promise that can't be kept, or wasn't
    ├── ReleaseError            the release can't be written, or can't be read
    │   └── VerificationError   what is on disk doesn't bear out what is claimed
    ├── VaultError              the vault can't be made, opened or written
    │   ├── KeyMismatchError    a key, a lock or a context that isn't the one
    │   └── IntegrityError      bytes that aren't those that were written
    ├── BudgetError             a privacy budget that is spent, or that no noise fits
    ├── DivergenceError         learning ran away, or an estimate has no solution
    ├── TrainerError            the trainer service refused, or can't be reached
    ├── EngineError             a cluster can't be reached, lost a worker, or has other versions
    └── MissingDependencyError  an extra that isn't installed

A message says what is wrong, names the parameter or column, says what was got (a type, a count, a
parameter's value) and gives one hint. It never holds a cell's value, a category or an input path:
errors are logged, and logs travel further than data.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, ClassVar, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "BudgetError",
    "ColumnNotFoundError",
    "ColumnWarning",
    "DataError",
    "DivergenceError",
    "EngineError",
    "GuaranteeNotMetError",
    "HalfmaskError",
    "HierarchyError",
    "IntegrityError",
    "KeyMismatchError",
    "MissingDependencyError",
    "NoiseWarning",
    "ParameterError",
    "PolicyError",
    "ReleaseError",
    "SchemaError",
    "TrainerError",
    "VaultError",
    "VerificationError",
]


_ONE = r"((?:[^][|]|\[[\w.]+\])*)"
#: What a program says, and what the command line does: ``[[restart=True|--restart]]``. A name in
#: quotes is a user's, and stays; an apostrophe follows a letter.
_EITHER = re.compile(rf"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\[\[{_ONE}\|{_ONE}\]\]""")


class _Words(str):
    """Words of an error as a program reads them, and as the command line does.

    An error that tells another's words takes those that were `written`: they have both.
    """

    __slots__ = ("at_terminal", "written")
    at_terminal: str
    written: str

    def __new__(cls, words: str) -> Self:
        if isinstance(words, cls):
            return words
        made = super().__new__(cls, _of_reader(words, 1))
        made.at_terminal, made.written = _of_reader(words, 2), words
        return made


def _of_reader(words: str, group: Literal[1, 2]) -> str:
    def chosen(found: re.Match[str]) -> str:
        return found[0] if found[group] is None else found[group]

    return _EITHER.sub(chosen, words)


class HalfmaskError(ValueError):
    """Whatever halfmask refuses to do, or couldn't.

    Parameters
    ----------
    what
        One sentence or two: what is wrong, and with which parameter or column.
    hint
        The one action that is most likely to help. Where a program and the command line call a
        setting by two names, both stand in it, as in ``[[restart=True|--restart]]``.

    Examples
    --------
    >>> print(ParameterError("k must be at least 1. Got 0.", hint="Choose k of 2 or more."))
    k must be at least 1. Got 0.
    <BLANKLINE>
    Hint: Choose k of 2 or more.
    """

    code: ClassVar[str] = "error"

    def __init__(self, what: str, *, hint: str | None = None) -> None:
        self.what = _Words(what)
        self.hint = None if hint is None else _Words(hint)
        super().__init__(self.what if hint is None else f"{self.what}\n\nHint: {self.hint}")

    @property
    def at_terminal(self) -> tuple[str, str | None]:
        """What is wrong and the hint, in words of the command line."""
        return self.what.at_terminal, None if self.hint is None else self.hint.at_terminal


class ParameterError(HalfmaskError):
    """An argument outside of what it may be."""

    code = "parameter"


class PolicyError(HalfmaskError):
    """The policy file says something that can't be."""

    code = "policy"


class DataError(HalfmaskError):
    """The input can't be read as a table."""

    code = "data"


class SchemaError(HalfmaskError):
    """The table and what is declared about its columns don't agree."""

    code = "schema"


class ColumnNotFoundError(SchemaError):
    """The table has no column of the given name."""

    code = "column-not-found"

    @classmethod
    def of(cls, missing: Iterable[str], available: Iterable[str], *, where: str) -> Self:
        """Name the columns that weren't found, and the nearest that are there.

        Parameters
        ----------
        missing
            Names that were asked for and aren't there.
        available
            Names that are there.
        where
            What the names are of, as it reads after "in", such as ``"the table"``.
        """
        wanted, there = list(missing), list(available)
        near = [
            f"{name!r} for {wrong!r}"
            for wrong in wanted
            for name in difflib.get_close_matches(wrong, there, n=1)
        ]
        held = "There is 1 column" if len(there) == 1 else f"There are {len(there)} columns"
        hint = (
            f"Did you mean {', '.join(near)}?"
            if near
            else f"{held}; check the spelling and the header."
        )
        listed = ", ".join(repr(name) for name in wanted)
        return cls(f"These columns are not in {where}: {listed}.", hint=hint)


class HierarchyError(HalfmaskError):
    """Levels that are no hierarchy, or that don't cover the column."""

    code = "hierarchy"


class GuaranteeNotMetError(HalfmaskError):
    """A guarantee can't be met, or wasn't."""

    code = "guarantee-not-met"


class ReleaseError(HalfmaskError):
    """The release can't be written, or can't be read."""

    code = "release"


class VerificationError(ReleaseError):
    """The files on disk contradict a claim."""

    code = "verification"


class VaultError(HalfmaskError):
    """The vault can't be made, opened or written."""

    code = "vault"


class KeyMismatchError(VaultError):
    """A key, a lock or a context that isn't the one that it was sealed with."""

    code = "key-mismatch"


class IntegrityError(VaultError):
    """Bytes that aren't those that were written."""

    code = "integrity"


class BudgetError(HalfmaskError):
    """A privacy budget is spent, or no noise fits it; nothing was answered."""

    code = "budget"


class DivergenceError(HalfmaskError):
    """Training diverged and nothing of it was kept, or an estimate has no solution."""

    code = "divergence"


class TrainerError(HalfmaskError):
    """The trainer service refused, or can't be reached.

    Parameters
    ----------
    what, hint
        As of every error.
    status
        What the service answered, as a status of HTTP; None where it didn't.
    word
        The service's own word for it, such as ``"quota"``; None if it gave none.
    """

    code = "trainer"

    def __init__(
        self,
        what: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        word: str | None = None,
    ) -> None:
        self.status = status
        self.word = word
        super().__init__(what, hint=hint)


class EngineError(HalfmaskError):
    """A cluster can't be reached, can't run the work, or has other versions."""

    code = "engine"


class MissingDependencyError(HalfmaskError):
    """An extra that isn't installed."""

    code = "missing-dependency"


class ColumnWarning(UserWarning):
    """A column has no name, or cells that differ in kind from the others."""


class NoiseWarning(UserWarning):
    """The noise of a private model exceeds what was learned; it was charged."""
