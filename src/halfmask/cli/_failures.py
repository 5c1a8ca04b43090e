"""What an error is called on the command line: one line, one hint, a code and an exit code.

::

    HalfmaskError        its own words       its own code        1
    a missing library    the extra for it    missing-dependency  1
    wrong options        what is wrong       usage               2
    KeyboardInterrupt    stopped             interrupted         130
    MemoryError          memory ran out      out-of-memory       1
    OSError              the system's words  disk-full, system   1
    anything else        its type's name     unexpected          1

Only our own errors may speak for themselves. Whatever a library says may quote a cell or a path, so
that nothing of it is passed on but its type.
"""

from __future__ import annotations

import errno
import re
from dataclasses import asdict, dataclass

import typer

from halfmask._errors import HalfmaskError
from halfmask._foreign import missing

FAILED, MISUSED, STOPPED = 1, 2, 130
#: The codes that no class of `halfmask._errors` has.
CODES = ("usage", "interrupted", "out-of-memory", "disk-full", "system", "unexpected")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# How errors name settings of codecs and hashers to a program: 'bits' of KeyedHasher, in 'sets',
# task="regression".
_PARAMETER = re.compile(
    r"The '(?P<one>\w+)' parameter of (?:Codec|KeyedHasher)(?:\.fit)?"
    r"|(?<=in )'(?P<other>text|sets|categorical)'(?=, )"
)
_VALUE = re.compile(
    r"\b(?P<one>task|missing|unseen|out_of_range|precision|rows|learner|numbers)="
    r"['\"](?P<value>[a-z]+)['\"]"
)
_CALLED = {
    "missing": "missing-cells",
    "sets": "set",
    "interactions": "interaction",
    "batch": "number",
}
#: Options of 0.1, by what they are called now; of `events run --on-bad` the words changed too.
_RENAMED = {
    "--afresh": "--restart",
    "--client-ca": "--authority",
    "--mark": "--missing",
    "--most-bits": "--max-bits",
    "--on-bad": "--on-error",
    "--per-doubling": "--bins-per-octave",
    "--rows": "--sample",
    "--tls-cert": "--certificate",
    "--tls-key": "--certificate-key",
}
WHOLE = "What is written is there whole or not at all; what was there before is still there."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is shown of an error."""

    error: str
    hint: str | None
    code: str
    status: int = FAILED

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object of an error."""
        return {"ok": False, **asdict(self)}


class UsageError(HalfmaskError):
    """Words on the command line that don't fit together."""

    code = "usage"


INTERRUPTED = Failure(
    error="Stopped before it was done.", hint=WHOLE, code="interrupted", status=STOPPED
)


