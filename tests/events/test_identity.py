"""One rule of which values are the same: for pseudonyms, draws, guarantees, counts and verifier."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import example, given, settings

from events.running import SECRET, run, transform_of  # type: ignore[import-not-found] # beside, not in a package
from halfmask.data.value_patterns import names_nobody
from halfmask.events import EventPolicy, Kind, Transform, reverse_events, run_events, stage_of
from halfmask.events.block._words import lookup_word, person_word, scalar_token
from halfmask.events.report import claims_of
from halfmask.events.report._risk import RiskCounts
from halfmask.events.streams import open_sink, open_source
from halfmask.vault import KeyFile, Vault
from halfmask.verifier.events import verify_events
from halfmask.verifier.events._guarantees import _who
from halfmask.verifier.events._reading import Number, same_text

#: One customer, as services write it; and others that only look like it.
SAME = ["1042", '"1042"', "1042.0", "1.042e3", "104200E-2", '"\\u0031042"']
OTHERS = ['"1042.0"', '"01042"', '" 1042"', '"1.042e3"', "1042.5", "-1042"]
ZEROS = ["0", "-0", "-0.0", "0e9", '"0"']
FAR = ["1" + "0" * 450, "1e450", "10.0e449", '"1e450"']


def made(rules, texts, *, cuts=1, **more):
    """Return what rules write at `v` for events that have these JSON texts at `v`."""
    transform = transform_of(rules, **more)
    lines = [f'{{"v":{text},"n":5,"t":"2024-03-01"}}\n'.encode() for text in texts]
    step = -(-len(lines) // cuts)
    parts = [b"".join(lines[i : i + step]) for i in range(0, len(lines), step)]
    return [json.loads(line) for part in parts for line in transform.apply(part).splitlines()]


PSEUDONYMS: dict[str, dict[str, Any]] = {
    "token": {"do": "token"},
    "hash": {"do": "hash"},
    "number": {"do": "hash", "form": "number", "bits": 53},
    "stream": {"do": "sequence", "scope": "stream"},
}


@pytest.mark.parametrize("cuts", [1, 3])
@pytest.mark.parametrize("do", PSEUDONYMS)
def test_one_customer_has_one_pseudonym(do, cuts):
    """However a number is written, and whether it is a text; other texts are others."""
    for same in (SAME, ZEROS, ["true", '"true"']):
        found = made([{"path": "v", **PSEUDONYMS[do]}], same + OTHERS, cuts=cuts)
        words = [event["v"] for event in found]
        assert len(set(words[: len(same)])) == 1
        assert len(set(words)) == 1 + len(OTHERS)
    far = made([{"path": "v", **PSEUDONYMS[do]}], FAR)
    assert len({event["v"] for event in far}) == 1


@pytest.mark.parametrize("scope", ["session", "tenant", "event"])
def test_numbers_begin_anew_for_the_same_scopes(scope):
    """Session 1042 and session "1042" are one; within an event, elements are the same, too."""
    texts = "".join(f'{{"s":{text},"v":["a",{text}]}}\n' for text in SAME)
    stream = {} if scope == "event" else {scope: "s"}
    rules = [{"path": "v[]", "do": "sequence", "scope": scope}]
    lines = transform_of(rules, stream=stream).apply(texts.encode()).splitlines()
    assert set(lines) == {b'{"v":[1,2]}'}
    inner = transform_of([{"path": "v[]", "do": "sequence", "scope": "event"}])
    assert inner.apply(f'{{"v":[{",".join(SAME)}]}}'.encode()) == b'{"v":[1,1,1,1,1,1]}\n'


@pytest.mark.parametrize(
    "rule",
    [
        {"path": "n", "do": "noise", "how": "add", "law": "gaussian", "scale": 9.0,
         "per": "entity", "decimals": 9},
        {"path": "t", "do": "shift", "within": "3000 days", "zone": "UTC", "zoneless": "UTC"},
    ],
)  # fmt: skip
def test_an_entity_has_one_draw(rule):
    found = made([rule], SAME + OTHERS, stream={"entity": "v"})
    drawn = [event[rule["path"]] for event in found]
    assert len(set(drawn[: len(SAME)])) == 1
    assert len(set(drawn)) == 1 + len(OTHERS)


def test_texts_are_compared_by_code_points():
    """An escape is its letter. Composed and decomposed letters are two texts, as are cases."""
    texts = ['"caf\\u00e9"', '"café"', '"cafe\\u0301"', '"CAFÉ"']
    found = [event["v"] for event in made([{"path": "v", "do": "token"}], texts)]
    assert found[0] == found[1]
    assert len(set(found)) == 3


GUARDED = """
halfmask-events = 1
release = "r"
[stream]
time = "t"
entity = "v"
zone = "UTC"
[[rule]]
path = "v"
do = "keep"
[[rule]]
path = "n"
do = "keep"
[window]
every = "1 day"
zone = "UTC"
[[guarantee]]
kind = "distinct"
paths = ["n"]
k = 2
fails = "field"
"""


@pytest.mark.parametrize(("texts", "kept"), [(SAME, False), (["1042", "1043"], True)])
def test_guarantees_and_the_verifier_count_the_same_entities(texts, kept):
    policy = EventPolicy.from_toml(GUARDED)
    transform, stage = Transform(policy, secret=SECRET), stage_of(policy)
    lines = b"".join(f'{{"v":{it},"n":5,"t":"2024-03-01"}}\n'.encode() for it in texts)
    block = transform.scan(lines)
    out = bytes(stage.take(transform.change(block), block)) + stage.finish()
    assert [("n" in json.loads(line)) for line in out.splitlines()] == [kept] * len(texts)

    # The verifier sees what a run shows that counted otherwise.
    claims = replace(claims_of(stage), panes=(len(texts),))
    shown = [f'{{"v":{it},"n":5}}'.encode() for it in texts]
    assert verify_events(shown, claims).holds == kept


#: What programs write where they know nobody.
NOBODY = ["null", '""', '"  "', "false", "true", '"false"', "{}", "[]"]


@pytest.mark.parametrize("nobody", NOBODY)
def test_what_names_nobody_is_no_entity(nobody):
    """One person and one nobody are one: run, verifier and report agree."""
    texts, k_kept = ["7", nobody], False
    policy = EventPolicy.from_toml(GUARDED)
    transform, stage = Transform(policy, secret=SECRET), stage_of(policy)
    block = transform.scan(
        b"".join(f'{{"v":{it},"n":5,"t":"2024-03-01"}}\n'.encode() for it in texts)
    )
    out = bytes(stage.take(transform.change(block), block)) + stage.finish()
    assert [("n" in json.loads(line)) for line in out.splitlines()] == [k_kept] * 2

    claims = replace(claims_of(stage), panes=(2,))
    assert not verify_events([f'{{"v":{it},"n":5}}'.encode() for it in texts], claims).holds

    counts = RiskCounts(entity=(".v",), session=None)
    for at, text in enumerate(texts):
        counts.add(f'{{"v":{text},"n":{at}}}'.encode())
    assert counts.counted().traces == 1


@pytest.mark.parametrize("nobody", NOBODY)
def test_what_names_nobody_has_no_draw(nobody):
    rule = {"path": "n", "do": "noise", "how": "add", "law": "gaussian", "scale": 9.0,
            "per": "entity", "decimals": 9}  # fmt: skip

    (found,) = made([rule], [nobody], stream={"entity": "v"})

    assert "n" not in found


CELLS = """
halfmask-events = 1
release = "r"
[stream]
time = "t"
entity = "v"
zone = "UTC"
[[rule]]
path = "n"
do = "keep"
[window]
every = "1 day"
zone = "UTC"
[[aggregate]]
window = "day"
by = { n = "n" }
count = "events"
min-entities = 2
"""


@pytest.mark.parametrize("nobody", NOBODY)
def test_what_names_nobody_is_no_entity_of_a_cell(nobody):
    """One person and one nobody are too few for a cell; two persons aren't."""
    policy = EventPolicy.from_toml(CELLS)
    for texts, written in ((["7", nobody], 0), (["7", nobody, "8"], 1)):
        transform, stage = Transform(policy, secret=SECRET), stage_of(policy)
        block = transform.scan(
            b"".join(f'{{"v":{it},"n":5,"t":"2024-03-01"}}\n'.encode() for it in texts)
        )
        out = bytes(stage.take(transform.change(block), block)) + stage.finish()
        assert [json.loads(line)["events"] for line in out.splitlines()] == [len(texts)] * written


