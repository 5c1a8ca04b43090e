"""Progress that says nothing, and progress that is shown until it is done."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from halfmask import _progress
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


class Kernel:
    """Stands for a notebook: what its one output showed, and what is called after a cell."""

    def __init__(self, monkeypatch, **shell):
        self.shown, self.outputs, self.hooks = [], 0, []
        self.shell = SimpleNamespace(events=self, **shell)
        parts: dict[str, Any] = {
            "get_ipython": lambda: self.shell,
            "display": SimpleNamespace(display=self.display),
        }
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(**parts))
        monkeypatch.setattr(_progress, "_LINE", _progress._NotebookLine())

    def register(self, event, hook):
        assert event == "post_run_cell"
        self.hooks.append(hook)

    def display(self, data, *, raw, display_id):
        assert raw
        assert display_id
        self.outputs += 1
        self.update(data, raw=raw)
        return self

    def update(self, data, *, raw):
        assert raw
        self.shown.append(data["text/plain"])

    def end_cell(self):
        for hook in self.hooks:
            hook("a result")


def test_a_notebook_shows_one_line_and_empties_it_after_the_cell(monkeypatch):
    kernel = Kernel(monkeypatch, kernel="there")
    silent("reading", 0.25)
    silent("writing")
    assert kernel.shown == ["reading: 25%", "writing"]
    assert kernel.outputs == 1
    kernel.end_cell()
    assert kernel.shown[-1] == ""
    kernel.end_cell()
    assert len(kernel.shown) == 3, "nothing is left to empty"
    silent("writing")
    assert kernel.outputs == 2, "the next cell has its own"
    assert len(kernel.hooks) == 1


def test_shares_of_a_stage_are_shown_now_and_then(monkeypatch):
    kernel, now = Kernel(monkeypatch, kernel="there"), [10.0]
    monkeypatch.setattr(_progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    silent("reading", 0.1)
    silent("reading", 0.2)
    now[0] += 1
    silent("reading", 0.3)
    assert kernel.shown == ["reading: 10%", "reading: 30%"]


def test_kernels_that_compile_are_told_in_a_notebook_without_a_bar(monkeypatch, capfd):
    kernel = Kernel(monkeypatch, kernel="there")
    bar = WaitingBar()
    for said in ("Compiling: 0 done", "done"):
        bar(said)
    assert kernel.shown == ["Compiling: 0 done"]
    assert capfd.readouterr() == ("", "")


def test_a_shell_on_a_terminal_is_no_notebook(monkeypatch):
    kernel = Kernel(monkeypatch)
    silent("reading")
    assert kernel.shown == []
