"""Compile what the page Protect measures with, in the background, before it is asked for."""

from __future__ import annotations

import threading
from typing import Final

from halfmask._errors import HalfmaskError

#: The first page comes before it.
_DELAY: Final = 1.0
_POLICY: Final = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
sex = { role = "quasi_identifier", kind = "categorical" }
ill = { role = "sensitive", kind = "categorical", label = true }
day = { role = "insensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 3
[[guarantees]]
model = "distinct-l-diversity"
column = "ill"
l = 2
"""


class Warming:
    """Whether the compiled code is still being made; the first time on a machine takes longest."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether measuring would wait."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin, once."""
        if self._thread is None:
            self._thread = threading.Timer(_DELAY, preview_little)
            self._thread.daemon = True
            self._thread.start()


def preview_little() -> None:
    """Preview a few rows by the methods that are asked for most."""
    import polars as pl  # noqa: PLC0415 # in the background

    from halfmask.microdata import Policy  # noqa: PLC0415 # as above
    from halfmask.microdata.exploring.preview import PreviewTable  # noqa: PLC0415 # as above

    n = 60
    rows = pl.DataFrame({
        "age": range(n), "sex": ["f", "m"] * (n // 2), "ill": ["a", "b", "c"] * (n // 3),
        "day": ["x", "y"] * (n // 2),
    })  # fmt: skip
    policy = Policy.from_toml(_POLICY)
    for method in ("mondrian", "guided"):
        for share in (0.0, 0.05):
            tried = policy.changed(method={"name": method}, suppression={"max_fraction": share})
            try:
                PreviewTable.of(rows, tried).preview(tried)
            except HalfmaskError:  # compiled all the same
                continue


WARMING: Final = Warming()
