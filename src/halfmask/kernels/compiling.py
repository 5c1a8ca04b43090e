"""Compile loops without numba's run-time library: no references are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["inlined", "njit_no_nrt", "njit_unchecked"]

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
