"""Take the pictures of docs/how-to/workbench.md: each page on Adult, in Debian's Chromium.

    python tools/workbench_pictures.py

It starts the workbench in a temporary folder, explores, makes a candidate, attacks and releases it,
and writes docs/figures/workbench-NAME.png.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
ADULT = ROOT / "examples" / "adult"
FIGURES = ROOT / "docs" / "figures"
SCRIPT = "import sys; from halfmask.cli import main; sys.exit(main())"
WIDTH, HEIGHT = 1100, 760
#: Milliseconds that a job may take.
WAIT = 120_000
PAUSE = 2_000
#: Each page: the button that starts its work, and what shows that it is done.
PAGES = {
    "data": (None, "#table"),
    "columns": (None, "select[name=role]"),
    "protect": (None, "#measured-on"),
    "explore": ("form[action='/explore/start'] button.main", "main svg"),
    "compare": ("#make", "main table"),
    "attack": ("#attack", "#findings"),
    "release": ("#release", "#chosen"),
    "questions": (None, "main form"),
    "verify": (
        "button:text('Verify this release')",
        "text=Everything that the release claims holds",
    ),
}


def photograph(page: Page, base: str, name: str) -> None:
    """Open a page, do its work, and take a picture of its upper part."""
    button, done = PAGES[name]
    page.goto(f"{base}{name}")
    if button is not None and page.query_selector(button):
        page.click(button)
        page.wait_for_timeout(PAUSE)  # until the page of the started work is there
        page.wait_for_selector("main:not(:has([data-poll]))", timeout=WAIT)
    page.wait_for_selector(done, timeout=WAIT)
    page.screenshot(path=FIGURES / f"workbench-{name}.png")
    sys.stderr.write(f"{name}\n")


def main() -> None:
    """Start a workbench on Adult and photograph each page."""
    with tempfile.TemporaryDirectory(prefix="adult-") as folder:
        shutil.copytree(ADULT, folder, dirs_exist_ok=True)
        words = ["workbench", str(Path(folder) / "adult.csv"), "--no-open", "--folder", folder]
        process = subprocess.Popen(  # noqa: S603 # our own command
            [sys.executable, "-c", SCRIPT, *words], stdout=subprocess.PIPE, text=True
        )
        if process.stdout is None:
            raise SystemExit
        address = next(it[0] for line in process.stdout if (it := re.search(r"http://\S+", line)))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
                )
                context = browser.new_context(
                    viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
                )
                page = context.new_page()
                page.goto(address)
                page.wait_for_selector("nav[aria-label=Pages]")
                for name in PAGES:
                    photograph(page, address.partition("#")[0], name)
                browser.close()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


if __name__ == "__main__":
    main()
