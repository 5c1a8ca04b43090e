"""Foreign code: only the kind of its errors is told."""

from __future__ import annotations

import traceback

import pytest

from halfmask._errors import DataError, GuaranteeNotMetError, SchemaError
from halfmask._foreign import foreign

CANARY = "xqcanary"


def test_what_works_works():
    with foreign("It failed"):
        found = 1 + 1
    assert found == 2


@pytest.mark.parametrize("kind", [ValueError, KeyError, UserWarning, RecursionError])
def test_only_the_kind_of_an_error_is_told(kind):
    with pytest.raises(DataError) as caught, foreign("It failed on 3 rows", hint="Look there."):
        raise kind(CANARY)
    told = f"It failed on 3 rows ({kind.__name__}).\n\nHint: Look there."
    assert str(caught.value) == told
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    shown = traceback.format_exception(caught.value)
    assert CANARY not in "".join(shown)


@pytest.mark.parametrize(
    "ours", [GuaranteeNotMetError("missed"), MemoryError(), KeyboardInterrupt()]
)
def test_errors_of_ours_and_those_of_the_machine_pass(ours):
    with pytest.raises(type(ours)) as caught, foreign("It failed"):
        raise ours
    assert caught.value is ours


def refused():
    try:
        int(CANARY)
    except ValueError:
        raise GuaranteeNotMetError("missed") from None


def test_what_errors_of_ours_were_raised_from_isnt_kept():
    with pytest.raises(GuaranteeNotMetError) as hidden:
        refused()
    assert CANARY in str(hidden.value.__context__)  # Python only doesn't print it
    with pytest.raises(GuaranteeNotMetError) as caught, foreign("It failed"):
        refused()
    assert caught.value.__context__ is None


def test_an_error_is_of_the_kind_that_is_asked_for():
    with (
        pytest.raises(SchemaError, match=r"^It failed \(ValueError\)\.$"),
        foreign("It failed", told_as=SchemaError),
    ):
        raise ValueError(CANARY)


def test_a_panic_of_a_library_counts_where_it_is_named():
    class Panic(BaseException):
        pass

    with pytest.raises(Panic), foreign("It failed"):
        raise Panic(CANARY)
    with (
        pytest.raises(DataError, match=r"^It failed \(Panic\)\.$"),
        foreign("It failed", also=(Panic,)),
    ):
        raise Panic(CANARY)
