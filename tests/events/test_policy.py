"""A policy says what is wrong with it: where, what was got, what was meant; never a category."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import DataError, HalfmaskError, PolicyError
from halfmask.claims import WEAKNESSES
from halfmask.events import EventPolicy, SecretTable
from halfmask.events.actions import ACTIONS
from halfmask.events.secrets._tables import TableKind

HEAD = 'halfmask-events = 1\nrelease = "r"\n'
CANARY = "CaNaRy-7f3a"
#: A full example of each action, with every key.
FULL: dict[str, dict[str, Any]] = {
    "erase": {},
    "keep": {},
    "sequence": {"scope": "session", "open": 5},
    "token": {"domain": "d"},
    "hash": {"bits": 20, "form": "number", "domain": "d"},
    "coarsen-time": {
        "every": "1 day", "zone": "Europe/Berlin", "jitter": "1 second", "zoneless": "UTC",
        "unit": "seconds", "write": "offset", "to": "down",
    },
    "shift": {
        "within": "3 weeks", "step": "1 week", "by": "who", "zone": "UTC", "domain": "d",
        "zoneless": "UTC", "unit": "milliseconds", "write": "date",
    },
    "round": {"step": 0.05, "to": "up", "units": [" EUR"]},
    "noise": {
        "how": "add", "law": "gaussian", "scale": 1.5, "per": "entity", "by": "who", "most": 4.0,
        "low": 0.0, "high": 9.5, "decimals": 2, "units": [" EUR"],
    },
    "scale": {"table": "f", "by": "who", "other": 1.0, "decimals": 2, "units": ["x"]},
    "recode": {"table": "t", "other": "x"},
    "mask": {"first": 1, "last": 2, "length": 3, "mark": "#"},
    "generalize": {"hierarchy": {"groups": {"a": ["b"]}}, "level": 1},
    "free-text": {"find": ["email"], "people": "n", "found": "drop"},
}  # fmt: skip


def _rules(*rules, stream=None):
    return {"halfmask-events": 1, "release": "r", "stream": stream or {}, "rule": list(rules)}


@pytest.mark.parametrize("do", FULL)
def test_every_action_goes_to_toml_and_back(do):
    """With all its keys, conditions, another action behind it, and what is said of the stream."""
    rule = {
        "path": "v", "name": "w", "do": do, **FULL[do], "otherwise": "refuse-event",
        "when": [{"path": "k", "in": ["a", 1]}, {"path": "k", "above": 1.0}],
    }  # fmt: skip
    if do != "erase":
        rule["then"] = [{"do": "keep"}]
    policy = EventPolicy(**_rules(rule, stream={"session": "s", "zone": "UTC"}))

    again = EventPolicy.from_toml(policy.to_toml())

    assert again == policy
    assert again.sha256 == policy.sha256
    assert again.rules[0].steps[0].do == do


def test_there_is_an_example_of_every_action():
    """Also of the one that works on elements; and each word for a weakness is explained."""
    named = {action.model_fields["do"].default for action in ACTIONS}
    made = EventPolicy(
        **_rules(*({"path": f"v{i}", "do": do, **FULL[do]} for i, do in enumerate(FULL)),
                 {"path": "stars.*", "names": "keep", "do": "keep"},
                 {"path": "a[]", "do": "recode-many", "table": "m", "by": "a[].n"},
                 stream={"session": "s"})
    )  # fmt: skip

    assert named == {*FULL, "recode-many"}
    assert {word for rule in made.rules for word in rule.weaknesses} <= set(WEAKNESSES)
    assert made.tables() == {
        "f": "scale", "t": "recode", "n": "names", "m": "recode-many",
    }  # fmt: skip


def test_saved_and_loaded(tmp_path):
    """The file is whole; hierarchy files are looked for beside it."""
    policy = EventPolicy(**_rules({"path": "v", "do": "keep"}))
    policy.save(tmp_path / "p.toml")

    loaded = EventPolicy.load(tmp_path / "p.toml")

    assert loaded == policy
    assert loaded.folder == tmp_path


WRONG: list[tuple[str, ...]] = [
    ("release = 5", "must be text. Got 5"),
    ('release = "r"', "the key 'halfmask-events' is lacking"),
    ('halfmask-events = 2\nrelease = "r"', "'halfmask-events': must be 1. Got 2"),
    (HEAD + "rule = []", "The policy has no [[rule]]"),
    (HEAD + "[strem]", "there is no key 'strem'", "Did you mean 'stream'?"),
    (HEAD + '[stream]\nsesion = "x"', "[stream]: there is no key 'sesion'", "'session'"),
    (HEAD + '[stream]\ntime = "a.*"', "[stream]: 'time': the path 'a.*' must be one place"),
    (HEAD + '[stream]\nzone = "Mars"', "[stream]: 'zone': There is no such time zone"),
    ("x = ", "The policy isn't valid TOML at"),
    (
        "halfmask = 1\n[[rule]]",
        "This is a policy of tables; a policy of events",
        "halfmask protect",
    ),
    ("halfmask-table = 1\n[[rule]]", "This is a secret table", "halfmask events table set"),
]
GRID = {"do": "coarsen-time", "every": "1 day", "zone": "UTC"}
SHIFT = {"do": "shift", "by": "w", "zone": "UTC"}
WRONG_RULES: list[tuple[Any, ...]] = [
    ({"path": "v"}, "number 1: 'v': the key 'do' is lacking, and no rule is beneath"),
    ({"do": "keep"}, "[[rule]] number 1: the key 'path' is lacking"),
    ({"path": "v", "do": "kep"}, "'v': there is no action 'kep'", "Did you mean 'keep'?"),
    ({"path": "v", "do": "keep", "nmae": "w"}, "'v': there is no key 'nmae'", "mean 'name'?"),
    ({"pth": "a.b", "do": "keep"}, "number 1: there is no key 'pth'", "Did you mean 'path'?"),
    ({"Path": "a.b", "do": "keep"}, "there is no key 'Path'", "Did you mean 'path'?"),
    ({"pth": "a.b", "name": "c"}, "there is no key 'pth'", "Did you mean 'path'?"),
    ({"path": "v", "do": "keep", "thn": []}, "there is no key 'thn'", "Did you mean 'then'?"),
    ({"path": "v", "do": "hash", "bit": 8}, "there is no key 'bit'", "Did you mean 'bits'?"),
    ({"path": "v", "do": "keep", "zz": 1}, "no key 'zz'", "There are 'path', 'name', 'names'"),
    ({"path": "v", "do": "keep", "x" * 50: 1}, "no key of 50 characters"),
    ({"path": "v", "do": "hash", "bits": 2}, "'bits': must be at least 4. Got 2"),
    ({"path": "v", "do": "hash", "bits": "5"}, "'bits': must be a whole number. Got text"),
    ({"path": "v", "do": "hash", "form": "number"}, "'bits' must be at most 53"),
    ({"path": "v", "do": "sequence"}, "the key 'scope' is lacking"),
    ({"path": "v", "do": "sequence", "scope": "session"}, "needs the path of the session"),
    ({"path": "v", "do": "sequence", "scope": "evnt"}, "Got 'evnt'", "Did you mean 'event'?"),
    ({"path": "v", **GRID, "every": "1 parsec"}, "'every': A duration"),
    ({"path": "v", "do": "coarsen-time", "every": "1 day"}, "the key 'zone' is lacking"),
    ({"path": "v", "do": "coarsen-time", "every": "0 days", "zone": "UTC"}, "longer than nothing"),
    ({"path": "v", **GRID, "jitter": "2 days"}, "at most"),
    ({"path": "v", "do": "shift", "by": "w", "zone": "UTC"}, "either 'within' or 'table'"),
    ({"path": "v", "do": "shift", "within": "2 days", "zone": "UTC"}, "path of the entity"),
    ({"path": "v", **SHIFT, "within": "1 hour"}, "as long as 'step'"),
    ({"path": "v", "do": "round"}, "exactly one of 'decimals', 'step' and 'significant'"),
    ({"path": "v", "do": "round", "step": 0}, "'step' must be a number above 0"),
    ({"path": "v", "do": "mask"}, "mask keeps nothing"),
    ({"path": "v", "do": "recode"}, "the key 'table' is lacking"),
    ({"path": "v", "do": "recode", "table": "t", "unlisted": "keep"}, "there is no key 'unlisted'"),
    ({"path": "v", "do": "generalize", "level": 1, "hierarchy": {}}, "exactly one of file, groups"),
    ({"path": "v", "do": "generalize", "level": 1, "hierarchy": {"file": "/etc/x"}}, "relative"),
    ({"path": "v[]", "do": "scale", "table": "t", "by": "w[].n"}, "which is in another array"),
    ({"path": "v.*", "do": "keep"}, "the key 'names' is lacking"),
    ({"path": "v", "do": "keep", "names": "keep"}, "'names' goes with stars"),
    ({"path": "v.*", "do": "keep", "names": "keep", "name": "w"}, "'name' can't be given"),
    ({"path": "v", "do": "recode-many", "table": "t", "by": "w"}, "recode-many is for elements"),
    ({"path": "v", "do": "keep", "then": [{"do": "erase"}]}, "stand alone"),
    ({"path": "v", "do": "keep", "then": [{"do": "round"}]}, "then number 1: round must have"),
    ({"path": "v", "do": "keep", "when": {"path": "w"}}, "'when' number 1: a condition asks"),
    ({"path": "v", "do": "keep", "when": {"path": "w", "iss": 1}}, "there is no key 'iss'"),
    ({"path": "a..b", "do": "keep"}, "'a..b'"),
    ({"path": "", "do": "keep"}, "'path': must be text that isn't empty"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_with_a_file(case):
    """The place, what was got, and what was probably meant."""
    text, *wanted = case
    text += "" if "rule" in text or "x = " in text else '\n[[rule]]\npath = "v"\ndo = "keep"\n'
    with pytest.raises(PolicyError) as caught:
        EventPolicy.from_toml(text)

    for words in wanted:
        assert words in str(caught.value)


@pytest.mark.parametrize("case", WRONG_RULES, ids=range(len(WRONG_RULES)))
def test_what_is_wrong_with_a_rule(case):
    """With the rule's number and path."""
    rule, *wanted = case
    with pytest.raises(PolicyError) as caught:
        EventPolicy(**_rules(rule))

    assert "[[rule]] number 1: " in str(caught.value)
    for words in wanted:
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        ([{"path": "a", "do": "keep", "name": "x"}, {"path": "b", "do": "keep", "name": "x"}],
         "one name"),
        ([{"path": "a", "do": "erase"}, {"path": "a.b", "do": "keep"}], "it is erased"),
        ([{"path": "a[]", "do": "erase"}, {"path": "a[].b", "do": "keep"}], "all elements are"),
        ([{"path": "a", "do": "recode", "table": "t"},
          {"path": "b", "do": "scale", "table": "t", "by": "a"}], "can't be both of kind"),
    ],
)  # fmt: skip
def test_rules_that_dont_go_together(rules, wanted):
    """Two names alike, a container that is erased and written, a table of two kinds."""
    with pytest.raises(PolicyError, match=wanted):
        EventPolicy(**_rules(*rules))


