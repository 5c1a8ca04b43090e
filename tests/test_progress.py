"""Progress that says nothing."""

from __future__ import annotations

from halfmask._progress import Progress, silent


def test_silence_is_kept(capfd):
    said: Progress = silent

    said("reading")
    said("reading", 0.5)
    said(stage="done", share=1.0)

    assert capfd.readouterr() == ("", "")
