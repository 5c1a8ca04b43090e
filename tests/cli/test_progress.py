"""What long work says while it runs."""

from __future__ import annotations

import io
from contextlib import suppress

from numba import njit
from rich.console import Console

from halfmask.cli._console import COMPILING, Stages, compilation_announced


def _console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=terminal, width=80, color_system=None), out


def test_nobody_watches():
    """Without a terminal nothing is said."""
    err, out = _console(terminal=False)
    with Stages(err, verbose=False) as stages:
        stages("reading", 0.5)
        stages("done", 1.0)

    assert out.getvalue() == ""


def test_verbose_says_each_stage_once():
    """A stage is one line when it is over, in order, with its seconds."""
    err, out = _console(terminal=False)
    with Stages(err, verbose=True) as stages:
        for stage, share in (("reading", 0.1), ("reading", 1.0), ("writing", None), ("done", 1.0)):
            stages(stage, share)

    assert [line.split()[0] for line in out.getvalue().splitlines()] == ["reading", "writing"]
    assert out.getvalue().splitlines()[0].endswith(" s")


def test_a_terminal_shows_the_stage_that_goes_on():
    """On a terminal a line moves, and each stage leaves one."""
    err, out = _console(terminal=True)
    with Stages(err, verbose=False) as stages:
        stages("reading", 0.5)
        stages("writing", None)

    assert "reading" in out.getvalue()
    assert "writing" in out.getvalue()


def test_a_stage_that_fails_is_not_called_done():
    """The stage in which it failed leaves no line."""
    err, out = _console(terminal=False)
    stages = Stages(err, verbose=True)
    with suppress(KeyError), stages:
        stages("reading", None)
        stages("writing", None)
        raise KeyError

    assert "writing" not in out.getvalue()


def _kernel():
    """Return a function that isn't compiled yet; only those of halfmask are announced."""

    def added(x):
        return x + 1

    added.__module__ = "halfmask.kernels.added"
    return njit(added)


def test_compilation_is_announced_once():
    """The first kernel that compiles is announced, the next are not."""
    err, out = _console(terminal=False)
    with compilation_announced(err):
        _kernel()(1)
        _kernel()(1)
    _kernel()(1)

    assert f"{COMPILING}\n" == out.getvalue()


def test_compiled_kernels_are_not_announced():
    """Where nothing compiles nothing is said."""
    compiled = _kernel()
    compiled(1)
    err, out = _console(terminal=False)
    with compilation_announced(err):
        compiled(2)

    assert out.getvalue() == ""
