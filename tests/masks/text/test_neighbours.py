"""Details among neighbours: any separator, script and form of digits; found whole, and no more.

The texts are put together from parts, so that where a detail stands is known beforehand.
`make fuzz` tries more of them.
"""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.masks.text import DetailSearch, KnownNames

DIGITS = st.sampled_from("0123456789")
#: Digits of other scripts, by their zero.
ZEROS = st.sampled_from("0\uff10\u0660\u06f0\u0966\u0e50")
#: Between the groups of a number.
GAPS = [
    "",
    " ",
    "-",
    "  ",
    "\u00a0",
    "\u2009",
    " \u00a0",
    "\u3000",
    "\u2011",
    " - ",
    "_",
    ".",
    "/",
    "\n",
]
UNSEEN = ["\u00ad", "\u200b", "\u200d", "\u2060", "\ufeff", "\u200e"]
#: Words of scripts with blanks, and of scripts without, which touch what stands next to them.
WORDS = ["paid", "Größe", "ab1", "счёт", "αριθ", "هاتف", "7", "2024"]
TOUCHING = ["号码", "は", "カード", "카드는", "บัตร", "来了"]
SEPARATORS = [
    " ",
    "  ",
    "\u00a0",
    "\n",
    "\t",
    ",",
    ", ",
    ";",
    "|",
    "_",
    ":",
    ": ",
    "=",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    '"',
    "'",
    "/",
    "*",
    "#",
    "-",
    ".",
    "\\",
    "{",
    "}",
    "&",
    "@@ ",
    "\u2013",
    "\uff0c",
    "\u3002",
    "\u3001",
    "\uff1a",
    "\u300c",
    "\u300d",
    "\u201c",
    "\u2019",
    *UNSEEN,
]
BLANKS = {" ", "  ", "\u00a0"}
#: Separators that would be part of the detail between it and a letter (a) or digit (1).
PARTS = {
    ("card", "left", "1"): {".", *UNSEEN},
    ("card", "right", "1"): set(UNSEEN),
    ("email", "left", "a1"): set("_.-'#*&\u2019\u2013") | set(UNSEEN),
    ("email", "right", "a1"): set(".-\u2013") | set(UNSEEN),
    ("ip", "left", "1"): {".", *UNSEEN},
    ("ip", "right", "1"): {".", *UNSEEN},
    ("ipv6", "left", "a1"): {":", "\uff1a", *UNSEEN},
    ("ipv6", "right", "a1"): {":", "\uff1a", ".", *UNSEEN},
    ("date", "left", "1"): {*"-./\u2013", *UNSEEN},
    ("date", "right", "1"): {*"-./\u2013", *UNSEEN},
    ("phone", "left", "1"): {*"-./\u2013", *UNSEEN},
    ("phone", "right", "1"): {*"-./()\n\t\u2013", *BLANKS, *UNSEEN},
    ("url", "right", "a1"): {*SEPARATORS}
    - {*BLANKS, *'\n\t<>"\uff0c\u3002\u3001\u300c\u300d\u201c'},
}
ENGLISH_MONTHS = ("January", "May", "Sept")


def luhn_digit(digits):
    doubled = [sum(divmod(2 * int(it), 10)) for it in digits[::-2]]
    return str(-(sum(doubled) + sum(map(int, digits[-2::-2]))) % 10)


@st.composite
def cards(draw):
    start, sizes = draw(
        st.sampled_from([("4", (4, 4, 4, 4)), ("53", (4, 4, 4, 4)), ("37", (4, 6, 5))])
    )
    body = start + "".join(draw(DIGITS) for _ in range(sum(sizes) - len(start) - 1))
    return draw(grouped(body + luhn_digit(body), sizes))


