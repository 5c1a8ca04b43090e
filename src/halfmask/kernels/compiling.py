"""Compile loops without numba's run-time library, and for all widths of codes at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

from numba import njit, types
from numba.core import event

from halfmask._progress import WaitingBar

if TYPE_CHECKING:
    from halfmask._progress import Progress

__all__ = [
    "COMPILATION",
    "compile_ahead",
    "in_all_widths",
    "inlined",
    "njit",
    "njit_no_nrt",
    "njit_unchecked",
]

#: Codes of few values have 8 bits, of up to 65,535 values 16: one table's are no other's.
_USUAL_WIDTHS = (types.uint8, types.uint16)
_WIDTHS = (*_USUAL_WIDTHS, types.uint32)
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


def in_all_widths(kernel: Function) -> Function:
    """Compile a kernel for codes of all usual widths, where it must be compiled for one of them.

    Its first run then is its only one that compiles: other tables have more values, or fewer. Only
    columns of more than 65,535 values have codes of 32 bits; those take as long again. One width
    for all would be slower: with codes of 8 bits in 16, Mondrian takes 1.09 to 1.17 times as long.

    Parameters
    ----------
    kernel
        What is compiled. Its arrays of codes have two dimensions.
    """
    dispatcher: Any = kernel
    if not hasattr(dispatcher, "overloads"):  # interpreted, as in tests
        return kernel
    compiled = False

    def run(*arguments: Any) -> Any:  # noqa: ANN401 # a kernel's
        nonlocal compiled
        if not compiled:
            compiled = True
            _compile(dispatcher, tuple(map(dispatcher.typeof_pyval, arguments)))
        return dispatcher(*arguments)

    called: Function = wraps(dispatcher, updated=())(run)  # type: ignore[assignment] # as the kernel
    return called


def _compile(kernel: Any, found: tuple[Any, ...]) -> None:  # noqa: ANN401 # numba's dispatcher
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
