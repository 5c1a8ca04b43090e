"""What an error is called: only our own errors speak for themselves."""

from __future__ import annotations

import errno
import inspect
import io

import polars as pl
import pytest
import typer

from halfmask import _errors
from halfmask.cli._console import printable, say_json
from halfmask.cli._failures import CODES, UsageError, failure_of

CANARY = "CANARY"


class Panic(BaseException):
    """What polars raises when Rust panics is no Exception."""


FOREIGN = {
    "memory": (MemoryError(CANARY), "out-of-memory"),
    "interrupt": (KeyboardInterrupt(CANARY), "interrupted"),
    "abort": (typer.Abort(CANARY), "interrupted"),
    "full": (OSError(errno.ENOSPC, CANARY, CANARY), "disk-full"),
    "quota": (OSError(errno.EDQUOT, CANARY, CANARY), "disk-full"),
    "forbidden": (PermissionError(errno.EACCES, CANARY, CANARY), "system"),
    "without number": (OSError(CANARY), "system"),
    "polars": (pl.exceptions.ComputeError(CANARY), "unexpected"),
    "panic": (Panic(CANARY), "unexpected"),
    "unicode": (UnicodeDecodeError("utf-8", b"CANARY", 0, 1, CANARY), "unexpected"),
    "key": (KeyError(CANARY), "unexpected"),
}


@pytest.mark.parametrize(("error", "code"), FOREIGN.values(), ids=FOREIGN)
def test_foreign_errors_are_not_passed_on(error, code):
    """Of an error that isn't ours nothing is said but its kind."""
    failure = failure_of(error)

    assert (failure.code, failure.status) == (code, 130 if code == "interrupted" else 1)
    assert CANARY not in str(failure.to_dict())


def test_our_errors_speak_for_themselves():
    """An error of ours keeps its words, its hint and its code, whatever its class."""
    classes = [
        each
        for _, each in inspect.getmembers(_errors, inspect.isclass)
        if issubclass(each, _errors.HalfmaskError)
    ]

    assert len(classes) > 8
    for each in classes:
        failure = failure_of(each("What is wrong.", hint="What helps."))
        assert (failure.error, failure.hint) == ("What is wrong.", "What helps.")
        assert (each.code, 1) == (failure.code, failure.status)


def test_codes_tell_errors_apart():
    """No code stands for two things."""
    ours = [
        each.code
        for _, each in inspect.getmembers(_errors, inspect.isclass)
        if issubclass(each, _errors.HalfmaskError)
    ]

    assert len({*ours, *CODES}) == len([*ours, *CODES])
    assert UsageError.code in CODES


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("error", "code"), FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("as_json", [False, True])
def test_commands_fail_safely(run, monkeypatch, error, code, as_json):
    """Whatever a command raises ends with 1, or 130 where stopped, and words without its own."""

    def broken(*_args, **_named):
        raise error

    monkeypatch.setattr("halfmask.verifier.verify", broken)
    answer = run("verify", "out", *(["--json"] if as_json else []))

    assert answer.status == (130 if code == "interrupted" else 1)
    assert CANARY not in answer.out + answer.err
    if as_json:
        assert (code, "") == (answer.json["code"], answer.err)
    else:
        assert answer.out == ""
        assert answer.err.startswith("Error: ")
        assert answer.err.count("\n") <= 2


def test_debug_shows_the_traceback_and_warns(run, monkeypatch):
    """--debug shows where it failed, and says that this may hold values."""

    def broken(*_args, **_named):
        raise KeyError(CANARY)

    monkeypatch.setattr("halfmask.verifier.verify", broken)
    answer = run("verify", "out", "--json", "--debug")

    assert "Traceback" in answer.err
    assert "may hold values" in answer.err
    assert answer.json["code"] == "unexpected"


def test_what_a_terminal_obeys_is_escaped():
    """A name from a table can't move the cursor or colour the screen."""
    assert printable("a\x1b[2Jb\n\u202ec") == r"a\x1b[2Jb\n\u202ec"


def test_json_is_strict():
    """No NaN leaves as JSON; what isn't ASCII is escaped."""
    out = io.StringIO()
    say_json({"name": "é"}, out)

    assert out.getvalue() == '{"name": "\\u00e9"}\n'
    with pytest.raises(ValueError, match="JSON"):
        say_json({"risk": float("nan")}, out)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (
            "The 'bins_per_octave' parameter of KeyedHasher must be 1.",
            "--bins-per-octave must be 1.",
        ),
        ("Name it in 'sets', or leave it out.", "Name it in --set, or leave it out."),
        (
            "Column 'sets' is in 'text', and isn't one.",
            "Column 'sets' is in --text, and isn't one.",
        ),
        ("Send row ids ([[ids=True|--ids]]).", "Send row ids (--ids)."),
        ('Make it with out_of_range="extrapolate".', "Make it with --out-of-range extrapolate."),
        ("Column 'task' held 'missing' cells.", "Column 'task' held 'missing' cells."),
    ],
)
def test_settings_are_called_by_their_options(said, wanted):
    failure = failure_of(_errors.SchemaError(said, hint=said))

    assert (failure.error, failure.hint) == (wanted, wanted)
