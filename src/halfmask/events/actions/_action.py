"""What every action is: options that may be published, and what makes it ready to work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError, PolicyError
from halfmask.events.policy._sections import EventSection

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from halfmask.events.running._context import Applier
    from halfmask.events.secrets._keys import EventKeys
    from halfmask.events.secrets._tables import SecretTable, TableKind


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Resources:
    """What an action needs in addition to its options.

    Parameters
    ----------
    keys
        Keys of the release.
    tables
        Secret tables, by name.
    path
        Path that the action works on, without wildcards.
    domain
        Name of the domain. Fields of one domain get the same pseudonyms.
    zone
        Time zone of times that don't state one. None refuses such times.
    entity
        Path of the entity that the event is about; None if the stream names none.
    scopes
        Paths of the stream's tenant and session, by the keys ``tenant`` and ``session``.
    folder
        Folder of the hierarchy files.
    is_last
        Whether no other action of times works on its result.
    """

    keys: EventKeys
    tables: Mapping[str, SecretTable]
    path: str
    domain: str
    zone: str | None = None
    entity: str | None = None
    scopes: Mapping[str, str]
    folder: Path | None = None
    is_last: bool = True

    def table(self, name: str, kind: TableKind) -> SecretTable:
        """Return a secret table.

        Parameters
        ----------
        name
            The name in the policy.
        kind
            The kind that the action needs.

        Raises
        ------
        ParameterError
            If there is none of that name, or it is of another kind.
        """
        found = self.tables.get(name)
        if found is None:
            raise ParameterError(
                f"The policy needs the secret table {name!r}, which wasn't given.",
                hint="Give it by its name in 'tables', or seal it in the vault.",
            )
        if found.kind != kind:
            raise ParameterError(
                f"The secret table {name!r} must be of kind {kind!r}. Got {found.kind!r}."
            )
        return found

    def entity_of(self, by: str | None) -> str:
        """Return the path of whom a value is about: the rule's own, else the stream's.

        Parameters
        ----------
        by
            The path that the rule names; ``None``: that of the stream.
        """
        found = by or self.entity
        if found is None:
            raise PolicyError(
                "An action needs the path of the entity.",
                hint='Write entity = "..." in [stream], or by = "..." in the rule.',
            )
        return found


class Action(EventSection):
    """One action of a rule: it changes the values of one path.

    Its options hold no secret and no data. `weaknesses` names, in words that `WEAKNESSES` explains,
    what it doesn't protect from.
    """

    do: str

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What it doesn't protect from."""
        raise NotImplementedError

    def reads(self) -> tuple[str, ...]:
        """Return the paths that it reads besides its own."""
        return ()

    def needs(self) -> tuple[str, ...]:
        """Return what `[stream]` must name for it: ``tenant``, ``session``, ``entity``."""
        return ()

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the secret tables that it needs: names and kinds."""
        return ()

    def bind(self, resources: Resources) -> Applier:
        """Return the action ready to work on the values of one path.

        Parameters
        ----------
        resources
            The secret tables and keys of the run.

        Raises
        ------
        ParameterError
            If a secret table isn't there.
        PolicyError
            If it needs something that the policy doesn't say.
        """
        raise NotImplementedError
