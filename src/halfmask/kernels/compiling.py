"""Compile loops soon: each when it is first needed, once, and without numba's run-time library."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numba
from numba import types
from numba.core import event

from halfmask._progress import WaitingBar

if TYPE_CHECKING:
    from halfmask._progress import Progress

__all__ = [
    "COMPILATION",
    "inlined",
    "njit",
    "njit_no_nrt",
    "njit_unchecked",
]

Function = TypeVar("Function", bound=Callable[..., Any])
_njit: Any = numba.njit  # its types lack some options
_unliteral: Any = types.unliteral


def njit(**options: Any) -> Callable[[Function], Function]:  # noqa: ANN401 # numba's
    """Compile as numba's `njit` does, sooner: kernels that only kernels call are compiled lean.

    Those are compiled once, not again for each constant that is passed to them (numba takes 0 and 1
    for types of their own), and without the entries by which Python and C would call them. Both
    together halved what the first run of Mondrian compiles.
    """

    def compiled(function: Function) -> Function:
        dispatcher = _kept(function, options)
        if hasattr(dispatcher, "overloads"):  # not where numba is switched off
            _lean_in_kernels(dispatcher, function, options)
        made: Function = dispatcher
        return made

    return compiled


def _kept(function: Any, options: dict[str, Any]) -> Any:  # noqa: ANN401 # numba's dispatcher
    """Keep what is compiled for later runs, if any folder for it can be written."""
    try:
        return _njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # as in a container whose disk is for reading only
        return _njit(nogil=True, **options)(function)


def _lean_in_kernels(dispatcher: Any, function: Any, options: dict[str, Any]) -> None:  # noqa: ANN401
    """Let other kernels call a copy of a kernel that has no entry for Python.

    The copy has a name of its own: one cache for both would give Python a kernel without entry.
    """
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__qualname__ = f"{function.__qualname__}_lean"
    copy.__module__ = function.__module__
    lean = _kept(copy, options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})

    def call_template(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:  # noqa: ANN401
        plain = tuple(map(_unliteral, arguments))
        return lean.get_call_template(plain, {n: _unliteral(it) for n, it in named.items()})

    dispatcher.get_call_template = call_template
    dispatcher.get_overload = lean.get_overload


def njit_no_nrt(function: Function) -> Function:
    """Compile a function that makes no array and calls none that does.

    Numba otherwise counts references to every array that a function takes out of a named tuple, by
    locked instructions that cost more than the loops over short runs: leaving them out halved the
    time of the whole partition. The option is numba's own for code without its run-time library;
    an array that is made in such a function doesn't compile.
    """
    return njit(_nrt=False)(function)


def inlined(function: Function) -> Function:
    """Compile as `njit_unchecked` does, inlined where it is called: it is too short for a call."""
    return njit(_nrt=False, error_model="numpy", forceinline=True)(function)


def njit_unchecked(function: Function) -> Function:
    """Compile as `njit_no_nrt` does, with numpy's division.

    By zero it gives infinity or NaN, no error: the check keeps LLVM from turning loops with
    divisions into vector code.
    """
    return njit(_nrt=False, error_model="numpy")(function)


class Compilation(event.Listener):
    """Tells how many kernels were compiled, while some are: the first run looks as if it hung.

    Functions that others compile with numba aren't ours to announce.
    """

    def __init__(self, progress: Progress) -> None:
        self._depth = self._done = 0
        self.progress = progress  # the terminal has its own, which shows stages

    def on_start(self, event: Any) -> None:  # noqa: ANN401 # numba's
        """Tell that kernels are compiled, unless this one is compiled for another one."""
        if _is_kernel(event):
            self._depth += 1
            if self._depth == 1:
                self._tell()

    def on_end(self, event: Any) -> None:  # noqa: ANN401 # numba's
        """Count the kernel; with the last one it is done."""
        if _is_kernel(event):
            self._depth -= 1
            self._done += 1
            self._tell()

    def _tell(self) -> None:
        said = f"Compiling kernels, once: {self._done} done"
        self.progress(said if self._depth else "done")


def _is_kernel(event: Any) -> bool:  # noqa: ANN401 # numba's
    return str(event.data["dispatcher"].py_func.__module__).startswith("halfmask.")


COMPILATION: Final = Compilation(WaitingBar())
event.register("numba:compile", COMPILATION)  # type: ignore[no-untyped-call] # numba's
