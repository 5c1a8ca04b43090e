"""Rules of the handbook in plain Python, on lists of contributions: judges `_primary`."""

from __future__ import annotations

from fractions import Fraction


def merged(contributions):
    """Return (sum, weighted sum) of each owner; contributions are (owner, number, weight)."""
    owners: dict[object, tuple[float, float]] = {}
    for owner, number, weight in contributions:
        plain, weighted = owners.get(owner, (0, 0))
        owners[owner] = (plain + number, weighted + weight * number)
    return list(owners.values())


def total_and_units(contributions, how):
    """Return the absolute weighted sum, and absolute contributions in descending order."""
    each = merged(contributions)
    total = sum(abs(Fraction(weighted)) for _, weighted in each)
    if how == "replicated":
        units = [abs(Fraction(n)) for _, n, weight in contributions for _ in range(weight)]
    else:
        units = [abs(Fraction(plain)) for plain, _ in each]
    return total, sorted(units, reverse=True)


def dominance(contributions, how, n, k):
    """Return the upper protection level; at most 0 where the cell is safe."""
    total, units = total_and_units(contributions, how)
    return Fraction(100) / Fraction(k) * sum(units[:n]) - total


def p_percent(contributions, how, p):
    """Return the upper protection level; at most 0 where the cell is safe."""
    total, units = total_and_units(contributions, how)
    largest = units[0] if units else 0
    return Fraction(p) / 100 * largest - (total - sum(units[:2]))


def prior_posterior(contributions, how, p, q):
    """Return the upper protection level; at most 0 where the cell is safe."""
    total, units = total_and_units(contributions, how)
    largest = units[0] if units else 0
    return Fraction(p) / Fraction(q) * largest - (total - sum(units[:2]))


def contributors(contributions):
    """Return the number of owners."""
    return len({owner for owner, *_ in contributions})
