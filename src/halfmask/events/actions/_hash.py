"""Hash: a keyed hash of so many bits."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from halfmask._errors import PolicyError
from halfmask._sections import Whole
from halfmask.events.actions._action import Action
from halfmask.events.actions._memo import Memo
from halfmask.events.block._values import Kind
from halfmask.events.block._words import identity
from halfmask.events.policy._sections import Text

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier

#: Readers of JSON take numbers for floats.
_MOST_NUMBER_BITS = 53
_DIGEST_BYTES = 32


class Hash(Action):
    """Write a keyed hash of the value: a pseudonym that nobody can reverse.

    Parameters
    ----------
    bits
        4 to 256. Few of them let values share a hash, on purpose: among 1,000 values, 5 bits make
        groups of about 30.
    form
        ``hex``: text of hexadecimal digits; ``number``: a whole number, up to 53 bits.
    domain
        Fields of one domain share hashes; by default the rule's path.

    Notes
    -----
    **Guarantees.** Without the key a hash reveals nothing about a value but whether it is the same
    as another's: BLAKE2b under a key is a pseudo-random function. Another release's key, or another
    domain, gives others.

    **Edge cases.** It reveals which values are equal, how often each occurs, and with which
    others. An attacker with known frequencies recognises frequent values. The holder of the key
    finds values by trying them. The number 12, 12.0 and the text "12" are the same value.

    Sources: BLAKE2 (RFC 7693), keyed mode.

    Examples
    --------
    >>> Hash(bits=32).weaknesses
    ('equality-leaking', 'frequency-leaking')
    """

    do: Literal["hash"] = "hash"
    bits: Annotated[Whole, Field(ge=4, le=256)] = 128
    form: Literal["hex", "number"] = "hex"
    domain: Text | None = None

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the bits go with the form."""
        if self.form == "number" and self.bits > _MOST_NUMBER_BITS:
            raise PolicyError(
                f"'bits' must be at most {_MOST_NUMBER_BITS} for form = 'number'. Got {self.bits}.",
                hint='Write fewer bits, or form = "hex".',
            )

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What equal hashes reveal."""
        return ("equality-leaking", "frequency-leaking")

    def bind(self, resources: Resources) -> Applier:
        """Return the hasher."""
        key = resources.keys.of("hash", self.domain or resources.domain)
        bits, shift = self.bits, _DIGEST_BYTES * 8 - self.bits
        digits, is_number = -(-bits // 4), self.form == "number"

        def hashed(kind: Kind, token: bytes) -> Token:
            digest = hashlib.blake2b(
                bytes([Kind.STRING]) + identity(kind, token), key=key, digest_size=_DIGEST_BYTES
            )
            number = int.from_bytes(digest.digest(), "big") >> shift
            if is_number:
                return Kind.INTEGER, b"%d" % number
            return Kind.STRING, b"%0*x" % (digits, number)

        return Memo(hashed)
