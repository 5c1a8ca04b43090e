"""What the README and the pages show runs, and prints what they say."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import halfmask
from halfmask.cli import main

README = "README.md"
TUTORIAL = "docs/tutorial.md"
#: Digits of a trained model may differ from machine to machine.
OF_A_MODEL = ("trained on the release", "trained on raw rows")


def _run(page) -> tuple[dict[str, object], str]:
    """Run a page's Python blocks one after the other, as a reader would."""
    names: dict[str, object] = {"__name__": "__page__"}
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        for number, block in enumerate(page.blocks("python"), start=1):
            exec(compile(block, f"{page.name}, block {number}", "exec"), names)  # noqa: S102 - ours
    return names, said.getvalue()


@pytest.mark.slow
@pytest.mark.usefixtures("at_the_root")
def test_python_blocks_run(page):
    """Every Python block of a page runs, where the examples are, after those before it."""
    if page.name.startswith("docs/how-to/add-a-"):
        # What a page registers stays with its process.
        text = "\n".join(page.blocks("python"))
        subprocess.run([sys.executable, "-W", "error", "-c", text], check=True)
    elif page.name not in {README, TUTORIAL}:  # they have tests of their own below
        _run(page)


@pytest.mark.slow
def test_the_readme_example_makes_a_verified_release(page_at, at_the_root):
    """The README's ten lines print claims and a release that verifies; then a model resists."""
    page = page_at(README)

    names, said = _run(page)

    assert [len(block.splitlines()) for block in page.blocks("python")] == [12, 17]
    assert said.splitlines()[0] == "k-anonymity {'k': 10} reached: 10.0"
    shown = next(it for it in page.blocks("") if it.startswith("accuracy"))
    assert said.splitlines()[-3] == "True"
    assert said.splitlines()[-1] == shown.splitlines()[-1]
    accuracies = [re.findall(r"0\.\d+", lines.splitlines()[-2]) for lines in (said, shown)]
    for found, told in zip(*accuracies, strict=True):
        assert float(found) == pytest.approx(float(told), abs=0.01)
    assert halfmask.verify(at_the_root / "out" / "adult").to_dict()["rows"] == 48_842
    assert "unique rows after: 0" in said
    assert names["release"].rows["out"] == 48_842  # type: ignore[attr-defined] # a release


@pytest.mark.slow
@pytest.mark.usefixtures("at_the_root")
def test_the_demo_prints_what_the_readme_shows(repository, page_at, capsys):
    """`make demo` says what the README says that it does, a model's digits aside."""
    (recipe,) = re.findall(r"\$\(BIN\)/halfmask (protect .*)", _text(repository, "Makefile"))
    shown = next(it for it in page_at(README).blocks("") if it.startswith("Release"))

    assert main(recipe.split()) == 0

    lines = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
    assert _comparable(lines) == _comparable(shown.strip().splitlines())


@pytest.mark.slow
def test_the_tutorial_shows_the_error_that_is_raised(page_at, at_the_root):
    """What the tutorial says is printed where a promise can't be kept is printed."""
    page = page_at(TUTORIAL)
    shown = next(it for it in page.blocks("") if it.startswith("guarantee-not-met"))

    _, said = _run(page)

    assert said.endswith(shown)
    assert list((at_the_root / "out").iterdir()) == []


def test_commands_of_the_pages_exist(page):
    """Where a page says `halfmask word`, there is such a command."""
    told = "\n".join(page.blocks(""))
    for command in re.findall(r"^(?:\.venv/bin/)?halfmask ([a-z]+)", told, re.MULTILINE):
        assert command in {
            "describe",
            "protect",
            "verify",
            "schema",
            "vault",
            "assess",
            "encode",
            "decode",
            "hash",
            "serve",
            "push",
            "predict",
            "events",
        }


def test_make_targets_of_the_pages_exist(page, repository):
    """Where a page says `make word`, the Makefile has it."""
    known = set(re.findall(r"^([a-z-]+):", _text(repository, "Makefile"), re.MULTILINE))
    told = [*re.findall(r"`make ([a-z-]+)`", page.prose)]
    told += re.findall(r"^make ([a-z-]+)", "\n".join(page.blocks("")), re.MULTILINE)
    assert set(told) <= known


def _comparable(lines: list[str]) -> list[str]:
    return [
        re.sub(r"\d+\.\d%$", "", line) if line.startswith(OF_A_MODEL) else line for line in lines
    ]


def _text(repository: Path, name: str) -> str:
    return (repository / name).read_text(encoding="utf-8")
