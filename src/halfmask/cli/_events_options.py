"""What the commands of events are told: the policy, the vault, the stream."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["PolicyArgument", "StreamOption", "VaultOption"]

PolicyArgument = Annotated[
    str,
    typer.Argument(
        metavar="POLICY", show_default=False, help="The policy: a TOML file that may be published."
    ),
]
VaultOption = Annotated[
    str,
    typer.Option(
        "--vault",
        metavar="VAULT",
        show_default=False,
        help="The vault that holds the secret, the tables and what is known of the stream.",
    ),
]
StreamOption = Annotated[
    str | None,
    typer.Option(
        "--stream",
        metavar="NAME",
        help="What the stream is called in the vault; by default as the policy's release.",
    ),
]
