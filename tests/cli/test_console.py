"""How a command answers: nothing in a table may steer the terminal or break the JSON."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from halfmask.cli._console import (
    MOST_LETTERS,
    console,
    listing,
    mark,
    printable,
    say_failure,
    say_json,
    show_traceback,
)
from halfmask.cli._failures import Failure


@given(st.text())
def test_nothing_unprintable_is_printed(text):
    shown = printable(text)

    assert shown.isprintable()
    assert printable(shown) == shown
    if text.isprintable():
        assert shown == text


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_json_is_one_line_of_ascii(result):
    out = io.StringIO()

    say_json(result, out)

    assert out.getvalue().isascii()
    assert out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue()) == result


def test_a_number_that_json_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="JSON"):
        say_json({"a": float("nan")}, io.StringIO())


@pytest.mark.parametrize(("encoding", "signs"), [("utf-8", "✓✗"), ("ascii", "yesNO")])
def test_a_tick_is_a_word_where_there_are_no_signs(encoding, signs, monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    out = console()

    assert mark(True, out) + mark(False, out) == signs


def test_text_is_never_markup(capsys):
    out = console()
    table = listing("name")
    table.add_row("[red]age[/red] :smile:")

    out.print("[bold]x[/bold]")
    out.print(table)

    said = capsys.readouterr().out
    assert "[bold]x[/bold]" in said
    assert "[red]age[/red] :smile:" in said


class TestAFailure:
    failure = Failure(error="It went wrong.", hint="Do this.", code="data", status=1)

    def test_goes_to_standard_error(self, capsys):
        assert say_failure(self.failure, as_json=False) == 1
        assert capsys.readouterr() == ("", "Error: It went wrong.\nHint: Do this.\n")

    def test_is_one_object_for_programs(self, capsys):
        assert say_failure(self.failure, as_json=True) == 1
        said = capsys.readouterr()
        assert (json.loads(said.out), said.err) == (self.failure.to_dict(), "")

    def test_is_shortened_for_people_only(self, capsys):
        long = Failure(error="x" * (MOST_LETTERS + 1), hint=None, code="data")

        say_failure(long, as_json=False)
        shown = capsys.readouterr().err
        say_failure(long, as_json=True)

        assert "--json says all of it" in shown
        assert "x" * (MOST_LETTERS + 1) not in shown
        assert json.loads(capsys.readouterr().out)["error"] == long.error

    def test_shows_where_it_came_from_with_a_warning(self, capsys):
        show_traceback(ValueError("CANARY"))

        said = capsys.readouterr().err
        assert "CANARY" in said
        assert "keep it to yourself" in said


def test_a_listing_folds_a_long_name_and_cuts_none():
    """Two columns whose names begin alike stay apart."""
    table = listing("column", "rows", right=("rows",))
    table.add_row("a" * 50, "1")
    said_to = io.StringIO()

    Console(width=30, file=said_to).print(table)

    said = said_to.getvalue()
    assert "…" not in said
    assert said.count("a") == 50
