"""A release that is booked: checked before it leaves, and booked right before it gets its name."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from halfmask._errors import GuaranteeNotMetError, ParameterError, VaultError
from halfmask.claims import read_manifest
from halfmask.release import Inputs
from halfmask.verifier import CHECKS
from release.test_publishing import check, release  # type: ignore[import-not-found] # beside


class StubBooking:
    """Notes what a release does, in order."""

    sentences = ("Checked against <2> earlier releases.",)
    weaknesses = ("joined-releases: together k = 1.",)
    section = SimpleNamespace(receiver="a partner")

    def __init__(self, out, *, refuses=False, fails=False):
        self.out, self.refuses, self.fails, self.noted = out, refuses, fails, []

    @contextmanager
    def leaving(self, made, out):
        assert made.booking is self
        assert out == self.out
        if self.refuses:
            raise GuaranteeNotMetError("The book refuses the release.")
        yield self
        self.noted.append(self.out.exists())

    def book(self, manifest, folder):
        assert read_manifest(folder) == manifest
        assert (folder / "report.html").exists()
        self.noted.append(self.out.exists())
        if self.fails:
            raise VaultError("The book can't be written.")


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    monkeypatch.setitem(CHECKS, ("toy-counts", "minimum-count"), ("counted", check))


@pytest.mark.parametrize("has_page", [False, True])
def test_it_is_booked_whole_before_it_gets_its_name(tmp_path, has_page):
    page = (lambda made, manifest, _: f"{made.checked}{manifest.weaknesses}") if has_page else None
    booking = StubBooking(tmp_path / "out")

    made = release(page=page).write(tmp_path / "out", booking=booking)

    assert booking.noted == [False, True]
    assert made.checked == booking.sentences
    assert "Checked against &lt;2&gt;" in made._repr_html_()
    assert made.written[0].weaknesses[-1] == booking.weaknesses[0]
    text = (tmp_path / "out" / "report.html").read_text()
    assert booking.weaknesses[0] in text
    assert has_page or "Checked against &lt;2&gt; earlier" in text


@pytest.mark.parametrize("how", ["refuses", "fails"])
def test_nothing_is_left_of_what_is_refused_or_not_booked(tmp_path, how):
    booking = StubBooking(tmp_path / "out", **{how: True})

    with pytest.raises((GuaranteeNotMetError, VaultError)):
        release().write(tmp_path / "out", booking=booking)

    assert list(tmp_path.iterdir()) == []
    assert booking.noted == ([] if how == "refuses" else [False])


def test_what_the_verifier_does_not_confirm_is_not_booked(tmp_path):
    booking = StubBooking(tmp_path / "out")

    with pytest.raises(ValueError, match="claim"):
        release(smallest=8).write(tmp_path / "out", booking=booking)

    assert booking.noted == []


def test_the_vault_of_a_book_is_no_input_that_a_kind_refuses(tmp_path):
    """The book lies in the vault, so that any kind may get one with it."""
    booking, made = StubBooking(tmp_path / "out"), release()
    kind = replace(made.kind, make=lambda *_: made, refuses={"vault": "No token is written."})
    vault: Any = "a vault"
    with_book: Any = {"vault": vault, "book": booking}

    assert kind.make_release(None, made.policy, Inputs(**with_book)).booking is booking
    with pytest.raises(ParameterError, match="vault"):
        kind.make_release(None, made.policy, Inputs(vault=vault))
