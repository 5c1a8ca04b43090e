"""The command as a whole: help, version, words that don't fit, and what it loads for them."""

from __future__ import annotations

import json
import logging
import re
import signal
import typing
import warnings

import pytest

import halfmask
from halfmask.cli._options import FileFormat
from halfmask.data import Format

HEAVY = ("polars", "pyarrow", "numba", "numpy", "pydantic", "sklearn", "altair", "jinja2")
COMMANDS = ("describe", "protect", "verify", "schema")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["--version"], ["protect", "--help"], ["protect"]])
def test_help_loads_nothing_heavy(start, words):
    """Help, the version and wrong words cost no more than typer."""
    code = (
        "import sys; from halfmask.cli import main; main();"
        "sys.stderr.write('\\n' + ' '.join({name.split('.')[0] for name in sys.modules}))"
    )
    # Typer itself takes pydantic to turn the words behind a command into values: 0.05 s.
    allowed = {"pydantic"} if words[0] == "protect" else set()

    loaded = set(start(*words, code=code).err.splitlines()[-1].split())

    assert "typer" in loaded, "the list of modules must be the list of modules"
    assert set() == (loaded & set(HEAVY)) - allowed


def test_version(run):
    """The version goes to standard output."""
    answer = run("--version")

    assert (0, f"halfmask {halfmask.__version__}\n", "") == (answer.status, answer.out, answer.err)


def test_help_names_every_command(run):
    """Each command stands in the help with a sentence, and has a help of its own."""
    answer = run("--help")

    assert answer.status == 0
    assert not re.search(r"\w\.\.\.$", answer.out, re.MULTILINE)  # whole sentences
    for command in (*COMMANDS, "vault"):
        assert re.search(rf"^  {command} +[A-Z].*\.$", answer.out, re.MULTILINE)
        own = run(command, "--help")
        assert own.status == 0
        assert f"Usage: halfmask {command} [OPTIONS]" in own.out


def test_every_option_is_explained(run):
    """No option stands in a help without words."""
    for command in COMMANDS:
        text = run(command, "--help").out
        blocks = re.split(r"\n  (?=-)", text)[1:]
        for block in blocks:
            name, *rest = re.split(r"\s{2,}", block, maxsplit=1)
            assert rest, f"{command} {name} has no help"


def test_without_a_command_it_helps(run):
    """No word at all is wrong usage, answered by the help."""
    answer = run()

    assert answer.status == 2
    assert "Usage: halfmask" in answer.out


MISUSES = {
    "no such command": (["CANARY"], "no such command"),
    "nearly a command": (["descripe"], "Did you mean 'describe'"),
    "no table": (["describe"], "TABLE is missing"),
    "no policy": (["protect", "CANARY"], "OUT is missing"),
    "too many words": (["verify", "CANARY", "CANARY"], "more words"),
    "no such option": (["describe", "CANARY", "--sampel=3"], "--sample"),
    "a renamed option": (["events", "run", "CANARY", "--afresh"], "It is called --restart"),
    "another one": (["hash", "CANARY", "--mark", "?"], "It is called --missing"),
    "renamed elsewhere": (["describe", "CANARY", "--mark", "?"], "no option --mark"),
    "an option like a path": (["describe", "--/CANARY/x"], "no option of that name"),
    "a flag with a value": (["describe", "CANARY", "--overwrite=CANARY"], "--overwrite"),
    "a format that isn't": (["describe", "CANARY", "--format", "CANARY"], "--format can't be"),
    "a sample of none": (["describe", "CANARY", "--sample", "0"], "--sample can't be"),
    "a sample of words": (["describe", "CANARY", "--sample", "CANARY"], "--sample can't be"),
    "a delimiter of two": (["describe", "CANARY", "--delimiter", "ab"], "delimiter"),
    "an encoding that isn't": (["describe", "CANARY", "--encoding", "CANARY"], "encoding"),
    "stdin twice": (["protect", "-", "-", "CANARY"], "standard input"),
    "a release on stdout": (["protect", "CANARY", "CANARY", "-"], "OUT"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("words", "said"), MISUSES.values(), ids=MISUSES)
def test_wrong_usage(run, words, said):
    """Words that don't fit end with 2, one line and a hint, and are not repeated."""
    answer = run(*words)
    programs = run(*words, "--json")

    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert "CANARY" not in answer.err
    assert 2 == programs.status == programs.json["status"]
    assert {"ok", "error", "hint", "code", "status"} == programs.json.keys()
    assert (programs.json["code"], programs.json["ok"]) == ("usage", False)
    assert "CANARY" not in programs.out + programs.err


def test_an_option_without_its_value(run):
    """An option that wants a value says so."""
    answer = run("describe", "CANARY", "--out")

    assert (answer.status, answer.out) == (2, "")
    assert "Option --out wants a value" in answer.err


def test_json_and_a_policy_on_standard_output(run):
    """Two answers don't fit on one standard output."""
    answer = run("describe", "CANARY", "--out", "-", "--json")

    assert (answer.status, answer.json["code"]) == (2, "usage")


def test_json_behind_two_dashes_is_a_word(run):
    """Behind -- nothing is an option, for errors neither."""
    answer = run("verify", "--", "--json")

    assert (answer.status, answer.out) == (1, "")


def test_formats_are_those_of_the_readers():
    """The list that the help needs without loading the readers is theirs."""
    assert typing.get_args(Format) == typing.get_args(FileFormat)


def test_leaves_the_process_as_it_was(run):
    """Started from Python, the command changes no handler, filter or log for good."""
    before = (signal.getsignal(signal.SIGTERM), logging.lastResort, warnings.filters[:])

    run("--version")

    assert before == (signal.getsignal(signal.SIGTERM), logging.lastResort, warnings.filters[:])


def test_schema_is_json(run):
    """The schema is the one that editors read."""
    answer = run("schema")

    assert answer.status == 0
    assert "guarantees" in json.loads(answer.out)["properties"]
