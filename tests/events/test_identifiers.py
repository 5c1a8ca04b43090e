"""What is done to identifiers: tokens, hashes, sequences, masks, recoding, hierarchies, texts."""

from __future__ import annotations

import json
import subprocess
import sys

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from events.running import SECRET, lines_of, one, run, transform_of  # type: ignore[import-not-found] # beside, not in a package
from halfmask._errors import IntegrityError
from halfmask.events import SecretTable, read_text
from halfmask.events.actions import reveal_token
from halfmask.events.secrets._keys import EventKeys
from halfmask.vault import Secret

SHORT = st.lists(st.one_of(st.text(max_size=12), st.integers()), max_size=20)
SCALARS = st.one_of(st.text(max_size=40), st.integers(), st.booleans())


@settings(max_examples=30)
@given(st.lists(SCALARS, min_size=1, max_size=20))
def test_tokens_come_back(values):
    """Equal values have equal tokens, others others; who has the secret turns them back."""
    found, failures = one({"do": "token"}, values)
    keys = EventKeys(secret=SECRET, release="r")
    back = [reveal_token(it, keys=keys, domain="v") for it in found]

    assert failures == {}
    texts = [it if isinstance(it, str) else json.dumps(it) for it in values]
    assert [(kind.name, read_text(token)) for kind, token in back] == [
        ("STRING", text) for text in texts
    ]
    assert len(set(found)) == len(set(texts))


def test_tokens_are_of_one_release_and_secret():
    """Another release's, another secret's and a forged token aren't turned back."""
    [token], _ = one({"do": "token"}, ["ann"])
    others = [
        one({"do": "token"}, ["ann"], release="other")[0],
        one({"do": "token"}, ["ann"], secret=Secret.fresh())[0],
        one({"do": "token", "domain": "else"}, ["ann"])[0],
    ]

    assert len({token, *(it for [it] in others)}) == 4
    for wrong in (*(it for [it] in others), token[:-4], token + "A", "", "é", "A" * 43):
        with pytest.raises(IntegrityError, match="no token of this secret"):
            reveal_token(wrong, keys=EventKeys(secret=SECRET, release="r"), domain="v")


def test_fields_of_one_domain_share_tokens():
    """So that buyer and seller can be joined; by default they can't."""
    event = {"buyer": "ann", "seller": "ann"}
    rules = [{"path": name, "do": "token"} for name in event]
    joined = [{**rule, "domain": "person"} for rule in rules]
    for do in ("token", "hash"):
        [apart], _ = run([{**rule, "do": do} for rule in rules], [event])
        [same], _ = run([{**rule, "do": do} for rule in joined], [event])

        assert apart["buyer"] != apart["seller"]
        assert same["buyer"] == same["seller"]


