"""Rooms that commands work in: loaded when a name of one is used, and no other name answers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from halfmask import encode
from halfmask.cli import _rooms as rooms

LOADED = """
import sys
from halfmask.cli import _rooms as rooms

room = rooms.dp.queries
assert "halfmask.dp.queries" not in sys.modules, "asked for, not used"
assert room.query_sql is sys.modules["halfmask.dp.queries"].query_sql
"""


def test_a_room_is_imported_when_a_name_of_it_is_used():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], check=False, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr


def test_names_are_those_of_the_room():
    assert rooms.encode.Codec is encode.Codec


@pytest.mark.parametrize("name", ["__wrapped__", "pytest_plugins", "_errors", "nothing"])
def test_what_is_no_room_has_no_attribute(name):
    """A tool that looks into a module of commands asks for such names."""
    assert not hasattr(rooms, name)
    assert not hasattr(rooms.encode, name)