@given(st.text(alphabet="truefalsTF \t\n\x0b\x1c\x1f\x85\xa0\u2003\u200b\x00", max_size=7))
@example(" true\n")
@example("\x1cfalse")
def test_events_tables_and_the_verifier_agree_on_who_is_nobody(word):
    by_verifier = _who({"v": word}, ("v",)) is None
    by_table = names_nobody(pl.Series([word])).to_list()

    token = scalar_token(word)

    assert token is not None
    assert (person_word(*token) is None) == by_verifier
    assert by_table == [by_verifier]


def test_columns_of_other_types_name_nobody_where_they_are_missing():
    assert names_nobody(pl.Series([0, None])).to_list() == [False, True]
    assert names_nobody(pl.Series([True, False, None])).to_list() == [True] * 3
    assert names_nobody(pl.Series([" ", "a"], dtype=pl.Categorical)).to_list() == [True, False]


@pytest.mark.parametrize("kept", [False, True])
def test_null_is_seen_where_others_have_nothing(kept):
    """One person alone shows it: left out, and refused by the verifier; two may."""
    policy = EventPolicy.from_toml(GUARDED)
    transform, stage = Transform(policy, secret=SECRET), stage_of(policy)
    whose = [1, 2 if kept else 1]
    lines = [f'{{"v":{who},"n":null,"t":"2024-03-01"}}\n' for who in whose]
    lines += [f'{{"v":{who},"t":"2024-03-01"}}\n' for who in (3, 4)]
    block = transform.scan("".join(lines).encode())
    out = bytes(stage.take(transform.change(block), block)) + stage.finish()
    assert [("n" in json.loads(line)) for line in out.splitlines()] == [kept, kept, False, False]

    claims = replace(claims_of(stage), panes=(4,))
    shown = [f'{{"v":{who},"n":null}}'.encode() for who in whose]
    assert verify_events([*shown, b'{"v":3}', b'{"v":4}'], claims).holds == kept


