"""Generate nested orders as JSON lines, the same ones for the same seed.

    python examples/events/make_orders.py 10000 > orders.jsonl
    python examples/events/make_orders.py 10000 --seed 7 --out orders.jsonl

Nobody in them exists. Five shops sell to customers who come back; a visit is a session; some goods
are bought often and some once; some orders are sent to the same house.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

FIRST = ("Ada", "Boris", "Chen", "Dalia", "Emre", "Fatou", "Gita", "Hugo", "Ines", "Jonas", "Kaya")
LAST = ("Adler", "Brandt", "Costa", "Demir", "Eriksen", "Fofana", "Gupta", "Hansen", "Ivanova")
STREETS = (
    "ul. Zorge",
    "Long Lane",
    "Rue Basse",
    "Am Hang",
    "Via Roma",
    "Calle Mayor",
    "Oak Street",
)
TOWNS = (
    ("Russia", "450075"),
    ("Germany", "10115"),
    ("France", "69001"),
    ("Italy", "00184"),
    ("Spain", "28013"),
    ("United Kingdom", "SW1A 1AA"),
)
SHOPS = ("contsco-ebay", "contsco-web", "potshop", "nordic-home", "gadgetry")
GOODS = ("Kitchen Aid", "Plastic shield guard", "Google Nexus 5", "Post card", "Candies", "Lantern")
COLOURS = ("Empire Red", "White", "Black", "Blue", "Green", "Silver")
STATUS = ("pending", "paid", "shipped", "returned")
CUSTOMERS_PER_ORDER = 0.2


def person(draw: random.Random, number: int) -> dict[str, str]:
    """Return a shipping address."""
    country, zip_code = draw.choice(TOWNS)
    house = f"{draw.choice(STREETS)} {draw.randint(1, 99)}-{draw.randint(1, 60)}"
    name = f"{draw.choice(LAST)} {draw.choice(FIRST)}"
    email = f"{name.lower().replace(' ', '.')}{number}@example.com"
    return {"country": country, "zip": zip_code, "line1": house, "to": name, "email": email}


def shelf(draw: random.Random) -> list[dict[str, Any]]:
    """Return the products."""
    found = []
    for number in range(600):
        name = f"{draw.choice(GOODS)} {draw.randint(100, 9999)} {draw.choice(COLOURS)}"
        price = f"{draw.randint(50, 30_000) / 100:.2f} EUR"
        found.append({"id": f"{name[:2].lower()}{number:04}", "name": name, "price": price})
    return found


def orders(count: int, *, seed: int) -> Iterator[dict[str, Any]]:
    """Yield orders by time, some of them late."""
    draw = random.Random(seed)  # noqa: S311 # invented data, no key
    people = [person(draw, n) for n in range(max(10, int(count * CUSTOMERS_PER_ORDER)))]
    goods = shelf(draw)
    now = datetime(2014, 9, 1)  # noqa: DTZ001 # without a zone, like the order in order.jsonl
    for number in range(count):
        now += timedelta(seconds=draw.expovariate(1 / 240))
        late = timedelta(minutes=draw.randint(1, 50)) if draw.random() < 0.01 else timedelta()
        who = min(int(draw.paretovariate(0.4)) - 1, len(people) - 1)
        where, shop = people[who], draw.choices(SHOPS, (50, 20, 15, 10, 5))[0]
        bought = []
        for _ in range(min(int(draw.paretovariate(1.2)), 30)):
            what = goods[min(int(draw.paretovariate(0.6)) - 1, len(goods) - 1)]
            bought.append({**what, "quantity": min(int(draw.paretovariate(1.5)), 12)})
        yield {
            "tenant": shop,
            "id": f"{shop}-{now:%Y-%m-%d}-{number:06}",
            "time": f"{now - late:%Y-%m-%dT%H:%M:%S}",
            "session": f"{who:05x}-{now:%j}",
            "status": draw.choice(STATUS),
            "shipping": where | {"carrier": draw.choice(("usps", "dhl", "post"))},
            "products": bought,
        }


def main() -> None:
    """Write the orders."""
    parser = argparse.ArgumentParser(description="Invent orders, a JSON line each.")
    parser.add_argument("count", type=int, help="how many")
    parser.add_argument("--seed", type=int, default=2014)
    parser.add_argument("--out", type=Path, help="a file; standard output without it")
    arguments = parser.parse_args()
    out = sys.stdout if arguments.out is None else arguments.out.open("w", encoding="utf-8")
    with out:
        for order in orders(arguments.count, seed=arguments.seed):
            out.write(json.dumps(order, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
