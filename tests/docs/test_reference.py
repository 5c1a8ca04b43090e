"""The reference names everything that there is, and nothing that there isn't."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import halfmask
from halfmask import _errors
from halfmask.assess.attacks import ATTACKS
from halfmask.claims import WEAKNESSES, crosstab_manifest, read_manifest
from halfmask.cli._failures import CODES, INTERRUPTED, UsageError, failure_of
from halfmask.crosstabs import TablesPolicy
from halfmask.data import ReadOptions
from halfmask.masks import (
    MASKS,
    CoarsenedDates,
    FormatPreserving,
    KeyedTokens,
    Mask,
    OrdinalTailCoding,
    Pram,
    RandomNoise,
    RandomRounding,
    Redaction,
    ReversibleTokens,
    Rounding,
    Substitutes,
    TailCoding,
)
from halfmask.microdata import Policy

#: What only our own rooms import from, or what another room lists again.
INNER = re.compile(
    r"halfmask\.(cli|kernels|anonymize\.recodings|encode\.series|trainer\.store\.log)\b"
)
ROOMS = sorted(
    room.name
    for room in pkgutil.walk_packages(halfmask.__path__, "halfmask.")
    if room.ispkg
    and "._" not in room.name
    and not INNER.match(room.name)
    and hasattr(importlib.import_module(room.name), "__all__")
)


def _quoted(text: str) -> set[str]:
    """Return what stands in backticks."""
    return {it.strip('"') for it in re.findall(r"`([^`]+)`", text)}


def _section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ", maxsplit=1)[0]


def _names(section: str) -> set[str]:
    """Return the names in the first column of a section's table."""
    rows = re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
    return {name for row in rows for name in _quoted(row)}


@pytest.mark.slow
def test_the_command_line_is_in_step(repository):
    """docs/reference/cli.md is what --help says now."""
    script = repository / "tools" / "cli_reference.py"

    done = subprocess.run([sys.executable, str(script), "--check"], check=False)

    assert done.returncode == 0, "run: python tools/cli_reference.py"


def test_the_table_of_techniques_is_in_step(repository):
    """docs/reference/masks.md has each mask of the registry, and its example is a mask."""
    script = repository / "tools" / "masks_page.py"

    done = subprocess.run([sys.executable, str(script), "--check"], check=False)

    assert done.returncode == 0, "run: python tools/masks_page.py"


def test_the_overview_links_every_name_of_the_package(reference):
    """The table of `halfmask` has the names of __all__, no more and no fewer."""
    listed = re.findall(r"\[`(\w+)`\]\(python/", reference["python"].text)

    assert sorted([*listed, "__version__"]) == sorted(halfmask.__all__)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_has_its_entry(generated, room):
    """Each is shown with its docstring on one page, in its room or in another that lists it."""
    shown = {name for page in generated for name in page.documented}

    assert room in shown, f"no page has the line ::: {room}"
    for name in importlib.import_module(room).__all__:
        assert f"{room}.{name}" in shown


