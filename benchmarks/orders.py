"""Orders as nested events: those of Online Retail, or invented ones where that file isn't there.

A part of the scripts; not run by itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl

REPOSITORY = Path(__file__).resolve().parent.parent
RETAIL = REPOSITORY.parent / "shared" / "data" / "online_retail.csv.gz"
SEED = 20141130


def retail_orders() -> list[dict[str, Any]]:
    """Return the 25,900 invoices of Online Retail, in the order of their first lines."""
    texts = ("InvoiceNo", "StockCode", "Description", "CustomerID", "Country", "InvoiceDate")
    rows = pl.read_csv(RETAIL, schema_overrides=dict.fromkeys(texts, pl.String))
    columns = zip(*(rows[name].to_list() for name in rows.columns), strict=True)
    orders: dict[str, dict[str, Any]] = {}
    for invoice, code, words, quantity, time, price, customer, country in columns:
        order = orders.get(invoice)
        if order is None:
            order = orders[invoice] = {
                "invoice": invoice,
                "time": time.replace(" ", "T"),
                "country": country,
                "lines": [],
            }
            if customer:
                order["customer"] = customer.removesuffix(".0")
        line = {"code": code, "description": words, "quantity": quantity, "price": price}
        order["lines"].append(line)
    return list(orders.values())


def invented_orders(count: int, *, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Yield orders of the same form, from a seeded generator."""
    draw = random.Random(seed)  # noqa: S311 # invented data, no key
    countries = ("United Kingdom", "Germany", "France", "EIRE", "Spain")
    for number in range(count):
        minute = number * 3
        order: dict[str, Any] = {
            "invoice": str(536_365 + number),
            "time": f"2010-{1 + minute // 44_640 % 12:02}-{1 + minute // 1440 % 28:02}"
            f"T{minute // 60 % 24:02}:{minute % 60:02}:00",
            "country": draw.choices(countries, (90, 4, 3, 2, 1))[0],
            "lines": [
                {
                    "code": str(10_000 + int(draw.paretovariate(0.6)) % 4000),
                    "description": "WHITE HANGING HEART T-LIGHT HOLDER",
                    "quantity": draw.randint(1, 48),
                    "price": draw.randint(10, 2_000) / 100,
                }
                for _ in range(draw.randint(1, 40))
            ],
        }
        if draw.random() < 0.75:
            order["customer"] = str(12_000 + draw.randint(0, 4_000))
        yield order


def order_lines(count: int | None = None) -> tuple[bytes, str]:
    """Return orders as JSON lines, and whose they are."""
    if RETAIL.exists():
        return as_lines(retail_orders()[:count]), "Online Retail"
    return as_lines(invented_orders(count or 25_900)), "invented orders"


def as_lines(orders: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> bytes:
    """Return one line for each."""
    return b"".join(orjson.dumps(order) + b"\n" for order in orders)
