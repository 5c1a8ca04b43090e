"""Options that commands share are declared once and reach a command as one value."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import typer
from typer.testing import CliRunner

from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A group within a group."""

    depth: int = option("--depth -d N: How deep it is.", 3, min=1)


@dataclass(frozen=True, kw_only=True)
class Outer:
    """A group with an option, a field that is none, and another group."""

    name: str | None = option("--name: What it is called.")
    inner: Inner
    called: str = "a table"


@pytest.fixture
def heard():
    """Return what a command was given, and a function that runs it."""
    given = []
    app = typer.Typer()

    @app.command()
    @spreads_groups
    def look(
        table: str = argument("TABLE: Where to look."),
        *,
        outer: Outer,
        loud: bool = flag("--loud: Be loud."),
    ):
        """Look at TABLE."""
        given.append((table, outer, loud))

    return given, lambda *words: CliRunner().invoke(app, words)


def test_groups_have_what_was_said_and_defaults(heard):
    given, run = heard
    assert run("a.csv", "--name", "x", "--depth", "7", "--loud").exit_code == 0
    assert run("b.csv").exit_code == 0
    assert given == [
        ("a.csv", Outer(name="x", inner=Inner(depth=7)), True),
        ("b.csv", Outer(inner=Inner(depth=3)), False),
    ]


def test_help_lists_options_where_their_group_stands(heard):
    _, run = heard
    words = run("--help").output
    assert words.index("--name") < words.index("--depth") < words.index("--loud")
    assert "--called" not in words
    assert "--outer" not in words


def test_limits_of_options_hold_within_groups(heard):
    given, run = heard
    assert run("a.csv", "--depth", "0").exit_code == 2
    assert given == []


def test_an_option_names_its_flags_and_what_it_takes(heard):
    given, run = heard
    assert run("a.csv", "-d", "7").exit_code == 0
    assert given == [("a.csv", Outer(inner=Inner(depth=7)), False)]
    lines = [line.split() for line in run("--help").output.splitlines()]
    assert any({"--depth", "N", "How"} <= set(words) for words in lines)
    assert any({"TABLE", "Where", "[required]"} <= set(words) for words in lines)


def test_what_is_required_is_missed():
    app = typer.Typer()

    @app.command()
    @spreads_groups
    def look(*, parts: int = required("--parts N: How many.")):
        """Look at parts."""

    assert CliRunner().invoke(app, ["--parts", "3"]).exit_code == 0
    assert "--parts" in CliRunner().invoke(app, []).output


def test_a_group_has_its_defaults_in_python_too():
    assert Inner() == Inner(depth=3)
    assert Outer(inner=Inner()).name is None


def test_the_help_has_own_options_first_and_groups_under_headings(run):
    said = run("protect", "--help").out
    own, reading, output = (
        said.index(f"\n{it}:\n") for it in ("Options", "Reading the table", "Output")
    )
    assert own < said.index("--overwrite") < reading < said.index("--skip-rows") < output
    assert output < said.index("--json")