KEYS = st.sampled_from(
    ["path", "do", "name", "then", "when", "is", "in", "not", "hierarchy", "groups", "other",
     "table", "by", "level", "scope", "find", "units", "rule"]
)  # fmt: skip
ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.just(CANARY), st.floats()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.dictionaries(KEYS, ANY, max_size=5),
    st.sampled_from([*FULL, "recode-many", CANARY]),
    st.dictionaries(KEYS, ANY, max_size=3),
)
def test_any_rule_is_a_policy_or_an_error_of_ours(rule, do, condition):
    """No other exception, and no value of a condition or a hierarchy in the message."""
    said = {"path": "v", "do": do, **FULL.get(do, {}), **rule}
    if condition:
        said["when"] = {"path": "w", **condition}
    try:
        EventPolicy(**_rules(said))
    except HalfmaskError as error:
        told = str(error)
        assert CANARY not in told.replace(f"action {CANARY!r}", "").replace(f"'{CANARY}': ", "")


TABLES = [
    ("halfmask-events = 1", "This is a policy of events; a secret table"),
    ("", "has the keys"),
    ("halfmask-table = 2", "has the keys"),
    ("x = [", "isn't valid TOML"),
    ('halfmask-table = 1\nkind = "recode"\n[values]', "values, one at least"),
    (f'halfmask-table = 1\nkind = "{CANARY}"\n[values]\na = 1', "kind that there isn't"),
    (f'halfmask-table = 1\nkind = "recode"\n[values]\na = 1\n"{CANARY}" = [1]', "Entry 2"),
    (f'halfmask-table = 1\nkind = "shift"\n[values]\n"{CANARY}" = "1 month"', "Entry 1"),
    (f'halfmask-table = 1\nkind = "scale"\n[values]\n"a" = "{CANARY}"', "Entry 1"),
    (f'halfmask-table = 1\nkind = "recode-many"\n[values]\n"{CANARY}" = []', "Entry 1"),
    (f'halfmask-table = 1\nkind = "names"\nvalues = ["{CANARY}", 5]', "list of texts"),
]


