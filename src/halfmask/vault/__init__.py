"""Secrets at rest: a folder that must stay at home, and the keys that are derived from it.

Start with `Vault`, which keeps secrets and sealed bytes under one key, its lock (`Passphrase`,
`KeyFile`, `Keyring`). A `Secret` derives a key for every purpose and column; encodings take nothing
else. Nothing here knows of tables.
"""

from __future__ import annotations

from halfmask.vault._envelope import open_sealed as open_sealed
from halfmask.vault._envelope import seal as seal
from halfmask.vault._index import VaultEntry
from halfmask.vault._key_file import KeyFile
from halfmask.vault._keyring import Keyring
from halfmask.vault._passphrase import Passphrase
from halfmask.vault._secret import Secret
from halfmask.vault._vault import Vault
from halfmask.vault.private_files import read_private_file as read_private_file

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "KeyFile",
    "Keyring",
    "Passphrase",
    "Secret",
    "Vault",
    "VaultEntry",
]
