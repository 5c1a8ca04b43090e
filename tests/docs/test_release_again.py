"""The page about a second release prints what it shows: refused without a remedy, kept with one."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

PAGE = "docs/how-to/release-again.md"
#: Who waits is drawn at random; of 6,000 people at most 5 % do.
ROWS = re.compile(r"[56],\d\d\d rows")


@pytest.mark.slow
@pytest.mark.usefixtures("at_the_root")
def test_the_series_is_refused_without_the_remedy_and_kept_with_it(page_at):
    page = page_at(PAGE)
    said = io.StringIO()
    names: dict[str, object] = {"__name__": "__page__"}
    with contextlib.redirect_stdout(said):
        for block in page.blocks("python"):
            exec(compile(block, PAGE, "exec"), names)  # noqa: S102 # ours

    shown = "".join(it for it in page.blocks("") if it.startswith("month"))
    months = [line for line in said.getvalue().splitlines() if line.startswith("month")]
    assert [ROWS.sub("rows", line) for line in months] == [
        ROWS.sub("rows", line) for line in shown.splitlines()
    ]
    rows = [int(it.replace(",", "")) for it in re.findall(r"([\d,]+) rows", "\n".join(months))]
    assert min(rows) >= 0.95 * 6_000