@pytest.mark.parametrize(
    ("texts", "kept"), [(["1", '"1"'], False), (["1", "1.0"], False), (["1"] * 2, True)]
)
def test_guarantees_count_values_as_they_are_written(texts, kept):
    policy = EventPolicy.from_toml(GUARDED)
    transform, stage = Transform(policy, secret=SECRET), stage_of(policy)
    lines = [f'{{"v":{who},"n":{it},"t":"2024-03-01"}}\n' for who, it in enumerate(texts)]
    block = transform.scan("".join(lines).encode())
    out = bytes(stage.take(transform.change(block), block)) + stage.finish()
    assert [("n" in json.loads(line)) for line in out.splitlines()] == [kept] * 2

    claims = replace(claims_of(stage), panes=(2,))
    shown = [f'{{"v":{who},"n":{it}}}'.encode() for who, it in enumerate(texts)]
    assert verify_events(shown, claims).holds == kept


NUMBERS = st.one_of(
    st.integers().map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.builds("{}.{}e{}".format, st.integers(), st.text("0123456789", min_size=1, max_size=9),
              st.integers(-900, 900)),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=300)
@given(NUMBERS, NUMBERS)
def test_verifier_and_run_agree_on_numbers(one, other):
    """Two ways to find the word of a number, held against each other and against decimals."""
    words = []
    for text in (one, other):
        whole = text.lstrip("-").isdigit()
        word = lookup_word(Kind.INTEGER if whole else Kind.NUMBER, text.encode())
        assert word == same_text(Number(text))
        assert word is not None
        assert Decimal(word) == Decimal(text)
        words.append(word)
    assert (words[0] == words[1]) == (Decimal(one) == Decimal(other))


KINDS = {
    "numbers": (["1042", "7", "9007199254740993", "2.50"], [1042, 7, 9007199254740993, 2.5]),
    "texts": (['"1042"', '"007"', '"x"', '"1e3"'], ["1042", "007", "x", "1e3"]),
    "both": (['"1042"', "1042.0", '"007"', '"-0"'], [1042, 1042, "007", "-0"]),
    "booleans": (["true", '"x"'], [True, "x"]),
}


@pytest.mark.parametrize("do", ["token", "sequence"])
@pytest.mark.parametrize("kind", KINDS)
def test_pseudonyms_come_back_as_what_they_were(tmp_path, kind, do):
    """Where a field had numbers and texts, what is written as a number comes back as one."""
    texts, expected = KINDS[kind]
    scope = 'scope = "stream"\n' if do == "sequence" else ""
    policy = EventPolicy.from_toml(
        f'halfmask-events = 1\nrelease = "r"\n[[rule]]\npath = "v"\ndo = "{do}"\n{scope}'
    )
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    given_, out, back = tmp_path / "in", tmp_path / "out", tmp_path / "back"
    given_.write_text("".join(f'{{"v":{it}}}\n' for it in texts))
    run_events(policy, open_source(given_), open_sink(out), vault=vault)
    reverse_events(policy, open_source(out), open_sink(back), vault=vault)

    found = [json.loads(line)["v"] for line in back.read_text().splitlines()]
    assert found == expected
    assert [type(it) for it in found] == [type(it) for it in expected]


def test_the_report_counts_one_customer_once():
    counts = RiskCounts(entity=(".v",), session=None)
    for at, text in enumerate([*SAME, "7"]):
        counts.add(f'{{"v":{text},"n":{at}}}'.encode())
    assert counts.counted().traces == 2


def test_long_decimals_are_not_merged_in_the_report():
    """Beyond 53 bits floats would be equal, and events no longer unique."""
    counts = RiskCounts(entity=(".v",), session=None)
    for at, text in enumerate(["9007199254740993.0", "9007199254740992.0"]):
        counts.add(f'{{"v":{at},"n":{text}}}'.encode())
    assert counts.counted().known[0] == (1, 2, 1.0)


def test_conditions_tell_numbers_from_texts():
    """They ask for what stands there; TOML has both."""
    rules = [{"path": "v", "do": "keep", "when": {"path": "v", "is": 1042}}]
    found, _ = run(rules, [{"v": 1042.0}, {"v": "1042"}])
    assert found == [{"v": 1042.0}, {}]
