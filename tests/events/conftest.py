"""What tests of streams share."""

from __future__ import annotations

import pytest

from halfmask.vault import KeyFile, Vault


@pytest.fixture
def vault(tmp_path):
    """A vault of the test's own."""
    return Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
