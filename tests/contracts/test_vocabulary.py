"""One word for one thing: words that have to stand twice are the same in both places."""

from __future__ import annotations

import ast
from typing import get_args

from halfmask.claims.manifest_reader import FORMATS
from halfmask.claims.table_claims import KINDS, ROLES
from halfmask.cli._options import FileFormat
from halfmask.crosstabs._policy import CrosstabOutput
from halfmask.data import Format, Kind, Role
from halfmask.guarantees import GUARANTEES
from halfmask.microdata._policy_sections import GUARANTEE, METHOD, RECODING, OutputSection
from halfmask.microdata._reporting import METHODS, TREATMENTS


def test_the_command_line_knows_the_formats_that_are_read():
    assert get_args(FileFormat) == get_args(Format)


def test_a_manifest_may_say_the_roles_and_kinds_of_a_schema():
    assert get_args(Role) == ROLES
    assert get_args(Kind) == KINDS


def test_what_is_written_is_what_a_manifest_may_say():
    rows, tables = (
        set(get_args(section.model_fields["format"].annotation))
        for section in (OutputSection, CrosstabOutput)
    )
    assert rows | tables == set(FORMATS)
    assert rows <= set(get_args(Format))


def test_every_model_has_its_section_in_a_policy():
    for model in GUARANTEES:
        section = GUARANTEE.section(model)
        assert section is not None
        assert get_args(section.model_fields["model"].annotation) == (model,)


def test_the_report_has_words_for_every_method_and_recoding():
    for words, choice in ((METHODS, METHOD), (TREATMENTS, RECODING)):
        for name in words:
            assert choice.section(name) is not None
    assert set(METHODS) == {"mondrian", "guided", "mdav", "full-domain"}
    assert set(TREATMENTS) == {"ranges", "level", "centroid", "representative"}


def test_the_verifier_counts_every_model(source):
    """It may import nothing of the models, so their names stand there again."""
    tree = ast.parse((source / "verifier/tables/_model_checks.py").read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}

    assert set(GUARANTEES) <= texts