def test_every_error_has_its_entry(generated):
    shown = {name for page in generated for name in page.documented}
    errors = {name for name, room in halfmask._ROOMS.items() if room == "_errors"}

    assert {f"halfmask.{name}" for name in errors} <= shown


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(repository, generated, tmp_path):
    """Links, anchors, docstrings and their parameters: any that leads nowhere is a warning."""
    for name in ("docs", "tools"):
        shutil.copytree(repository / name, tmp_path / name)
    shutil.copy(repository / "zensical.toml", tmp_path)
    (tmp_path / "src").symlink_to(repository / "src")

    done = subprocess.run(
        [sys.executable, "tools/build_docs.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    for page in generated:
        made = page.path.relative_to(repository / "docs").with_suffix(".html")
        text = (tmp_path / "site" / made).read_text(encoding="utf-8")
        assert page.documented - set(re.findall(r'id="([\w.]+)"', text)) == set(), page.name
        assert re.findall(r":(?:class|func|meth|attr|mod):", text) == []


def test_every_attack_is_told(reference):
    """The tables of docs/reference/attacks.md have the names of all attacks, and no others."""
    told = set(re.findall(r"^\| `(\w+/[\w-]+)` \|", reference["attacks"].text, re.MULTILINE))

    assert told == set(ATTACKS)


def _policy_words(schema: object) -> set[str]:
    """Return every key and every choice that a policy may hold."""
    found: set[str] = set()
    if isinstance(schema, dict):
        found |= set(schema.get("properties", {}))
        found |= {it for it in schema.get("enum", []) if isinstance(it, str)}
        found |= {schema["const"]} if isinstance(schema.get("const"), str) else set()
        for value in schema.values():
            found |= _policy_words(value)
    elif isinstance(schema, list):
        for value in schema:
            found |= _policy_words(value)
    return found


def test_every_key_and_choice_of_a_policy_is_told(reference):
    """Whatever the JSON schema allows stands in backticks on the page."""
    told = _quoted(reference["policy"].text)
    told |= {word for it in told for word in re.findall(r"[\w-]+", it)}

    assert _policy_words(Policy.json_schema()) - told == set()


def test_every_key_and_choice_of_a_policy_of_tables_is_told(reference):
    """The same of tables of counts and sums: no more, no less in first columns."""
    text = reference["tables-policy"].text
    told = {word for it in _quoted(text) for word in re.findall(r"[\w-]+", it)}
    words = _policy_words(TablesPolicy.json_schema())

    assert words - told == set()
    for title in ("`[dimensions.NAME]`", "`[[tables]]`", "`[ready]`", "`[cells]`", "`[output]`"):
        assert _names(_section(text, title)) <= words
    of_protections = _names(_section(text, "`[protection]`"))
    assert of_protections <= words


@pytest.mark.parametrize("title", ["`[input]`", "`[columns.NAME]`", "`hierarchy`"])
def test_no_key_is_told_that_a_policy_refuses(reference, title):
    """The first columns of the policy's tables hold keys that exist."""
    told = _names(_section(reference["policy"].text, title))

    assert told <= _policy_words(Policy.json_schema())


def test_defaults_of_a_policy_are_those_told(reference):
    """The defaults in the table of [input] are those of the reader."""
    section = _section(reference["policy"].text, "`[input]`")

    assert ReadOptions().encoding == "utf-8"
    assert '| `encoding` | `"utf-8"` |' in section
    assert ReadOptions().header is None
    assert "| `header` | none |" in section
    assert ReadOptions().skip_rows == 0
    assert "| `skip_rows` | `0` |" in section


def test_every_weakness_that_a_release_may_name_is_explained(page_at):
    """So that who reads one in a manifest finds what it means and what helps."""
    section = page_at("docs/explanation/claims-and-weaknesses.md").text
    told = _names(_section(section, "The weaknesses that a release names"))

    actions = page_at("docs/reference/events-policy.md").text
    of_actions = _names(_section(actions, "Weaknesses")) - {"word"}
    assert set(WEAKNESSES) | {"nulls-visible"} == told | of_actions


def test_weaknesses_of_masks_are_explained_where_those_of_tables_are(page_at):
    """Masks of columns write them into the manifest of a table."""
    section = page_at("docs/explanation/claims-and-weaknesses.md").text
    told = _names(_section(section, "The weaknesses that a release names"))

    every: list[Mask] = [
        Rounding(base=10),
        TailCoding(low=0, high_share=0.1),
        KeyedTokens(),
        ReversibleTokens(),
        FormatPreserving(keep_first=6),
        Substitutes(kind="name"),
        RandomNoise(law="laplace", scale=1, decimals=0, how="multiply", high=5),
        Pram(keep=0.5),
        RandomRounding(base=10),
        OrdinalTailCoding(high="a"),
        CoarsenedDates(to="year"),
        Redaction(sign="x"),
    ]
    assert {mask.name for mask in every} == set(MASKS)
    assert {word for mask in every for word in mask.weaknesses} <= told


def _errors_of(kind: type[_errors.HalfmaskError]) -> set[type[_errors.HalfmaskError]]:
    mine = {it for it in kind.__subclasses__() if it.__module__ == _errors.__name__}
    return {kind} | {each for it in mine for each in _errors_of(it)}


def test_every_error_code_is_told_with_its_exit_code(reference):
    """The table of codes is the tree of errors and the codes of the command line."""
    rows = re.findall(
        r"^\| `([\w-]+)` \| (?:`(\w+)`)? ?\| (\d+) \|", reference["errors"].text, re.MULTILINE
    )
    classes = _errors_of(_errors.HalfmaskError)

    ours = {(it.code, it.__name__, str(failure_of(it("what")).status)) for it in classes}
    other = {UsageError.code: "2", INTERRUPTED.code: "130"}
    others = {(code, "", other.get(code, "1")) for code in CODES}
    assert set(rows) == ours | others


def test_every_key_of_a_manifest_is_told(reference, tmp_path):
    """What a release writes into manifest.json stands on the page."""
    people = tmp_path / "people.csv"
    people.write_text("age,ill\n" + "21,a\n22,b\n58,a\n59,b\n", encoding="utf-8")
    policy = Policy.from_toml(
        """
        halfmask = 1
        columns.age = { role = "quasi_identifier", kind = "numeric" }
        columns.ill = { role = "sensitive", kind = "ordinal", hierarchy = { order = ["a", "b"] } }
        guarantees = [{ model = "t-closeness", t = 0.5, column = "ill", distance = "ordered" }]
        """
    )
    halfmask.protect(people, policy).write(tmp_path / "out")
    stated = read_manifest(tmp_path / "out").to_dict()

    text = reference["manifest"].text
    told = {word for it in _quoted(text) for word in re.findall(r"[\w-]+", it)}
    assert _keys(stated) - told == set()
    assert set(stated) == _names(text.split("\n## ")[0])


@pytest.mark.parametrize("name", ["guarantees.jsonl", "cells.jsonl", "plain"])
def test_every_key_of_a_manifest_of_events_is_told(reference, name):
    """Of version 1 as it is read now: the first level on one page, the details on another."""
    made = read_manifest(Path(__file__).parents[1] / "claims" / "v1" / name)
    stated = json.loads(made.to_json())
    details = stated["details"]
    for counts in (details["counts"]["bad"], details["counts"]["stage"]):
        counts.clear()  # words of the run
    for field in details["fields"]:
        field["form"] = {}  # the policy's own keys

    text = reference["manifest"].text + reference["events-manifest"].text
    told = {word for it in _quoted(text) for word in re.findall(r"[\w-]+", it)}
    found = _keys(stated) | _keys(details["risk"])
    found |= {key for claim in stated["claims"] for key in claim["parameters"]}
    assert found - told == set()


def test_every_key_and_claim_of_a_manifest_of_tables_is_told(reference):
    """Keys of its details and rules, and the models of its claims."""
    kinds = (
        crosstab_manifest.TablesDetails,
        crosstab_manifest.StatedDimension,
        crosstab_manifest.StatedSum,
        crosstab_manifest.StatedTable,
        crosstab_manifest.StatedReady,
        crosstab_manifest.StatedRule,
    )
    keys = {each.name for kind in kinds for each in fields(kind)}
    models = {
        value
        for name, value in vars(crosstab_manifest).items()
        if name.isupper() and isinstance(value, str) and "-" in value
    }

    text = _section(reference["manifest"].text, "`details` of tables of counts and sums")
    told = {word for it in _quoted(text) for word in re.findall(r"[\w-]+", it)}
    rules = {word for it in _quoted(reference["tables-policy"].text) for word in it.split()}
    assert keys - told - rules == set()
    assert models - told == set()


#: What lies in these is told elsewhere: the policy's own keys, and the report's numbers.
TOLD_ELSEWHERE = {"parameters", "method", "risk", "utility"}


def _keys(value: object) -> set[str]:
    """Return the keys of a manifest."""
    if isinstance(value, list):
        return {key for it in value for key in _keys(it)}
    if not isinstance(value, dict):
        return set()
    inner = [it for key, it in value.items() if key not in TOLD_ELSEWHERE]
    return set(value) | {key for it in inner for key in _keys(it)}
