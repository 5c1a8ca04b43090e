"""Waits grow to a limit, never undercut what was asked, and differ between clients."""

from __future__ import annotations

import pytest

from halfmask import ParameterError
from halfmask.trainer.client import RetryPolicy


def test_waits_double_up_to_the_limit():
    retry_policy = RetryPolicy(first_seconds=1, max_seconds=10)

    for tries, longest in enumerate([1, 2, 4, 8, 10, 10]):
        for _ in range(20):
            assert longest / 2 <= retry_policy.wait(tries) <= longest
    assert retry_policy.wait(10_000) <= 10


def test_what_was_asked_is_never_undercut():
    retry_policy = RetryPolicy(first_seconds=1, max_seconds=10)

    assert retry_policy.wait(0, asked=100) == 100
    assert retry_policy.wait(5, asked=0.0) >= 5


def test_two_clients_wait_differently():
    assert len({RetryPolicy().wait(3) for _ in range(10)}) > 5


@pytest.mark.parametrize("name", ["answer_seconds", "first_seconds", "max_seconds"])
@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "1", None])
def test_numbers_out_of_range_are_refused(name, wrong):
    with pytest.raises(ParameterError, match=name):
        RetryPolicy(**{name: wrong})


def test_giving_up_at_once_is_allowed():
    assert RetryPolicy(give_up_seconds=0).give_up_seconds == 0
