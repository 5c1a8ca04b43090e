"""Links of the pages lead somewhere, and pages lie where the site lists them."""

from __future__ import annotations

import tomllib


def test_every_link_leads_to_a_file_and_a_heading(page, repository):
    """A relative link names a file that exists, and a heading that is in it."""
    for link in page.links:
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = page.path if not name else (page.path.parent / name).resolve()

        assert target.exists(), f"{page.name} links to {name}, which isn't there"
        assert target.is_relative_to(repository)
        if anchor:
            assert anchor in type(page)(target).anchors, f"{page.name}: no heading {anchor}"


def test_pages_of_the_site_link_to_nothing_outside_of_it(page, repository):
    """What lies beside docs/ isn't on the site, so a page of it can't point there."""
    docs = repository / "docs"
    if not page.path.is_relative_to(docs):
        return
    for link in page.links:
        if not link.startswith(("https://", "http://", "#")):
            assert (page.path.parent / link.partition("#")[0]).resolve().is_relative_to(docs)


def test_the_site_lists_every_page(repository):
    """A page that isn't in zensical.toml isn't found by readers."""
    config = tomllib.loads((repository / "zensical.toml").read_text(encoding="utf-8"))
    listed, open_items = set(), list(config["project"]["nav"])
    while open_items:
        for value in open_items.pop().values():
            if isinstance(value, list):
                open_items += value
            else:
                listed.add(value)

    docs = repository / "docs"
    assert listed == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


def test_the_picture_of_the_report_is_small(repository):
    """The README loads on a slow line."""
    assert (repository / "docs" / "report.png").stat().st_size < 300_000
