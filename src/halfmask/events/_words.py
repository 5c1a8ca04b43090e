"""What a JSON scalar is when it is looked up in a table: its text, whatever its type."""

from __future__ import annotations

from decimal import Decimal

from halfmask.events._values import Kind, read_text, written_text

__all__ = ["Token", "lookup_word", "scalar_token"]

Token = tuple[Kind, bytes]
_LONGEST_NUMBER = 400


def lookup_word(kind: Kind, token: bytes) -> str | None:
    """Return the word under which a scalar is looked up; None for what is no scalar.

    Numbers are looked up by what they are, not by how they are written: ``1.50`` and ``15e-1`` are
    ``"1.5"``, and so is the text ``"1.5"``.

    Examples
    --------
    >>> lookup_word(Kind.NUMBER, b"1.50"), lookup_word(Kind.STRING, b"1.50")
    ('1.5', '1.50')
    """
    match kind:
        case Kind.STRING:
            return read_text(token)
        case Kind.INTEGER:
            return token.decode() if token != b"-0" else "0"
        case Kind.NUMBER:
            return _plain(token.decode())
        case Kind.TRUE | Kind.FALSE:
            return token.decode()
        case _:
            return None


def _plain(text: str) -> str:
    if len(text) > _LONGEST_NUMBER:
        return text
    number = Decimal(text)
    if not number:
        return "0"
    # An exponent of a billion isn't written out.
    if abs(number.adjusted()) > _LONGEST_NUMBER:
        return text
    plain = f"{number:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def scalar_token(value: object) -> Token | None:
    """Return what a table or policy says as a JSON scalar; None for what is none."""
    match value:
        case bool():
            return (Kind.TRUE, b"true") if value else (Kind.FALSE, b"false")
        case int():
            return Kind.INTEGER, b"%d" % value
        case float() | Decimal() if Decimal(value).is_finite():
            text = str(value) if isinstance(value, Decimal) else repr(value)
            return (Kind.INTEGER if text.lstrip("-").isdigit() else Kind.NUMBER), text.encode()
        case str():
            return Kind.STRING, written_text(value)
        case _:
            return None
