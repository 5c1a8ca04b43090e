"""Progress that says nothing, and progress that is shown until it is done."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from halfmask._progress import Progress, WaitingBar, silent


def test_silence_is_kept(capfd):
    said: Progress = silent

    said("reading")
    said("reading", 0.5)
    said(stage="done", share=1.0)

    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_stage_is_shown_on_a_terminal_until_it_is_done(monkeypatch, terminal):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    bar = WaitingBar()
    for said in ("compiling: 0 done", "compiling: 1 done", "done", "done"):
        bar(said)

    assert ("compiling: 1 done" in out.getvalue()) == terminal
    if not terminal:
        assert out.getvalue() == ""
