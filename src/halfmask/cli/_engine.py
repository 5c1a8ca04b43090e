"""Where a command runs: in threads of this process, or on a cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.cli._option_groups import option

if TYPE_CHECKING:
    from halfmask.engines import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Where batches are worked on."""

    engine: str | None = option(
        "--engine ADDRESS",
        "Where to run: local (the default), dask://HOST:PORT, dask+tls://HOST:PORT or "
        "spark://HOST:PORT. Workers read and write folders of Parquet that all of them see. "
        "spark://local[2] starts Spark on this machine.",
        show_default=False,
    )

    def connected(self) -> AbstractContextManager[Engine | None]:
        """Connect to the engine, and disconnect when the block ends."""
        if self.engine is None:
            return nullcontext()
        from halfmask.engines import connect  # noqa: PLC0415 # a third of a second

        return connect(self.engine)
