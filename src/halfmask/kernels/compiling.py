"""Compile loops without numba's run-time library, and for all widths of codes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from numba import njit, types
from numba.core import event

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = [
    "BAR",
    "compile_ahead",
    "compile_all_widths",
    "inlined",
    "njit",
    "njit_no_nrt",
    "njit_unchecked",
]

#: Codes of few values have 8 bits, of up to 65,535 values 16: one table's are no other's.
_USUAL_WIDTHS = (types.uint8, types.uint16)
_WIDTHS = (*_USUAL_WIDTHS, types.uint32)
_compiled: set[object] = set()
_Tuples: Any = types.BaseTuple  # numba's types of some of it only
Function = TypeVar("Function", bound=Callable[..., Any])


def njit_no_nrt(function: Function) -> Function:
    """Compile a function that makes no array and calls none that does.

    Numba otherwise counts references to every array that a function takes out of a named tuple, by
    locked instructions that cost more than the loops over short runs: leaving them out halved the
    time of the whole partition. The option is numba's own for code without its run-time library;
    an array that is made in such a function doesn't compile.
    """
    compiled: Function = njit(nogil=True, cache=True, _nrt=False)(function)  # type: ignore[call-overload]
    return compiled


def inlined(function: Function) -> Function:
    """Compile as `njit_unchecked` does, inlined where it is called: it is too short for a call."""
    compiled: Function = njit(  # type: ignore[call-overload]
        nogil=True, cache=True, _nrt=False, error_model="numpy", forceinline=True
    )(function)
    return compiled


def njit_unchecked(function: Function) -> Function:
    """Compile as `njit_no_nrt` does, with numpy's division.

    By zero it gives infinity or NaN, no error: the check keeps LLVM from turning loops with
    divisions into vector code.
    """
    compiled: Function = njit(nogil=True, cache=True, _nrt=False, error_model="numpy")(  # type: ignore[call-overload]
        function
    )
    return compiled


def compile_all_widths(kernel: Any, *arguments: Any) -> None:  # noqa: ANN401 # a dispatcher; what it takes
    """Compile a kernel for codes of all usual widths, where it must be compiled for one of them.

    Its first run then is its only one that compiles: other tables have more values, or fewer. Only
    columns of more than 65,535 values have codes of 32 bits; those take as long again.

    Parameters
    ----------
    kernel
        What is compiled. Its arrays of codes have two dimensions.
    arguments
        What it is called with next.
    """
    if kernel in _compiled or not hasattr(kernel, "overloads"):  # interpreted, as in tests
        return
    _compiled.add(kernel)
    found = tuple(map(kernel.typeof_pyval, arguments))
    known = sum(kernel.stats.cache_misses.values())
    kernel.compile(found)
    if sum(kernel.stats.cache_misses.values()) > known:
        for width in _USUAL_WIDTHS:
            kernel.compile(tuple(_with_width(each, width) for each in found))


def compile_ahead(kernel: Any, *arguments: Any) -> None:  # noqa: ANN401 # as above
    """Compile a kernel that this run may not need, and a run on another table will.

    Parameters
    ----------
    kernel
        What is compiled.
    arguments
        Arguments of a later call.
    """
    if hasattr(kernel, "overloads"):
        kernel.compile(tuple(map(kernel.typeof_pyval, arguments)))


def _with_width(kind: Any, width: Any) -> Any:  # noqa: ANN401 # numba's types
    """Return a type whose arrays of codes have another width."""
    if isinstance(kind, types.Array):
        return kind.copy(dtype=width) if kind.ndim == 2 and kind.dtype in _WIDTHS else kind
    if isinstance(kind, _Tuples):
        of = getattr(kind, "instance_class", tuple)
        return _Tuples.from_types([_with_width(each, width) for each in kind], of)
    return kind


class CompilationBar(event.Listener):
    """Shows on a terminal or in a notebook that kernels are compiled, and how many are.

    Without it the first run looks as if it hung. The command line has words of its own. Functions
    that others compile with numba aren't ours to announce.
    """

    def __init__(self) -> None:
        self._depth = self._done = 0
        self._bar: Progress | None = None

    def on_start(self, event: Any) -> None:  # noqa: ANN401 # numba's
        """Show the bar, unless the kernel is compiled for another one."""
        if not _is_kernel(event):
            return
        self._depth += 1
        if self._depth == 1:
            self._open()

    def on_end(self, event: Any) -> None:  # noqa: ANN401 # numba's
        """Count the kernel, and take the bar away with the last one."""
        if not _is_kernel(event):
            return
        self._depth -= 1
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=self._says())
            if not self._depth:
                self._bar.stop()
                self._bar = None

    def _open(self) -> None:
        from rich.console import Console  # noqa: PLC0415 # only where something is compiled
        from rich.progress import BarColumn, Progress, TimeElapsedColumn  # noqa: PLC0415 # the same

        console = Console(stderr=True)
        if console.is_terminal or console.is_jupyter:
            columns = ("{task.description}", BarColumn(bar_width=30), TimeElapsedColumn())
            self._bar = Progress(*columns, console=console, transient=True)
            self._bar.add_task(self._says(), total=None)
            self._bar.start()

    def _says(self) -> str:
        return f"Compiling kernels, once: {self._done} done"


def _is_kernel(event: Any) -> bool:  # noqa: ANN401 # numba's
    return str(event.data["dispatcher"].py_func.__module__).startswith("halfmask.")


BAR: Final = CompilationBar()
event.register("numba:compile", BAR)  # type: ignore[no-untyped-call] # numba's