@pytest.mark.slow
def test_another_process_gives_the_same():
    """Tokens, hashes, noise and jitter follow from the secret alone."""
    code = f"""
import json, sys
sys.path[:0] = {sys.path!r}
from events.running import run  # type: ignore[import-not-found] # beside, not in a package
print(json.dumps(run({RULES!r}, {EVENTS!r}, stream={{"entity": "who"}})[0]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == run(RULES, EVENTS, stream={"entity": "who"})[0]
    others = run(RULES, EVENTS, stream={"entity": "who"}, release="next")[0]
    for here, there in zip(json.loads(done.stdout), others, strict=True):
        assert all(here[name] != there[name] for name in here)


RULES = [
    {"path": "who", "do": "token"},
    {"path": "id", "do": "hash", "bits": 53, "form": "number"},
    {"path": "n", "do": "noise", "how": "add", "law": "gaussian", "scale": 9.0, "per": "entity",
     "decimals": 9},
    {"path": "m", "do": "noise", "how": "multiply", "law": "laplace", "scale": 1.0, "per": "event",
     "decimals": 9},
    {"path": "t", "do": "coarsen-time", "every": "1 day", "zone": "UTC", "jitter": "1 millisecond"},
    {"path": "u", "do": "shift", "within": "3000 days", "zone": "UTC", "step": "1 second"},
]  # fmt: skip
NOON = "2014-09-04T12:00:00Z"
NOON = "2014-09-04T12:00:00Z"
EVENTS = [{"who": it, "id": 7, "n": 1, "m": 2, "t": NOON, "u": NOON} for it in ("ann", "bob")]


def test_hashes_have_their_bits():
    """Few bits merge values; digits are as many as the bits need."""
    many, _ = one({"do": "hash", "bits": 5, "form": "number"}, list(range(2_000)))
    wide, _ = one({"do": "hash", "bits": 130}, ["a", 1, "1.0", 2.5, True])

    assert set(many) == set(range(32))
    assert {len(it) for it in wide} == {33}
    assert len(set(wide)) == 5


@settings(max_examples=30)
@given(SHORT, st.integers(0, 4), st.integers(1, 4))
def test_masks(values, first, last):
    """The ends are kept, marks stand for the rest; short texts are masked whole."""
    found, _ = one({"do": "mask", "first": first, "last": last}, values)
    fixed, _ = one({"do": "mask", "first": first, "last": last, "length": 3}, values)

    for value, shown, short in zip(map(str, values), found, fixed, strict=True):
        middle = len(value) - first - last
        whole = middle <= 0
        ends = ("", "") if whole else (value[:first], value[len(value) - last :])
        assert shown == ends[0] + "*" * (len(value) if whole else middle) + ends[1]
        assert short == ends[0] + "***" + ends[1]


def test_recoding():
    """What the table has is written as it says; others are dropped, or become one."""
    table = SecretTable.from_toml(
        'halfmask-table = 1\nkind = "recode"\n[values]\n'
        '"1" = 1.50\n"ab" = "é\\"\\n"\ntrue = false\n'
    )
    values = [1, "1", 1.0, "ab", True, "other", 10**30, None, [], {}]
    action = {"do": "recode", "table": "t"}

    dropped = one(action, values, tables={"t": table})
    other, _ = one({**action, "other": "x"}, values, tables={"t": table})

    assert dropped[0] == [1.5, 1.5, 1.5, 'é"\n', False, ..., ..., None, ..., ...]
    assert dropped[1] == {"not-in-table": 2, "wrong-type": 2}
    assert other[5:] == ["x", "x", None, ..., ...]


def test_hierarchies(tmp_path):
    """Labels of a file, of groups, intervals and prefixes."""
    (tmp_path / "h.csv").write_text("lyon;france;europe\nrome;italy;europe\n7;seven;number\n")
    values = ["lyon", "rome", 7, "oslo", 23, None]
    cases: list[tuple[dict[str, object], int, list[object]]] = [
        ({"file": "h.csv"}, 1, ["france", "italy", "seven", ..., ..., None]),
        ({"file": "h.csv"}, 2, ["europe", "europe", "number", ..., ..., None]),
        ({"groups": {"south": ["lyon", "rome"], "north": ["oslo"]}}, 1,
         ["south", "south", ..., "north", ..., None]),
        ({"intervals": [5, 10]}, 2, [..., ..., "[0, 10)", ..., "[20, 30)", None]),
        ({"prefix": [2, 1], "length": 4}, 1, ["ly**", "ro**", ..., "os**", ..., None]),
    ]  # fmt: skip
    for hierarchy, level, expected in cases:
        action = {"do": "generalize", "hierarchy": hierarchy, "level": level}
        found, _ = one(action, values, folder=tmp_path)

        if "prefix" in hierarchy:
            found[2] = found[4] = ...
        assert found == expected


def test_free_texts():
    """Addresses, numbers and names are taken out; what isn't one stays."""
    people = {"Rinat Abdullin": True, "Ann": True, "王小明": True, "Иванов": True}
    names = SecretTable(kind="names", values=people)
    texts = {
        "mail ann.b@example.co.uk or +7 917 123-45-67 now": "mail [email] or [phone] now",
        "see https://example.org/?q=1 and 192.168.0.1, fe80::1!": "see [url] and [ip], [ip]!",
        "card 4111 1111 1111 1111 iban DE89 3704 0044 0532 0130 00.": "card [card] iban [iban].",
        "rinat abdullin met ann, not Annette": "[name] met [name], not Annette",
        "病人王小明来了 Иванову": "病人[name]来了 [name]",
        "id=7,4111111111111111,x o'neil@example.com": "id=7,[card],x [email]",
        'version 1.2.3 of 2014, "5 pieces"\n': 'version 1.2.3 of 2014, "5 pieces"\n',
    }
    action = {"do": "free-text", "people": "n"}

    found, failures = one(action, [*texts, 5, "x" * 100_001], tables={"n": names})
    dropped, why = one({**action, "found": "drop"}, [*texts], tables={"n": names})

    assert found == [*texts.values(), ..., ...]
    assert failures == {"wrong-type": 1, "too-long": 1}
    assert [it is ... for it in dropped] == [True, True, True, True, True, True, False]
    assert why == {"personal-data": 6}


def test_keeping_and_erasing():
    """Scalars are kept as they were written, containers never; what is erased isn't there."""
    values = ["é\n", 1.50, 10**30, True, None, {"x": 1}, [1], {}, []]

    assert one({"do": "keep"}, values) == (
        [*values[:5], ..., ..., ..., ...],
        {"wrong-type": 4},
    )
    assert one({"do": "erase"}, values) == ([...] * 9, {})
    transform = transform_of([{"path": "v", "do": "keep"}])
    assert transform.apply(b'{"v": 1.50}\n{"v":-0.0e-0}') == b'{"v":1.50}\n{"v":-0.0e-0}\n'


SCOPED = st.lists(
    st.tuples(st.sampled_from(["s", "t", None, 1]), st.lists(st.sampled_from("abc"), max_size=4)),
    max_size=30,
)


@settings(max_examples=30)
@given(
    SCOPED, st.sampled_from(["stream", "session", "event"]), st.integers(1, 3), st.integers(1, 5)
)
def test_sequences(stream, scope, most, size):
    """As a plain loop numbers them, wherever blocks end; the oldest scopes are forgotten."""
    events = [{"s": session, "items": [{"id": it} for it in items]} for session, items in stream]
    rule = {"path": "items[].id", "do": "sequence", "scope": scope, "open": most}
    transform = transform_of([rule], stream={"session": "s"})
    found = []
    for start in range(0, len(events), size):
        found += transform.apply(lines_of(events[start : start + size])).splitlines()
        other = transform_of([rule], stream={"session": "s"})
        other.restore(transform.state())
        transform = other

    assert [json.loads(it) for it in found] == list(_numbered(events, scope, most))


def _numbered(events, scope, most):
    known: dict[object, dict[str, int]] = {}
    for number, event in enumerate(events):
        key = {"stream": "all", "session": event["s"], "event": number}[scope]
        items: list[dict[str, int]] = []
        for item in event["items"]:
            if key is None:
                items.append({})
                continue
            numbers = known.pop(key, {})
            known[key] = numbers
            if len(known) > most and scope == "session":
                del known[next(iter(known))]
            items.append({"id": numbers.setdefault(item["id"], len(numbers) + 1)})
        yield {"items": items}
