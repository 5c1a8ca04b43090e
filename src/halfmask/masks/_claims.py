"""The claims that techniques make: what the verifier counts again from the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["counted_claim"]


def counted_claim(
    model: str,
    columns: Sequence[str],
    *,
    evidence: Mapping[str, int] | None = None,
    **parameters: float | str,
) -> Claim:
    """Return a claim about released columns that is counted in the files.

    Parameters
    ----------
    model
        The name of its check in `halfmask.verifier.masked.MASK_CHECKS`.
    columns
        The columns that it is about.
    evidence
        The numbers that were counted, where the check needs them.
    parameters
        Those of the claim, such as ``k=5``.

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
