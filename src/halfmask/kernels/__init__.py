"""Compiled loops: arrays in, arrays out; no table, no file, no policy.

Start with :mod:`halfmask.kernels.partition.growing`. Everything here is compiled by numba on first
use and cached on disk; import a kernel inside the function that needs it, so that `--help` and
`verify` don't pay for the compiler. Kernels release the interpreter's lock and never start threads:
the engine above them does.

A *record* is one row, packed into lanes of one unsigned type: first a lane for each
quasi-identifier's code, then one for each sensitive column's code, then one for each guide,
padding, and in the last four bytes the row's number. A record's width is a multiple of 16 bytes, so
that one vector instruction compares many lanes at once.
"""

from __future__ import annotations

__all__: list[str] = []
