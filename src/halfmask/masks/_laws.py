"""Laws of noise: from numbers between 0 and 1 to noise, by the inverse distribution function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The name of a distribution of noise.
Law: TypeAlias = Literal["laplace", "gaussian", "uniform"]
#: All distributions of noise.
LAWS: Final[tuple[Law, ...]] = ("laplace", "gaussian", "uniform")
#: Scales away from the middle beyond which 53 random bits tell nothing apart.
_ROOM: Final = {"laplace": 40.0, "gaussian": 8.0}


def noise(
    u: NDArray[np.float64], *, law: Law, scale: float, most: float | None = None
) -> NDArray[np.float64]:
    """Return the noise at which the law's distribution function has the values ``u``.

    Parameters
    ----------
    u
        Numbers between 0 and 1, neither of them.
    law
        ``"laplace"`` or ``"gaussian"`` with the scale b or sigma; ``"uniform"`` from -scale to
        scale.
    scale
        Above 0.
    most
        Where given, the law is cut at ``-most`` and ``most``, and has no heaps there.

    Examples
    --------
    >>> noise(np.array([0.25, 0.5, 0.75]), law="uniform", scale=10.0).tolist()
    [-5.0, 0.0, 5.0]
    """
    if law == "uniform":
        return (2.0 * u - 1.0) * scale
    # From the middle outwards, so that both tails have the same digits.
    sign, away = np.where(u < 0.5, -1.0, 1.0), np.abs(2.0 * u - 1.0)
    room = _ROOM[law] if most is None else min(most / scale, _ROOM[law])
    if law == "laplace":
        return np.asarray(-sign * scale * np.log1p(-away * -np.expm1(-room)))
    from scipy.special import erf, erfinv  # noqa: PLC0415 # scipy comes with scikit-learn; 60 ms

    root = np.sqrt(2.0)
    return np.asarray(sign * scale * root * erfinv(away * erf(room / root)))
