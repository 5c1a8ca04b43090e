"""Policy: what the owner wants, as a TOML file without rows or keys."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import tomlkit
from pydantic import ConfigDict, model_validator

from halfmask._errors import PolicyError
from halfmask._foreign import foreign
from halfmask._html_table import html_table
from halfmask._sections import Choice, in_old_keys
from halfmask.data import Column, Groups, Hierarchy, Order, ReadOptions, Schema
from halfmask.geo import PlaceColumns
from halfmask.microdata._hierarchy_section import build_listed, hierarchy_of
from halfmask.microdata._places import PlaceColumn, open_maps, place_rule
from halfmask.microdata._policy_checks import asks_for_tree, check_policy
from halfmask.microdata._policy_sections import PolicySections

if TYPE_CHECKING:
    from halfmask.geo import Maps, PlaceRule
    from halfmask.guarantees import Guarantee


def _stated(guarantee: Choice) -> str:
    """Return the name of a guarantee with its parameters."""
    given = guarantee.model_dump(exclude_none=True, exclude={guarantee.key})
    return f"{guarantee.named} ({', '.join(f'{name} = {it}' for name, it in given.items())})"


class Policy(PolicySections):
    """What the owner of a table wants: roles of columns, and guarantees.

    It holds names of columns and, in hierarchies, categories that the owner wrote there; no row
    and no secret.

    Parameters
    ----------
    halfmask
        The version of the format: 1.
    columns
        A section for each column of the table; a column without one is an error.
    guarantees
        What the release guarantees; one at least, unless there are masks. (The field is called
        `guarantee_sections`, since `guarantees` returns them as values.)
    masks
        Masks of several columns and masks of rows, in order. (The field is called `table_masks`,
        since `masks` returns those of one column.)
    person
        The identifier that says whose row it is, where a person may have several rows. Guarantees
        then count each person once in a class.
    sampling_weights
        The column with which the report of masks weighs means, shares and the regression.
    input, method, recoding, suppression, output
        How the table is read, how classes are found and written, how many rows may be left out,
        and how the release is written. By default: strict Mondrian, ranges (levels
        with ``full-domain``), none, Parquet.
    synthesis
        How synthetic rows are drawn, in the place of guarantees and masks.
    book
        The book of releases that a release is checked against, and what must hold over all of them.
    maps
        Files of the owner with points or areas, which hierarchies of places and masks name.

    Raises
    ------
    PolicyError
        If a part of it is invalid. The message states where (``[columns.age] role``), what was
        got and what was probably meant. It never quotes a category.

    See Also
    --------
    halfmask.describe : Proposes a policy for a table.
    halfmask.protect : Protects a table by a policy.

    Notes
    -----
    **Guarantees.** A policy that could be made is consistent in itself: each guarantee is about a
    sensitive column that has a section, there is a quasi-identifier, an ordered distance has an
    order, a hierarchical distance has a hierarchy, and split targets exist and stay in the release.
    Whether it fits a table is asked by `Schema.check`.

    Examples
    --------
    >>> policy = Policy.from_toml('''
    ... halfmask = 1
    ... [columns.age]
    ... role = "quasi_identifier"
    ... kind = "numeric"
    ... [[guarantees]]
    ... model = "k-anonymity"
    ... k = 10
    ... ''')
    >>> policy.guarantees()
    (KAnonymity(k=10),)
    >>> policy.schema().quasi_identifiers, policy.method.name
    (('age',), 'mondrian')

    How classes are found and written, and how many rows may be left out:

    >>> text = policy.to_toml() + '''
    ... [method]
    ... name = "mdav"
    ... [recoding]
    ... name = "centroid"
    ... [suppression]
    ... max_fraction = 0.02
    ... '''
    >>> other = Policy.from_toml(text)
    >>> other.method.name, other.recoding.name, other.suppression.max_fraction
    ('mdav', 'centroid', 0.02)
    """

    model_config = ConfigDict(title="A policy of halfmask")

    if TYPE_CHECKING:  # sections may be given in the words of a file

        def __init__(self, **sections: object) -> None: ...

    def to_toml(self) -> str:
        """Return the policy as TOML, without defaults; `from_toml` reads it."""
        return tomlkit.dumps(self._stated())

    def _stated(self) -> dict[str, Any]:
        """Return the policy as a file has it, without defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)

    def changed(self, **sections: object) -> Policy:
        """Return the policy with other sections, checked like a policy from a file.

        Parameters
        ----------
        sections
            Whole sections under the keys of the file, such as ``method={"name": "mdav"}``.

        Raises
        ------
        PolicyError
            If they don't go together with the rest.
        """
        return self._read_from(self._folder, **sections)

    def _read_from(self, folder: str | Path | None, **sections: object) -> Policy:
        table = {**self._stated(), **sections}
        return Policy.from_toml(tomlkit.dumps(table), folder=folder)

    def moved(self, folder: str | Path) -> Policy:
        """Return the policy for another folder, where it finds the same files.

        Parameters
        ----------
        folder
            Where the policy file will be.
        """
        stated = self._stated()
        trees = [section.get("hierarchy") or {} for section in stated["columns"].values()]
        for section in (*trees, *stated.get("maps", {}).values()):
            if "file" in section and self._folder is not None:
                found = os.path.relpath(
                    os.path.realpath(self._folder / section["file"]), os.path.realpath(folder)
                )
                section["file"] = Path(found).as_posix()
        return Policy.from_toml(tomlkit.dumps(stated), folder=folder)

    def read_options(self) -> ReadOptions:
        """Return how the table is to be read: places as the finest of their areas."""
        places = {}
        for name, it in self.columns.items():
            if it.place:
                points = None if it.points is None else PlaceColumns(it.points, it.unit, it.crs)
                places[name] = PlaceColumn(
                    name, self.place_rule(name), points, kept=frozenset(self.columns)
                )
        return ReadOptions(**dict(self.input), normalize=self.normalize, derived=places)

    def opened_maps(self) -> Maps:
        """Return what the files of its maps hold, by name."""
        return open_maps(self.maps, self._folder)

    def map_digest(self, name: str) -> str:
        """Return a digest of what a map says: its section, and its file wherever that is.

        Parameters
        ----------
        name
            Of the map.
        """
        section = self.maps[name]
        with foreign("The file of a map can't be read", hint="Check that it is still there."):
            made = hashlib.sha256(Path(self._folder or "", section.file).read_bytes())
        made.update(section.model_dump_json(exclude={"file"}).encode())
        return made.hexdigest()

    def place_rule(self, column: str, folder: str | Path | None = None) -> PlaceRule:
        """Return the rule of a place.

        Parameters
        ----------
        column
            Its name.
        folder
            Where its maps are; by default that of the file that the policy was loaded from.
        """
        section = self.columns[column]
        assert section.hierarchy is not None  # noqa: S101 # every place has one
        named = {name: self.maps[name] for name in section.hierarchy.maps}
        where = self._folder if folder is None else folder
        return place_rule(section.hierarchy, section.unit, section.crs, open_maps(named, where))

    @property
    def sha256(self) -> str:
        """The hash of what the policy says, 64 hexadecimal digits.

        Comments, spaces, the order of keys in a section, and whether a default is written don't
        matter; the order of columns, guarantees and groups does. What hierarchy files hold isn't
        part of it.
        """
        return hashlib.sha256(self._canonical().encode("ascii")).hexdigest()

    def _canonical(self) -> str:
        # Without defaults, so that a key which later versions know changes no hash.
        table = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        if "method" in table:
            table["method"] = in_old_keys(table["method"])  # a policy of 0.1 keeps its hash
        return json.dumps(table, ensure_ascii=True, separators=(",", ":"), allow_nan=False)

    def __eq__(self, other: object) -> bool:
        """Return whether both say the same; where they were read from doesn't matter."""
        return isinstance(other, Policy) and self._canonical() == other._canonical()

    def __hash__(self) -> int:
        """Return a hash of what the policy says."""
        return hash(self._canonical())

    def __repr__(self) -> str:
        """Show how much the policy says; never a category of its hierarchies."""
        models = ", ".join(each.named for each in self.guarantee_sections)
        return f"Policy({len(self.columns)} columns, {models}, {self.method.named})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Show columns and guarantees as a table in a notebook, without categories."""
        return html_table(
            f"Policy for {len(self.columns)} columns",
            ("column", "role", "kind", "hierarchy", "mask", "label"),
            (
                (
                    name,
                    column.role,
                    column.kind,
                    "" if column.hierarchy is None else "yes",
                    "" if column.mask is None else column.mask.name,
                    "yes" if column.label else "",
                )
                for name, column in self.columns.items()
            ),
            (
                f"Guarantees: {'; '.join(map(_stated, self.guarantee_sections))}.",
                *(() if self.is_private else self._facts_of_classes()),
            ),
        )

    def _facts_of_classes(self) -> tuple[str, ...]:
        return (
            f"Method: {self.method.named}; recoding: {self.recoding.named}.",
            f"At most {self.suppression.max_fraction:.1%} of the rows may be suppressed.",
        )

    def schema(  # type: ignore[override] # shadows a name that pydantic has given up
        self, folder: str | Path | None = None
    ) -> Schema:
        """Return what the policy says of the columns, hierarchy files read.

        Parameters
        ----------
        folder
            Where hierarchy files are looked for; by default next to the file that the policy was
            loaded from.

        Raises
        ------
        PolicyError
            If there are hierarchy files and no folder to look in.
        HierarchyError
            If a hierarchy file can't be read or is none.
        """
        where = self._folder if folder is None else Path(folder)
        return Schema(
            tuple(
                Column(
                    name=name,
                    role=section.role,
                    kind=section.kind or "text",
                    hierarchy=None
                    if section.hierarchy is None
                    else self.place_rule(name, where)
                    if section.place
                    else hierarchy_of(section.hierarchy, name, where),
                    missing=section.missing,
                    label=section.label,
                    weight=section.weight,
                    least_level=section.least_level,
                    greatest_level=section.greatest_level,
                )
                for name, section in self.columns.items()
            )
        )

    def labels(self) -> dict[str, list[list[str]]]:
        """Return the labels of listed hierarchies: of each level above the values."""
        trees = [
            build_listed(column)
            for column in self.schema().columns
            if isinstance(column.hierarchy, Hierarchy | Order | Groups)
        ]
        return {
            tree.column: [list(dict.fromkeys(tree.labels(n))) for n in range(1, tree.height)]
            for tree in trees
        }

    def guarantees(self, schema: Schema | None = None) -> tuple[Guarantee, ...]:
        """Return the guarantees as values, in the order of the file.

        Parameters
        ----------
        schema
            The schema whose hierarchies order the sensitive columns, built on the table's values
            where rules make them; by default `schema`. A hierarchy by a list needs no table.

        Raises
        ------
        PolicyError
            If a distance needs a hierarchy whose rule needs the values of the table, or the
            guarantee is differential privacy, which judges no classes.
        """
        if self.is_private:
            raise PolicyError(
                "The guarantee 'differential-privacy' judges no classes.",
                hint="Only halfmask.protect makes rows by such a policy.",
            )
        known = schema
        if known is None and any(asks_for_tree(it, self.columns) for it in self.guarantee_sections):
            known = self.schema()
        made = []
        for section in self.guarantee_sections:
            more: dict[str, object] = {}
            if known is not None and asks_for_tree(section, self.columns):
                column = known[str(section.about)]
                more["hierarchy"] = None if column.hierarchy is None else build_listed(column)
            made.append(section.made(**more))
        return tuple(made)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        check_policy(self)
        return self
