"""A privacy model is known by name or class in its own module, the registries and tests alone."""

from __future__ import annotations

import ast
import inspect

import pytest

from halfmask.guarantees import GUARANTEES

CLASSES = {kind.__name__ for kind in GUARANTEES.values()}


def singled_out(tree):
    """Return the lines that ask whether something is one model: by its class or by its name."""
    asking = (ast.expr, ast.pattern)
    return sorted(
        {each.lineno for each in ast.walk(tree) if isinstance(each, asking) and _asks(each)}
    )


def _asks(node):
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"isinstance", "issubclass"}:
        return any(map(_is_class, ast.walk(node.args[1])))
    if isinstance(node, ast.Compare):
        return any(
            _is_name(each) or _is_class(each)
            for side in (node.left, *node.comparators)
            for each in ast.walk(side)
        )
    if isinstance(node, ast.MatchClass):
        return _is_class(node.cls)
    if isinstance(node, ast.MatchValue):
        return _is_name(node.value)
    return isinstance(node, ast.Dict) and any(_is_name(key) for key in node.keys if key)


def _is_class(node):
    return getattr(node, "id", getattr(node, "attr", None)) in CLASSES


def _is_name(node):
    return isinstance(node, ast.Constant) and node.value in set(GUARANTEES)


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(guarantee, TCloseness)",
        "isinstance(guarantee, (str, guarantees.KAnonymity))",
        "issubclass(kind, TCloseness | str)",
        "type(guarantee) is KAnonymity",
        "claim.model == 't-closeness'",
        "claim.model in {'t-closeness', 'x'}",
        "claim.model != KAnonymity.model",
        "LABELS = {'k-anonymity': 'k'}",
        "match model:\n    case 'k-anonymity': pass",
        "match guarantee:\n    case KAnonymity(): pass",
    ],
)
def test_code_that_singles_a_model_out_is_found(code):
    assert singled_out(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    ["KAnonymity(k=5)", "isinstance(guarantee, Guarantee)", "model = 'k-anonymity'"],
)
def test_code_that_makes_a_model_is_not(code):
    assert not singled_out(ast.parse(code))


def test_no_code_singles_a_model_out(modules, source):
    own = {inspect.getsourcefile(kind) for kind in GUARANTEES.values()}
    allowed = {
        # The verifier's own registry: it may import none of the models.
        "verifier/tables/_model_checks.py",
        "verifier/safepub/_safepub_release.py",
    }
    found = {
        name: lines
        for name, tree in modules.items()
        if str(source / name) not in own and name not in allowed and (lines := singled_out(tree))
    }

    assert not found
