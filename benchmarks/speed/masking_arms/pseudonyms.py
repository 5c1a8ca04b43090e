"""Pseudonyms: substitutes, format-preserving numbers and reversible tokens, and faker's loop.

A part of `masking.py`; not run by itself. The peer is what a script does without us: a call of
faker for each different value, kept in a dictionary, as faker comes. It gives up what ours has: a
key, reversal, and the same pseudonym in the next table. Seconds are those of the processor, all
threads together. Ours take all rows; the peer's loop is timed on the first ones, and its time for
each value is what is compared. Making ours' pool of names counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import polars as pl
from faker import Faker

from bars import Bar, say
from halfmask.masks import FormatPreserving, Mask, ReversibleTokens, Substitutes
from halfmask.masks._substitutes import substitute_pool

TIMES_FASTER = 20.0
SEED = 20_261_125
KEY = bytes(range(32))
LOOPED = 10_000


def processor_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def loop(values: list[str], draw: Callable[[], str]) -> dict[str, str]:
    """Do what scripts do: one draw for each different value."""
    found: dict[str, str] = {}
    for value in values:
        if value not in found:
            found[value] = draw()
    return found


def ours(mask: Mask, values: pl.Series) -> float:
    substitute_pool.cache_clear()
    dtype = values.dtype
    return processor_seconds(lambda: mask.fit("x", dtype, None, KEY).apply(values, 0))


def cards(n: int) -> list[str]:
    """Return valid card numbers: Luhn's digit behind 15 digits."""
    payload = pl.DataFrame({"number": pl.int_range(n, eager=True) * 7_919 + 4 * 10**14})
    digits = [pl.col("number") // 10**i % 10 for i in range(15)]
    doubled = [it if i % 2 else it * 2 - 9 * (it > 4) for i, it in enumerate(digits)]
    check = (10 - pl.sum_horizontal(doubled) % 10) % 10
    return payload.select(pl.concat_str("number", check)).to_series().to_list()


def measure(*, quick: bool) -> list[Bar]:
    n = 100_000 if quick else 1_000_000
    maker = Faker()
    maker.seed_instance(SEED)
    people = pl.Series("x", [f"person {i}" for i in range(n)])
    numbers = pl.Series("x", cards(n))
    arms: list[tuple[str, Mask, pl.Series, Callable[[], str]]] = [
        ("substitutes for names", Substitutes(kind="name"), people, maker.name),
        ("substitutes for e-mails", Substitutes(kind="email"), people, maker.ascii_safe_email),
        (
            "format-preserving cards, valid again",
            FormatPreserving(check_digits="card"),
            numbers,
            maker.credit_card_number,
        ),
        ("reversible tokens", ReversibleTokens(), people, maker.name),
    ]
    bars = []
    for name, mask, values, draw in arms:
        ours(mask, values.head(1000))  # loads libraries
        fast = ours(mask, values) / n
        some = values.head(LOOPED).to_list()
        slow = processor_seconds(lambda some=some, draw=draw: loop(some, draw)) / LOOPED
        say(f"{name}: {fast * 1e6:.2f} us a value, faker's loop {slow * 1e6:.1f} us")
        called = f"{name}, {n:,} different values: times faster than a loop over faker"
        bars.append(Bar(name=called, value=slow / fast, goal=TIMES_FASTER, side="at least"))
    return bars


ARMS = {"pseudonyms": measure}
