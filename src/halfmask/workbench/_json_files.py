"""Small files of JSON: written whole, and nothing where they are damaged."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def read_json(path: Path) -> dict[str, Any]:
    """Return what a file holds, or nothing if it isn't there or is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, value: object) -> None:
    """Write a file whole, in one step."""
    text = json.dumps(value, allow_nan=False)
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