@pytest.mark.parametrize(("text", "wanted"), TABLES, ids=range(len(TABLES)))
def test_what_is_wrong_with_a_table(text, wanted):
    """By the number of its entry, which isn't quoted."""
    with pytest.raises(DataError, match=wanted) as caught:
        SecretTable.from_toml(text)

    assert CANARY not in str(caught.value)


def test_tables_of_csv(tmp_path):
    """Each kind, to bytes and back; what is wrong is said by its row."""
    cases = {
        "recode": "from,to\n1,11\nzip,04\nx,y\n",
        "shift": "from,by\na,-3 days\n",
        "scale": "from,times\ncandies,2\n",
        "names": 'name\n"Abdullin, Rinat"\n',
        "recode-many": "from,set:name,times:n\nphone,luxury,1\nphone,card,3\n",
    }
    for kind in get_args(TableKind):
        text = cases[kind]
        (tmp_path / "t.csv").write_text(text)
        table = SecretTable.load(tmp_path / "t.csv", kind=kind)

        assert SecretTable.from_bytes(table.to_bytes()) == table
        assert repr(table).startswith(f"SecretTable(kind={kind!r}, ")
    recode = SecretTable.from_csv(cases["recode"], kind="recode").entries()
    assert [token for _, token in recode.values()] == [b"11", b"04", b"y"]
    assert [kind.name for kind, _ in recode.values()] == ["INTEGER", "STRING", "STRING"]
    for text, wanted in (
        ("a,b\n1,2\n", "header"),
        ("from,to\n1\n", "Row 2"),
        (f"from,to\n{CANARY},1\n{CANARY},2\n", "Row 3"),
    ):
        with pytest.raises(DataError, match=wanted) as caught:
            SecretTable.from_csv(text, kind="recode")
        assert CANARY not in str(caught.value)
