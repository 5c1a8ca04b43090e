"""Token: a keyed pseudonym that the holder of the vault turns back."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Literal

from halfmask._errors import IntegrityError
from halfmask.events.actions._action import Action
from halfmask.events.actions._memo import Memo
from halfmask.events.block._values import Kind
from halfmask.events.block._words import SeenKinds, identity
from halfmask.events.policy._sections import Text

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._values import Values
    from halfmask.events.block._words import Token as JsonToken
    from halfmask.events.running._context import Context
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
