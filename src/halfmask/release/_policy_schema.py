"""The JSON schema of policy files, written for editors: ``docs/policy.schema.json``.

Run ``python -m halfmask.release._policy_schema docs/policy.schema.json`` after a change of the
policy; a test keeps the file in step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from halfmask.release._policy import Policy

__all__ = ["schema_text"]


def schema_text() -> str:
    """Return the JSON schema as the text of its file."""
    return json.dumps(Policy.json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