def failure_of(error: BaseException) -> Failure:
    """Return what may be shown of an error."""
    if isinstance(error, ModuleNotFoundError):
        error = missing(error) or error
    if isinstance(error, HalfmaskError):
        status = MISUSED if isinstance(error, UsageError) else FAILED
        what, hint = error.at_terminal
        hint = None if hint is None else by_options(hint)
        return Failure(error=by_options(what), hint=hint, code=error.code, status=status)
    if isinstance(error, typer.TyperException):
        return _misuse(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED
    if isinstance(error, MemoryError):
        return Failure(
            error="Memory ran out.",
            hint="Give the table as a folder of Parquet files, which is read in batches. " + WHOLE,
            code="out-of-memory",
        )
    if isinstance(error, OSError):
        return _refused(error)
    return Failure(
        error=f"halfmask failed in a way that it didn't expect ({type(error).__name__}).",
        hint="Run it again with --debug to see where; that traceback may hold values of the table.",
        code="unexpected",
    )


def by_options(words: str) -> str:
    """Return a message about settings of codecs and hashers in words of the command line.

    Examples
    --------
    >>> by_options('Say task="classification" or task="regression".')
    'Say --task classification or --task regression.'
    >>> by_options("The 'min_sibling_rows' parameter of Codec must be an int.")
    '--min-sibling-rows must be an int.'
    """
    words = _PARAMETER.sub(_option, words)
    return _VALUE.sub(lambda found: f"{_option(found)} {found['value']}", words)


def _option(found: re.Match[str]) -> str:
    name = next(filter(None, (found.groupdict().get(each) for each in ("one", "other"))))
    return f"--{_CALLED.get(name, name).replace('_', '-')}"


def _refused(error: OSError) -> Failure:
    if error.errno in FULL:
        return Failure(
            error="The disk is full, or a file would be larger than is allowed.",
            hint="Make room, or write to another disk. " + WHOLE,
            code="disk-full",
        )
    # The number's own words; the error's may hold the path.
    words = errno.errorcode.get(error.errno or 0, type(error).__name__)
    return Failure(
        error=f"The system refused to read or write a file ({words}).",
        hint="Check that TABLE and POLICY may be read and that OUT may be written.",
        code="system",
    )


def _misuse(error: typer.TyperException) -> Failure:
    """Say what is wrong with the words after `halfmask`, repeating none that may be a path."""
    hint = f"See {_command_of(error)} --help."
    option = getattr(error, "option_name", None)
    parameter = getattr(error, "param", None)
    if option is not None and not hasattr(error, "possibilities"):
        message = f"Option {_flag(option)} wants a value, or has one that it doesn't take."
    elif option is not None:
        message = f"There is no option {_flag(option)}."
        near = getattr(error, "possibilities", None)
        hint = f"Did you mean {' or '.join(sorted(near))}?" if near else hint
        hint = _renamed(option, error) or hint
    elif type(error).__name__ == "MissingParameter":
        message = f"{_name_of(parameter)} is missing."
    elif parameter is not None:
        message = f"{_name_of(parameter)} can't be what was given."
        hint = _wanted(parameter) or hint
    else:
        message, hint = _stray_words(error.message, hint)
    return Failure(error=message, hint=hint, code="usage", status=MISUSED)


def _renamed(option: str, error: typer.TyperException) -> str | None:
    """Return what an option of 0.1 is called now, if the command has that one."""
    now = _RENAMED.get(option)
    command = getattr(getattr(error, "ctx", None), "command", None)
    flags = {flag for each in getattr(command, "params", ()) for flag in each.opts}
    return f"It is called {now} since 0.2." if now in flags else None


def _wanted(parameter: object) -> str | None:
    """Return which values an option takes, if its type says so."""
    kind = getattr(parameter, "type", parameter)  # where typer has it, by its version
    choices = getattr(kind, "choices", ())
    if choices:
        return f"It is one of {', '.join(map(str, choices))}."
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    is_whole = annotation is int or getattr(kind, "name", "").startswith("integer")
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    what = "a whole number" if is_whole else "a number"
    if low is None:
        is_number = is_whole or annotation is float or getattr(kind, "name", "").startswith("float")
        return f"It is {what}." if is_number else None
    return f"It is {what}, {low} or more." if high is None else f"It is {what}, {low} to {high}."


def _stray_words(message: str, hint: str) -> tuple[str, str]:
    if message.startswith("No such command"):
        near = re.search(r"Did you mean (.*)\?$", message)
        return "There is no such command.", f"Did you mean {near[1]}?" if near else hint
    if "unexpected extra argument" in message:
        return "There are more words than the command takes.", hint
    return "The words don't fit the command.", hint


def _command_of(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return "halfmask" if context is None else str(context.command_path)


def _name_of(parameter: object) -> str:
    """Return what a parameter is called in the help: TABLE, -k or --format."""
    flags = [flag for flag in getattr(parameter, "opts", ()) if flag.startswith("-")]
    return (
        max(flags, key=len) if flags else str(getattr(parameter, "metavar", None) or "An argument")
    )


def _flag(name: str) -> str:
    """Return an option's name if it looks like one: a word that was meant for a path may not."""
    return name if re.fullmatch(r"--?[a-z][a-z-]{0,30}", name) else "of that name"
