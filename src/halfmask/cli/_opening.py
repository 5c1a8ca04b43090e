"""Open a page that a command made or found, in the browser."""

from __future__ import annotations

from pathlib import Path

from halfmask.cli._console import console
from halfmask.cli._option_groups import flag

REPORT = "report.html"

OPEN = flag("--open", "Open the report of the release in a browser.")


def open_report(release: str) -> None:
    """Open the report of a release, or say that there is none or no browser."""
    import webbrowser  # noqa: PLC0415 - only this needs it

    page = Path(release).absolute() / REPORT
    if not page.is_file():
        console(stderr=True).print("Warning: this release has no report to open.")
    elif not webbrowser.open(page.as_uri()):
        console(stderr=True).print("Warning: no browser was found to open the report in.")
