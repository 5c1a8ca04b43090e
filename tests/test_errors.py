"""The errors: one tree, a code each, one sentence and one hint, and no value of a table."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest

import halfmask
from halfmask import _errors
from halfmask._errors import ColumnNotFoundError, HalfmaskError, SchemaError
from halfmask.cli._failures import CODES, failure_of

SOURCE = Path(halfmask.__file__).parent

NAMES = [name for name in _errors.__all__ if not name.endswith("Warning")]  # no errors
CLASSES = [getattr(_errors, name) for name in NAMES]


def test_all_errors_are_one_tree_that_callers_of_scikit_learn_catch():
    assert all(issubclass(each, HalfmaskError) for each in CLASSES)
    assert issubclass(HalfmaskError, ValueError)


def test_each_error_has_a_code_of_its_own():
    codes = [each.code for each in CLASSES] + list(CODES)

    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)
    # A subclass that forgets its code would carry its parent's.
    assert all("code" in vars(each) for each in CLASSES)


def test_a_code_follows_from_the_name_of_its_class():
    for each in CLASSES:
        words = re.findall(r"[A-Z][a-z]+", each.__name__.removesuffix("Error"))
        expected = "error" if each is HalfmaskError else "-".join(words).lower()
        assert each.code == expected


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_says_what_is_wrong_and_then_one_hint(kind):
    error = kind("Something is wrong. Got 3.", hint="Do the other thing.")

    assert str(error) == "Something is wrong. Got 3.\n\nHint: Do the other thing."
    assert (error.what, error.hint) == ("Something is wrong. Got 3.", "Do the other thing.")


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_without_a_hint_is_its_sentence(kind):
    assert str(kind("Something is wrong.")) == "Something is wrong."
    assert kind("Something is wrong.").hint is None


def test_the_tree_in_the_docstring_is_the_tree():
    drawn = re.findall(r"(\w*Error) ", _errors.__doc__)

    assert sorted({*drawn} - {"ValueError"}) == sorted(NAMES)


class TestAColumnThatIsNotThere:
    def test_is_named_with_the_nearest_that_is(self):
        error = ColumnNotFoundError.of(["agee"], ["age", "sex"], where="the table")

        assert isinstance(error, SchemaError)
        assert error.what == "These columns are not in the table: 'agee'."
        assert error.hint == "Did you mean 'age' for 'agee'?"

    def test_gives_a_count_where_none_is_near(self):
        error = ColumnNotFoundError.of(["zzz", "yyy"], ["age", "sex"], where="the policy")

        assert error.what == "These columns are not in the policy: 'zzz', 'yyy'."
        assert error.hint == "There are 2 columns; check the spelling and the header."
        error = ColumnNotFoundError.of(["x"], ["age"], where="the table")
        assert error.hint == "There is 1 column; check the spelling and the header."


@pytest.mark.slow
def test_every_message_of_the_package_is_sentences(modules_that_raise):
    """What is wrong ends as a sentence does; a hint may end in a command or code to write."""
    said = [(path, what) for path, (what, _) in modules_that_raise if what is not None]
    hints = [(path, hint) for path, (_, hint) in modules_that_raise if hint is not None]

    assert len(said) > 150
    assert len(hints) > 100
    assert [each for each in said if not re.search(r"([.?]|\{\})\s*$", each[1])] == []
    assert [each for each in hints if not re.search(r"([.?]|\{\}|FILE)$", each[1])] == []


@pytest.fixture
def modules_that_raise():
    """The texts of every error that is made in the source, with {} for what is put in."""
    import ast  # noqa: PLC0415 # only this fixture reads source
    from pathlib import Path  # noqa: PLC0415 # the same

    def text(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.JoinedStr):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        return None

    names = set(_errors.__all__)
    found = []
    for path in sorted(Path(_errors.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id not in names or not node.args:
                    continue
                hints = [each.value for each in node.keywords if each.arg == "hint"]
                found.append((path.name, (text(node.args[0]), text(hints[0]) if hints else None)))
    return found


class TestAHintOfTwoNames:
    """A program calls a setting by its parameter, the command line by its option."""

    def test_says_to_each_its_own(self):
        error = SchemaError("It ran.", hint="Start with [[restart=True|--restart]].")

        assert str(error) == "It ran.\n\nHint: Start with restart=True."
        assert error.hint == "Start with restart=True."
        assert failure_of(error).hint == "Start with --restart."

    def test_stays_so_where_it_is_raised_again_or_sent(self):
        first = SchemaError("It ran.", hint="Start with [[restart=True|--restart]].")

        for again in (
            SchemaError(first.what, hint=first.hint),
            pickle.loads(pickle.dumps(first)),  # noqa: S301 # of our own, as workers send it
        ):
            assert again.hint == "Start with restart=True."
            assert failure_of(again).hint == "Start with --restart."

    @pytest.mark.parametrize(
        "name", ["[[a|b]]", "it's [[a|b]]", '"x" [[a|b]]', "it's \"[[a|b]]\\", "'[[a|b]]'", "|]]"]
    )
    def test_is_none_in_a_name_that_a_user_gave(self, name):
        """A column, a file of labels: whatever stands in quotes."""
        twice = f"{[name, name]} isn't the masks' {name!r}."
        absent = ColumnNotFoundError.of([name], ["x"], where="the table")
        assert repr(name) in str(absent)
        assert repr(name) in failure_of(absent).error
        error = SchemaError(
            twice, hint=f"It's {name!r}: can't [[restart=True|--restart]] {name!r}."
        )
        failure = failure_of(error)
        assert failure.error == str(error.what) == twice
        assert failure.hint == f"It's {name!r}: can't --restart {name!r}."
        assert error.hint == f"It's {name!r}: can't restart=True {name!r}."

    def test_may_name_a_section_of_a_policy(self):
        error = SchemaError("It's text.", hint="[[Cast it|Declare it under [input]]], or x[[|y]].")
        assert (error.hint, failure_of(error).hint) == (
            "Cast it, or x.",
            "Declare it under [input], or xy.",
        )

    @pytest.mark.slow
    def test_stands_in_every_message_that_has_an_option(self):
        """Outside of the command line, an option is the second of two names."""
        alone = re.compile(r"(?<![-\w])--[a-z]{2}[a-z-]*")
        pairs = re.compile(r"\[\[[^][|]*\|[^][|]*\]\]")
        both = re.compile(r"\[\[.*\|.*\]\]")
        found = []
        for path in sorted(SOURCE.rglob("*.py")):
            room = path.relative_to(SOURCE).parts[0]
            if room == "cli":
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.keyword) and node.arg == "hint":
                    texts = [it.value for it in ast.walk(node) if isinstance(it, ast.Constant)]
                    words = "".join(it for it in texts if isinstance(it, str))
                    if both.search(words):  # an apostrophe before it opens no name in quotes
                        error = SchemaError("It ran.", hint=words)
                        assert not both.search(f"{error.hint} {failure_of(error).hint}")
                    if alone.search(pairs.sub("", words)):
                        found.append(f"{path.name}:{node.value.lineno}")
        # Commands of other programs: aws and pip.
        assert [it for it in found if not it.startswith(("object_store", "formats"))] == []
