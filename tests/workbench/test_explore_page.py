"""Explore: a grid as a job, points as they come, and a point's policy in the policy file."""

from __future__ import annotations

import re
import tomllib
from xml.etree import ElementTree as ET

import pytest
from _pytest.monkeypatch import MonkeyPatch

from halfmask.microdata import Policy, explore
from halfmask.workbench import _exploring
from halfmask.workbench._jobs import Job
from halfmask.workbench.pages import _explore

pytestmark = pytest.mark.slow
FORM = {
    "k": "2, 5 10",
    "vary-distinct-l-diversity.l": "3",
    "methods": ["mondrian", "full-domain"],
    "recodings": ["ranges", "level"],
    "suppression": "0, 2",
    "rows": "2000",
    "max_points": "60",
    "risk": "highest",
    "utility": "loss",
}
