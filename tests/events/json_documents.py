"""JSON documents in every form, and what a plain reader finds in them: shares no code with ours."""

from __future__ import annotations

import json

from hypothesis import strategies as st

MISSING = object()
ELEMENT = object()
NAMES = ["a", "b", "id", "", "c.d", 'q"', "é", "long name of a field", "[]", "*"]
NUMBERS = ["0", "-0", "1", "-17", "1.0", "2.50", "1e5", "1E+5", "-0.0e-0", "9" * 40, "1e400"]


class Number(str):
    """A number as it was written."""

    __slots__ = ()


@st.composite
def documents(draw):
    """An object that json.dumps could write, whose numbers are texts."""
    leaves = (
        st.none()
        | st.booleans()
        | st.sampled_from(NUMBERS).map(Number)
        | st.text(max_size=6)
        | st.text(alphabet='"\\/\n\t\x00\x1f\x7fé€😀', max_size=80)
    )
    names = st.sampled_from(NAMES)
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
        max_leaves=12,
    )
    return draw(st.dictionaries(names, values, max_size=6))


def written(value, random):
    """Return a document's text with random escapes and white space."""
    space = lambda: random.choice(["", "", "", " ", "\t", " \r "])  # noqa: E731 # twice a line
    if isinstance(value, Number):
        text = str(value)
    elif isinstance(value, str):
        text = f'"{"".join(_character(c, random) for c in value)}"'
    elif isinstance(value, dict):
        fields = [
            f"{space()}{written(k, random)}{space()}:{space()}{written(v, random)}{space()}"
            for k, v in value.items()
        ]
        text = f"{{{','.join(fields) or space()}}}"
    elif isinstance(value, list):
        inside = [f"{space()}{written(v, random)}{space()}" for v in value]
        text = f"[{','.join(inside) or space()}]"
    else:
        text = json.dumps(value)
    return text


def _character(character, random):
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\n": "\\n", "\t": "\\t"}
    how = random.randrange(3)
    if how == 0:
        units = character.encode("utf-16-be")
        hexes = [units[i : i + 2].hex() for i in range(0, len(units), 2)]
        return "".join(f"\\u{h.upper() if random.random() < 0.5 else h}" for h in hexes)
    if how == 1 and character in short:
        return short[character]
    plain = character not in {'"', "\\"} and character >= " "
    return character if plain else json.dumps(character, ensure_ascii=False)[1:-1]


def accepted(line):
    """Return the document of a line, or the word `MISSING` if a strict reader refuses it."""
    try:
        text = line.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse, parse_int=Number, parse_float=Number)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return MISSING
    return value


def _refuse(word):
    raise ValueError(word)


def found_at(events, steps):
    """Return what is at a place in events: one value for each event, or for each element."""
    values = list(events)
    for step in steps:
        if step is ELEMENT:
            values = [inner for value in values if isinstance(value, list) for inner in value]
        else:
            values = [
                value.get(step, MISSING) if isinstance(value, dict) else MISSING for value in values
            ]
    return values


def places_in(events):
    """Return all places in events, the event itself left out."""
    found = set()

    def walk(value, place):
        found.add(place)
        if isinstance(value, list):
            found.add((*place, ELEMENT))
            for element in value:
                walk(element, (*place, ELEMENT))
        elif isinstance(value, dict):
            for name, beneath in value.items():
                walk(beneath, (*place, name))

    for event in events:
        walk(event, ())
    return found - {()}


def token(value):
    """Return the kind's name and the token that a value is to have."""
    if value is MISSING:
        return "MISSING", b""
    if isinstance(value, Number):
        return "NUMBER" if set(value) & set(".eE") else "INTEGER", value.encode()
    if isinstance(value, str):
        return "STRING", json.dumps(value, ensure_ascii=False)[1:-1].encode()
    if isinstance(value, dict):
        return "OBJECT", b"{}"
    if isinstance(value, list):
        return "ARRAY", b"[]"
    return {None: "NULL", True: "TRUE", False: "FALSE"}[value], json.dumps(value).encode()
