"""A lock that is a passphrase: remembered, and slow to guess."""

from __future__ import annotations

import os
import unicodedata
from typing import ClassVar, NoReturn

from halfmask._errors import IntegrityError, MissingDependencyError, ParameterError, VaultError
from halfmask._validation import integer_at_least
from halfmask.vault._envelope import KEY_BYTES, utf8
from halfmask.vault._lock import SALT_BYTES, Parameters, salt_of

SHORTEST, LONGEST = 15, 1024
FEWEST_DIFFERENT = 5
LANES = 4
#: Below these a header is refused: nobody may make guessing cheap. The second recommended choice
#: of RFC 9106, section 4, which is what machines with little memory should take.
MIN_MIB, MIN_PASSES = 64, 3
#: Above these it is refused, too: nobody may make opening exhaust the machine.
MAX_MIB, MAX_PASSES = 4096, 64


class Passphrase:
    """A lock of words that a person remembers, by Argon2id.

    Parameters
    ----------
    words
        15 to 1,024 letters, at least 5 of them different. Taken in Unicode's form NFC, so that two
        keyboards agree.
    memory_mib
        What each guess costs in memory, in MiB: 64 to 4,096. Used where a lock is made; opening
        takes what the vault's header says, within the same bounds.
    passes
        How often each guess goes over that memory: 3 to 64.

    Raises
    ------
    ParameterError
        If the passphrase is too short, too long or has too few different letters.

    Notes
    -----
    **Guarantees.** A guess costs what the header says, and never less than 64 MiB and 3 passes: a
    header that asks for less is refused. The words stand in no file, ``repr`` or error.

    **Edge cases.** There is no dictionary: a long quotation passes and is guessed. Six words drawn
    by dice can't be.

    Sources: Argon2id (RFC 9106); length without rules of composition (NIST SP 800-63B-4, 3.1.1).

    Examples
    --------
    >>> Passphrase("correct horse battery staple")
    Passphrase(memory_mib=256, passes=3)
    """

    __slots__ = ("_memory_mib", "_passes", "_words")
    kind: ClassVar[str] = "passphrase"

    def __init__(self, words: str, *, memory_mib: int = 256, passes: int = 3) -> None:
        integer_at_least(MIN_MIB, owner="Passphrase", memory_mib=memory_mib)
        integer_at_least(MIN_PASSES, owner="Passphrase", passes=passes)
        if memory_mib > MAX_MIB or passes > MAX_PASSES:
            raise ParameterError(
                f"A passphrase takes at most {MAX_MIB} MiB and {MAX_PASSES} passes."
            )
        utf8(words, "A passphrase")
        normal = unicodedata.normalize("NFC", words)
        if len(normal) < SHORTEST or len(set(normal)) < FEWEST_DIFFERENT:
            raise ParameterError(
                f"The passphrase is too easy to guess: it needs {SHORTEST} letters, "
                f"{FEWEST_DIFFERENT} of them different.",
                hint="Take six words drawn by dice, or a key file.",
            )
        if len(normal) > LONGEST:
            raise ParameterError(f"The passphrase has more than {LONGEST} letters.")
        self._words = normal.encode()
        self._memory_mib, self._passes = int(memory_mib), int(passes)

    def fresh(self) -> dict[str, str | int]:
        """Return a new salt and what a guess shall cost."""
        return {
            "salt": os.urandom(SALT_BYTES).hex(),
            "memory_mib": self._memory_mib,
            "passes": self._passes,
            "lanes": LANES,
        }

    def key(self, parameters: Parameters) -> bytes:
        """Return the key of these parameters, which takes a second.

        Parameters
        ----------
        parameters
            What the vault's header holds for this lock.

        Raises
        ------
        IntegrityError
            If the parameters ask for a guess that is cheaper, or dearer, than is allowed.
        """
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 # 30 ms
        from cryptography.hazmat.primitives.kdf.argon2 import (  # noqa: PLC0415 # the same
            Argon2id,
        )

        memory = _within(parameters, "memory_mib", MIN_MIB, MAX_MIB)
        passes = _within(parameters, "passes", MIN_PASSES, MAX_PASSES)
        lanes = _within(parameters, "lanes", LANES, LANES)
        try:
            derivation = Argon2id(
                salt=salt_of(parameters),
                length=KEY_BYTES,
                iterations=passes,
                lanes=lanes,
                memory_cost=memory * 1024,
            )
            return derivation.derive(self._words)
        except UnsupportedAlgorithm:
            raise MissingDependencyError(
                "This machine's cryptography has no Argon2id.",
                hint="Install cryptography 50 with OpenSSL 3.2 or newer, or take a key file.",
            ) from None
        except MemoryError:
            raise VaultError(
                f"There is no memory for Argon2id, which needs {memory} MiB.",
                hint="Open it on a machine with more memory.",
            ) from None

    def forget(self, parameters: Parameters) -> None:
        """Do nothing: a passphrase is kept nowhere.

        Parameters
        ----------
        parameters
            What the vault's header holds for this lock.
        """

    def __repr__(self) -> str:
        return f"Passphrase(memory_mib={self._memory_mib}, passes={self._passes})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A passphrase can't be pickled.")


def _within(parameters: Parameters, name: str, least: int, most: int) -> int:
    value = parameters.get(name)
    if not isinstance(value, int) or not least <= value <= most:
        raise IntegrityError(
            "The cost of guessing the passphrase that the vault states is out of bounds.",
            hint="Somebody may have altered it: take a copy that you trust.",
        )
    return value
