"""The pages that people read, as the tests see them: a test that takes `page` runs for each."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from halfmask.guarantees import _registry
from halfmask.verifier.tables import _model_checks

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        """Where it lies in the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """All of it but its code blocks."""
        return FENCE.sub("", self.text)

    @property
    def links(self) -> list[str]:
        """What its links and pictures point at."""
        return LINK.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """The names that its headings are linked by."""
        plain = (re.sub(r"[^\w\s-]", "", it.lower()).strip() for it in HEADING.findall(self.prose))
        return {re.sub(r"\s+", "-", it) for it in plain} | self.documented

    @property
    def documented(self) -> set[str]:
        """The public names whose docstrings the site shows here: each is an anchor."""
        found = set()
        for name in DIRECTIVE.findall(self.prose):
            parent, _, last = name.rpartition(".")
            shown = getattr(importlib.import_module(parent), last, None) if parent else None
            if shown is None or inspect.ismodule(shown):
                listed = importlib.import_module(name).__all__
                found |= {name, *(f"{name}.{each}" for each in listed)}
            else:
                found.add(name)
        return found

    def blocks(self, language: str) -> list[str]:
        """Its code blocks of one language."""
        return [text for spoken, text in FENCE.findall(self.text) if spoken == language]


def _pages() -> list[Page]:
    return [Page(path) for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", _pages(), ids=lambda page: page.name)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def page_at() -> Callable[[str], Page]:
    """Return the page of a name, such as ``docs/tutorial.md``."""
    return lambda name: Page(ROOT / name)


@pytest.fixture(scope="session")
def reference() -> dict[str, Page]:
    """The pages of the reference, by their name without ending."""
    return {path.stem: Page(path) for path in (ROOT / "docs" / "reference").glob("*.md")}


@pytest.fixture(scope="session")
def generated() -> list[Page]:
    """The pages of the reference that are made from docstrings."""
    return [Page(path) for path in sorted((ROOT / "docs/reference/python").glob("*.md"))]


@pytest.fixture
def at_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where a reader stands, the examples at hand, and leave nothing in the repository."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def registries_as_they_were() -> Iterator[None]:
    """Forget the models that a page registers."""
    known, checks = dict(_registry._known), dict(_model_checks._checks)
    yield
    for registry, before in ((_registry._known, known), (_model_checks._checks, checks)):
        registry.clear()
        registry.update(before)  # type: ignore[arg-type] # each what it held
