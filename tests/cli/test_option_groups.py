"""Options that commands share are declared once and reach a command as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from halfmask.cli._option_groups import spreads_groups


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A group within a group."""

    depth: Annotated[int, typer.Option("--depth", min=1)] = 3


@dataclass(frozen=True, kw_only=True)
class Outer:
    """A group with an option, a field that is none, and another group."""

    name: Annotated[str | None, typer.Option("--name")] = None
    inner: Inner
    called: str = "a table"


@pytest.fixture
def heard():
    """Return what a command was given, and a function that runs it."""
    given = []
    app = typer.Typer()

    @app.command()
    @spreads_groups
    def look(table: str, *, outer: Outer, loud: Annotated[bool, typer.Option("--loud")] = False):
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
