"""The claims that techniques make: what the verifier counts again from the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def counted_claim(
    model: str,
    columns: Sequence[str],
    *,
    evidence: Mapping[str, int] | None = None,
    **parameters: float | str,
) -> Claim:
    """Return a claim about released columns that is counted in the files.

    Examples
    --------
    >>> print(counted_claim("multiples", ["income"], base=100.0).sentence())
    multiples with base = 100.0: counted in the files.
    """
    return Claim(
        model=model,
        parameters=parameters,
        about={"columns": list(columns)},
        basis="counted",
        evidence=dict(evidence or {}),
    )
