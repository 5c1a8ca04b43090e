"""Token and Hash: keyed pseudonyms, with a way back and without."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from halfmask._errors import IntegrityError, PolicyError
from halfmask._sections import Whole
from halfmask.events.actions._action import Action, Memo
from halfmask.events.block._values import Kind
from halfmask.events.block._words import SeenKinds, identity
from halfmask.events.policy._sections import Text

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._values import Values
    from halfmask.events.block._words import Token as JsonToken
    from halfmask.events.running._context import Applier, Context
    from halfmask.events.secrets._keys import EventKeys


_KEY_BYTES = 64
_BLOCK = 16


class Token(Action):
    """Write a keyed token that the holder of the secret can reverse.

    Parameters
    ----------
    domain
        Fields of one domain share tokens, so that they can be joined. The default is the rule's
        path.

    Notes
    -----
    **Guarantees.** Without the secret, a token reveals two things only: the length of its value in
    steps of 16 bytes, and whether two values are equal. Another release's key or another domain
    gives other tokens. `reveal_token` reverses a token. A token that wasn't made with this key and
    domain is an error.

    **Edge cases.** Tokens reveal which values are equal, how often each occurs, the order of values
    and which values occur together. An attacker who knows frequencies recognises frequent values.
    The number 12, 12.0 and the text "12" are the same value and have one token.

    Sources: AES-SIV (RFC 5297), deterministic, with a key of 512 bits; padded as in ISO/IEC 7816-4.

    Examples
    --------
    >>> Token().weaknesses
    ('equality-leaking', 'frequency-leaking', 'length-leaking')
    """

    do: Literal["token"] = "token"
    domain: Text | None = None

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What equal tokens and their lengths reveal."""
        return ("equality-leaking", "frequency-leaking", "length-leaking")

    def bind(self, resources: Resources) -> TokenApplier:
        """Return the maker of tokens."""
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 # 30 ms

        cipher = AESSIV(_key(resources.keys, self.domain or resources.domain))

        def made(kind: Kind, token: bytes) -> JsonToken:
            plain = bytes([Kind.STRING]) + identity(kind, token) + b"\x80"
            sealed = cipher.encrypt(plain.ljust(-(-len(plain) // _BLOCK) * _BLOCK, b"\0"), None)
            return Kind.STRING, base64.urlsafe_b64encode(sealed).rstrip(b"=")

        return TokenApplier(Memo(made))


class TokenApplier:
    """Writes tokens, and knows of what kinds of values."""

    __slots__ = ("_memo", "_seen")
    is_local = True

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._seen = SeenKinds()

    def apply(self, values: Values, context: Context) -> Values:
        """Return the token of each value."""
        self._seen.see(values)
        return self._memo.apply(values, context)

    def state(self) -> list[int] | None:
        """Return of what kinds values were, as JSON can hold it."""
        return self._seen.state()

    def restore(self, state: Any) -> None:  # noqa: ANN401 # what JSON held
        """Go on from what `state` returned."""
        self._seen.restore(state)


def reveal_token(token: str, *, keys: EventKeys, domain: str) -> JsonToken:
    """Return the value of a token: its kind and the bytes of a JSON token.

    Numbers come back as texts of the same word, since a token is the same for both.

    Parameters
    ----------
    token
        What `Token` wrote.
    keys
        Of the release that it was written for.
    domain
        The rule's domain; without one, its path.

    Raises
    ------
    IntegrityError
        If it is no token of that secret, release and domain.
    """
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 # 30 ms
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 # the same

    try:
        sealed = base64.b64decode(
            token.encode() + b"=" * (-len(token) % 4), altchars=b"-_", validate=True
        )
        plain = AESSIV(_key(keys, domain)).decrypt(sealed, None)
    except (InvalidTag, ValueError):
        raise IntegrityError(
            "It is no token of this secret, release and domain.",
            hint="Take the policy that the stream was written with.",
        ) from None
    body = plain.rstrip(b"\0")[:-1]
    return Kind(body[0]), body[1:]


def _key(keys: EventKeys, domain: str) -> bytes:
    return keys.of("token", domain, length=_KEY_BYTES)


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

        def hashed(kind: Kind, token: bytes) -> JsonToken:
            digest = hashlib.blake2b(
                bytes([Kind.STRING]) + identity(kind, token), key=key, digest_size=_DIGEST_BYTES
            )
            number = int.from_bytes(digest.digest(), "big") >> shift
            if is_number:
                return Kind.INTEGER, b"%d" % number
            return Kind.STRING, b"%0*x" % (digits, number)

        return Memo(hashed)
