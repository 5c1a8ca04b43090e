"""``halfmask schema``: the JSON schema of policy files."""

from __future__ import annotations

import json

import typer

from halfmask.cli._options import DebugOption  # noqa: TC001 - typer reads annotations


def schema(
    *,
    debug: DebugOption = False,  # noqa: ARG001 - main looks for it
) -> int:
    """Print the JSON schema of policy files, for editors."""
    from halfmask.microdata import Policy  # noqa: PLC0415 - pydantic takes a while

    typer.echo(json.dumps(Policy.json_schema(), indent=2))
    return 0
