"""Tokens: who may do what, in which tenant, how fast and how much. Kept as keyed hashes."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from halfmask._errors import IntegrityError, ParameterError
from halfmask._validation import integer_at_least, number_between
from halfmask.trainer.store._limits import RefusedError
from halfmask.vault.private_files import read_private, write_private

if TYPE_CHECKING:
    from halfmask.trainer.store._database import Database

#: What a token allows.
Scope: TypeAlias = Literal["read", "predict", "learn", "admin", "metrics"]
#: All scopes of tokens.
SCOPES: tuple[Scope, ...] = get_args(Scope)
_TOKEN = re.compile(r"hmt_([0-9a-f]{16})_([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Data about a token, never the token itself.

    Parameters
    ----------
    id
        8 bytes that are also in the token and in the log.
    client, tenant
        Client that has the token, and tenant whose models it reaches.
    scopes
        What it may do: ``read``, ``predict``, ``learn``, ``admin``, ``metrics``.
    requests_per_second, rows_per_second
        Rate limits, each with a burst of what one second allows; None without a limit.
    rows_quota
        How many rows it may have learned in all; None without a limit.
    max_weight
        The largest importance weight that its examples may have; None without a limit.
    created, expires
        Seconds since 1970; None where it doesn't expire.
    digest
        The HMAC by which the token is recognised.
    revoked
        Whether the token was revoked.
    """

    id: bytes
    client: str
    tenant: str
    scopes: frozenset[str]
    requests_per_second: float | None = None
    rows_per_second: float | None = None
    rows_quota: int | None = None
    max_weight: float | None = None
    created: float = 0.0
    expires: float | None = None
    revoked: bool = False
    digest: bytes = field(default=b"", repr=False)

    def holds(self, now: float) -> bool:
        """Return whether it is neither revoked nor expired.

        Parameters
        ----------
        now
            The time, in seconds since 1970.
        """
        return not self.revoked and (self.expires is None or now < self.expires)


class Tokens:
    """The tokens of a service.

    A token is 32 random bytes behind an id. Kept is its HMAC-SHA-256 under a key that lies next to
    the database in a file of its own, so that a reader of the database, or of a backup of it alone,
    can't test a token. A slow hash would add nothing: 256 random bits can't be guessed.

    Parameters
    ----------
    database
        Where they are listed.
    key_file
        The file of the key; made where it isn't there, readable by its owner alone.
    """

    def __init__(self, database: Database, key_file: Path) -> None:
        self._database = database
        if not key_file.exists():
            # If another process was faster, its key is the key.
            with suppress(FileExistsError):
                write_private(key_file, secrets.token_bytes(_KEY_BYTES))
        self._key = read_private(key_file, what="The key of the tokens", most=_KEY_BYTES)
        if len(self._key) != _KEY_BYTES:
            raise IntegrityError("The key of the tokens is shorter than it was made.")

    def create(
        self,
        *,
        client: str,
        tenant: str,
        scopes: frozenset[str],
        requests_per_second: float | None = None,
        rows_per_second: float | None = None,
        rows_quota: int | None = None,
        max_weight: float | None = None,
        valid_seconds: float | None = None,
    ) -> tuple[Token, str]:
        """Make a token; return its facts and the token, which is shown only once.

        Parameters
        ----------
        client
            Who gets it.
        tenant
            Whose models it reaches.
        scopes
            What it may do; see `SCOPES`.
        requests_per_second, rows_per_second, rows_quota, max_weight
            As of `Token`.
        valid_seconds
            How long it is valid; None: until it is revoked.

        Raises
        ------
        ParameterError
            If a name, a scope or a number can't be what was given.
        """
        _check(client, tenant, scopes)
        rates = {
            "requests_per_second": requests_per_second,
            "rows_per_second": rows_per_second,
            "max_weight": max_weight,
            "valid_seconds": valid_seconds,
        }
        given = {name: rate for name, rate in rates.items() if rate is not None}
        number_between(0, float("inf"), owner="a token", low_open=True, **given)  # type: ignore[arg-type] # names are those above
        if rows_quota is not None:
            integer_at_least(0, owner="a token", rows_quota=rows_quota)
        identity, secret, now = secrets.token_bytes(8), secrets.token_hex(32), time.time()
        token = Token(
            id=identity,
            client=client,
            tenant=tenant,
            scopes=scopes,
            requests_per_second=requests_per_second,
            rows_per_second=rows_per_second,
            rows_quota=rows_quota,
            max_weight=max_weight,
            created=now,
            expires=None if valid_seconds is None else now + valid_seconds,
            digest=self._digest(identity, secret),
        )
        with self._database.writing() as run:
            run("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", _row_of(token))
        return token, f"hmt_{identity.hex()}_{secret}"

    def listed(self) -> list[Token]:
        """Return all tokens, the oldest first."""
        rows = self._database.rows(
            "SELECT id, digest, client, tenant, scopes, requests_per_second, rows_per_second, "
            "rows_quota, max_weight, created, expires, revoked FROM tokens ORDER BY created, id"
        )
        return [_token_of(row) for row in rows]

    def revoke(self, identity: str) -> None:
        """Make a token of no use. A service that runs knows within a second.

        Parameters
        ----------
        identity
            The id of the token, in hexadecimal digits.

        Raises
        ------
        RefusedError
            If there is none of that id.
        """
        known = {each.id for each in self.listed()}
        named = bytes.fromhex(identity) if re.fullmatch(r"[0-9a-f]{16}", identity) else b""
        if named not in known:
            raise RefusedError(
                "There is no token of that id.",
                status=404,
                word="not-found",
                hint="halfmask serve token list shows them.",
            )
        with self._database.writing() as run:
            run("UPDATE tokens SET revoked = 1 WHERE id = ?", (named,))

    def is_of(self, token: Token, secret: str) -> bool:
        """Return whether a secret is a token's, in constant time.

        Parameters
        ----------
        token
            The token.
        secret
            The secret to compare.
        """
        return hmac.compare_digest(self._digest(token.id, secret), token.digest)

    def _digest(self, identity: bytes, secret: str) -> bytes:
        return hmac.new(self._key, identity + secret.encode(), hashlib.sha256).digest()


def parts_of(text: str) -> tuple[bytes, str] | None:
    """Return the id and the secret of a token, or None where it is none."""
    found = _TOKEN.fullmatch(text)
    return None if found is None else (bytes.fromhex(found[1]), found[2])


def _check(client: str, tenant: str, scopes: frozenset[str]) -> None:
    for what, name in (("client", client), ("tenant", tenant)):
        if not _NAME.fullmatch(name):
            raise ParameterError(
                f"The name of a {what} must be 1 to 64 letters, digits, dots, dashes or "
                "underscores, and start with a letter or digit."
            )
    if not scopes or not scopes <= set(SCOPES):
        raise ParameterError(f"The scopes of a token are some of {', '.join(SCOPES)}.")


def _row_of(token: Token) -> tuple[Any, ...]:
    return (
        token.id,
        token.digest,
        token.client,
        token.tenant,
        " ".join(sorted(token.scopes)),
        token.requests_per_second,
        token.rows_per_second,
        token.rows_quota,
        token.max_weight,
        token.created,
        token.expires,
    )


def _token_of(row: tuple[Any, ...]) -> Token:
    return Token(
        id=row[0],
        digest=row[1],
        client=row[2],
        tenant=row[3],
        scopes=frozenset(row[4].split()),
        requests_per_second=row[5],
        rows_per_second=row[6],
        rows_quota=row[7],
        max_weight=row[8],
        created=row[9],
        expires=row[10],
        revoked=bool(row[11]),
    )