@st.composite
def ibans(draw):
    country, size = draw(st.sampled_from([("DE", 22), ("GB", 22), ("NO", 15), ("FR", 27)]))
    bank = "".join(draw(DIGITS) for _ in range(size - 4))
    number = "".join(str(int(it, 36)) for it in f"{bank}{country}00")
    text = f"{country}{98 - int(number) % 97:02}{bank}"
    return draw(grouped(text, [4] * (size // 4) + [size % 4] * (size % 4 > 0)))


@st.composite
def grouped(draw, text, sizes):
    gap = draw(st.sampled_from(GAPS))
    parts: list[str] = []
    for size in sizes:
        parts, text = [*parts, text[:size]], text[size:]
    return gap.join(parts)


@st.composite
def phones(draw):
    gap = draw(st.sampled_from(["", " ", "-", "\u00a0", "  ", "\u2011", "."]))
    zone = draw(st.sampled_from(["20 7946", "161 496"]))
    return f"+44 {zone} 0{draw(st.integers(100, 999))}".replace(" ", gap)


@st.composite
def dates(draw):
    day = draw(st.dates(dt.date(1800, 1, 1), dt.date(2099, 12, 31)))
    month = ENGLISH_MONTHS[day.month % 3]
    return draw(
        st.sampled_from(
            [
                f"{day:%Y-%m-%d}",
                f"{day:%d.%m.%Y}",
                f"{day.month}/{day.day}/{day.year}",
                f"{day:%Y/%m/%d}",
                f"{day:%d-%m-%Y}",
                f"{min(day.day, 28)} {month} {day.year}",
            ]
        )
    )


ATOMS = st.text(st.sampled_from("abz09üñж_"), min_size=1, max_size=5)
LABELS = st.text(st.sampled_from("abz09ü"), min_size=1, max_size=5)
EMAILS = st.builds(
    lambda atoms, by, labels: f"{by.join(atoms)}@{'.'.join(labels)}.org",
    st.lists(ATOMS, min_size=1, max_size=3),
    st.sampled_from(".-+'\u2019&%_"),
    st.lists(LABELS, min_size=1, max_size=2),
) | st.sampled_from(['"ann lee"@example.com', "ann@[192.168.0.1]"])
DETAILS = {
    "card": cards(),
    "iban": ibans(),
    "email": EMAILS,
    "idn": st.just("用户@例子.广告"),
    "ip": st.ip_addresses(v=4, network="10.0.0.0/8").map(str),
    "ipv6": st.ip_addresses(v=6, network="2001:db8::/32").map(str),
    "mac": st.binary(min_size=6, max_size=6).map(lambda it: it.hex(":")),
    "uuid": st.uuids().map(str),
    "phone": phones(),
    "date": dates(),
    "url": st.builds("https://{}.org/{}".format, LABELS, ATOMS),
}
TYPES = {"ipv6": "ip", "idn": "email"}
FOLDED = {"card", "ip", "phone", "date", "mac"}


def in_script(text, zero):
    return "".join(chr(ord(zero) + int(it)) if it in "0123456789" else it for it in text)


def is_part(kind, side, separator, word):
    """Return whether separator and word may belong to the detail, so that nobody can tell."""
    at = word[-1:] if side == "left" else word[:1]
    sign = "1" if at.isdigit() else "a"
    if word in TOUCHING and kind not in {"url", "idn"} and separator not in {"_", "."}:
        return False
    return (word in TOUCHING and not separator) or any(
        sign in signs and separator in parts
        for (of, where, signs), parts in PARTS.items()
        if (of, where) == (kind.replace("idn", "email"), side)
    )


@st.composite
def neighbours(draw, kind, side, *, unseen=True):
    word = draw(st.sampled_from(["", *WORDS, *TOUCHING]))
    choices = [it for it in SEPARATORS if unseen or it not in UNSEEN] + [""] * 5
    choices = [it for it in choices if not is_part(kind, side, it, word or "a")]
    if word in WORDS:
        choices = [it for it in choices if it]
    separator = draw(st.sampled_from(choices))
    return word + separator if side == "left" else separator + word


@st.composite
def texts(draw, kinds=tuple(DETAILS)):
    kind = draw(st.sampled_from(kinds))
    detail = draw(DETAILS[kind])
    if kind in FOLDED:
        detail = in_script(detail, draw(ZEROS))
    hidden = kind != "url" and draw(st.integers(0, 5)) == 0
    if hidden:
        at = draw(st.integers(1, len(detail) - 1))
        detail = detail[:at] + draw(st.sampled_from(UNSEEN)) + detail[at:]
    left = draw(neighbours(kind, "left", unseen=not hidden))
    right = draw(neighbours(kind, "right", unseen=not hidden))
    return TYPES.get(kind, kind), left, detail, right


SEARCHES = {kind: DetailSearch((kind,)) for kind in DETAILS if kind not in TYPES}


@pytest.mark.slow
@settings(max_examples=4 * settings().max_examples)
@given(texts())
def test_details_are_found_whole_among_any_neighbours(case):
    kind, left, detail, right = case
    text = f"{left}{detail}{right}"

    found = [text[it.start : it.stop] for it in SEARCHES[kind].find(text)]
    assert found == [detail], ascii((kind, left, detail, right))


NAMES = {
    "王小明": ["王小明", "王 小明"],
    "田中 太郎": ["田中太郎", "田中\u3000太郎"],
    "김철수": ["김철수"],
    "สมชาย": ["สมชาย"],
    "タナカ": ["タナカ", "\uff80\uff85\uff76"],
    "Nguyễn Văn An": ["NGUYEN VAN AN"],
    "Müller": [
        "Müller",
        "Mu\u0308ller",
        "MÜLLER",
        "Müllers",
        "\uff2d\u00fc\uff4c\uff4c\uff45\uff52",
    ],
    "Łukasz": ["Łukasz", "Lukasz"],
    "Anna": ["Anna", "Annas"],
    "O'Neil": ["O'Neil", "O\u2019Neil"],
    "Иванов": ["Иванов", "Иванову", "Ивановым", "ИВАНОВА"],
    "Анна Белая": ["Анне Белой", "Анну  Белую"],
    "Παπαδόπουλος": ["Παπαδόπουλου"],
    "राम": ["राम"],
    "प्रिया": ["प्रिया"],
    "محمد": ["محمد", "مُحَمَّد"],
}
KNOWN = DetailSearch(("name",), names=KnownNames(NAMES, countries=["DE"]))
#: Words that begin as names do, or end so.
NO_NAMES = ["paid", "Annette", "Hanna", "रामायण", "Müllerei", "タナカー", "счёт", "7"]


@st.composite
def named_texts(draw):
    name = draw(st.sampled_from([it for written in NAMES.values() for it in written]))
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(1, len(name) - 1))
        name = name[:at] + draw(st.sampled_from(["\u00ad", "\u200b", "\u2060"])) + name[at:]
    sides = []
    for _ in range(2):
        word = draw(st.sampled_from(["", *NO_NAMES, *TOUCHING]))
        touches = word not in NO_NAMES and ("タ" not in name or "カ" not in word)
        seps = [it for it in SEPARATORS if it not in UNSEEN] + [""] * 9 * touches
        sides.append((word, draw(st.sampled_from(seps))))
    (before, one), (after, other) = sides
    return before + one, name, other + after


@pytest.mark.slow
@settings(max_examples=4 * settings().max_examples)
@given(named_texts())
def test_names_are_found_whole_in_any_script(case):
    left, name, right = case
    text = f"{left}{name}{right}"

    found = [text[it.start : it.stop] for it in KNOWN.find(text)]
    assert found == [name], ascii(case)


@given(st.lists(texts(("card", "iban", "email", "ip", "phone", "uuid")), min_size=1, max_size=4))
def test_details_of_all_types_are_found_next_to_each_other(cases):
    text, expected = "", []
    for _, _, detail, _ in cases:
        start = len(text) + 2
        text += f"; {detail}"
        expected.append((start, len(text)))

    assert [it[:2] for it in DetailSearch(tuple(SEARCHES)).find(text)] == expected
