"""Cells of events by a plain Python loop: shares no code with the stage."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from zoneinfo import ZoneInfo

__all__ = ["day_of", "expected_lines", "panes_of"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment):
    """Return microseconds since 1970, exactly."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def day_of(moment, zone):
    """Return the date of a zone's clock, and the time of UTC at which it is over."""
    local = moment.astimezone(ZoneInfo(zone))
    day = local.date()
    # Minute by minute: the last one with this date.
    end = moment.replace(second=0, microsecond=0)
    step = timedelta(hours=1)
    while (end + step).astimezone(ZoneInfo(zone)).date() <= day:
        end += step
    step = timedelta(minutes=1)
    while end.astimezone(ZoneInfo(zone)).date() <= day:
        end += step
    return day.isoformat(), end


def panes_of(events, zone, lateness, late="drop", median=1):
    """Return for each event its pane or None, and the panes in the order in which they close.

    An event is a pair of its time and anything.
    """
    latest = datetime(1, 1, 3, tzinfo=UTC) + lateness
    found: list[tuple[str, str | None] | None] = []
    closed: list[tuple[str, str | None]] = []
    still: dict[tuple[str, str | None], datetime] = {}
    for number, (moment, _) in enumerate(events, start=1):
        if number >= median:
            last = sorted(at for at, _ in events[number - median : number])
            latest = max(latest, last[median // 2])
        mark = latest - lateness
        day, end = day_of(moment, zone)
        pane: tuple[str, str | None] | None = (day, None)
        until = end
        if end <= mark:
            if late == "drop":
                pane = None
            else:
                came, until = day_of(mark, zone)
                pane = (day, came)
        found.append(pane)
        over = sorted((when, each) for each, when in still.items() if when <= mark)
        for _, each in sorted(over, key=lambda it: (it[0], it[1][0], it[1][1] or "")):
            closed.append(each)
            del still[each]
        if pane is not None:
            still[pane] = until
    rest = sorted(still.items(), key=lambda it: (it[1], it[0][0], it[0][1] or ""))
    return found, closed + [each for each, _ in rest]


def _number(total, numbers):
    exponents = [int(Decimal(text).as_tuple().exponent) for text in numbers]
    places = max((max(-each, 0) for each in exponents), default=0)
    return f"{total:.{places}f}"


def expected_lines(events, *, zone, lateness, late, median, least_events, least_entities, totals):
    """Return what orders become, by day and country, as JSON texts in order.

    An event is a pair of its time and a mapping with country, customer and products.
    """
    of, order = panes_of(events, zone, lateness, late, median)
    cells = defaultdict(list)
    for pane, (_, event) in zip(of, events, strict=True):
        if pane is not None:
            cells[pane, event.get("country")].append(event)
    lines = []
    for pane in order:
        here = [(key[1], group) for key, group in cells.items() if key[0] == pane]
        lines += _pane_lines(pane, here, least_events, least_entities, totals)
    return lines


def _enough(group, least_events, least_entities):
    customers = {e["customer"] for e in group if e.get("customer") is not None}
    return len(group) >= least_events and len(customers) >= least_entities


def _pane_lines(pane, here, least_events, least_entities, totals):
    good = [(key, group) for key, group in here if _enough(group, least_events, least_entities)]
    held = [event for key, group in here if (key, group) not in good for event in group]
    everything = [event for _, group in here for event in group]
    total = totals and _enough(everything, least_events, least_entities)
    if total and held:
        good.sort(key=lambda it: (-_people(it[1]), -len(it[1]), it[0] is not None, it[0] or ""))
        while good and not _enough(held, least_events, least_entities):
            held = held + good.pop()[1]
    good.sort(key=lambda it: (it[0] is not None, it[0] or ""))
    head = {"day": pane[0]} | ({"update": True} if pane[1] is not None else {})
    lines = [_line(head | ({} if key is None else {"country": key}), group) for key, group in good]
    return lines + ([_line(head | {"total": True}, everything)] if total else [])


def _people(group):
    return len({e["customer"] for e in group if e.get("customer") is not None})


def _line(head, group):
    prices = [p["price"] for e in group for p in e["products"] if "price" in p]
    quantities = [p["quantity"] for e in group for p in e["products"] if "quantity" in p]
    with localcontext() as context:
        context.prec = 200
        exact = [Decimal(text) for text in prices]
        total = sum(exact, Decimal(0))
        fields = [
            f'"{name}":{json.dumps(value, ensure_ascii=False)}' for name, value in head.items()
        ]
        fields += [f'"orders":{len(group)}', f'"customers":{_people(group)}']
        fields += [f'"units":{sum(quantities)}', f'"paid":{_number(total, prices)}']
        if prices:
            fields += [f'"cheapest":{_number(min(exact), prices)}']
            fields += [f'"dearest":{_number(max(exact), prices)}']
            mean = (total / len(exact)).quantize(Decimal("0.01"), rounding="ROUND_HALF_EVEN")
            fields += [f'"mean":{mean:.2f}']
    return "{" + ",".join(fields) + "}"
