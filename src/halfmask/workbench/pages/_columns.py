"""The page Columns: what each column is, why that is proposed, and how it is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

from halfmask._errors import ParameterError
from halfmask.data import Kind, Missing, Role
from halfmask.description import describe
from halfmask.description.reading_section import READING, with_reading
from halfmask.description.singling_out import share_unique
from halfmask.microdata import Policy
from halfmask.workbench._notices import notice_of
from halfmask.workbench._page import Fields, Page, PageAnswer
from halfmask.workbench._policy_edits import set_column_key
from halfmask.workbench.pages import _column_hierarchies as hierarchies
from halfmask.workbench.pages import _column_masks as masks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tomlkit import TOMLDocument

    from halfmask.data import ReadOptions
    from halfmask.description import Description, Proposal
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._project import Project

ROLES: Final = {
    "identifier": "identifier: is dropped",
    "quasi_identifier": "quasi-identifier: is made coarser",
    "sensitive": "sensitive: stays, and guarantees may guard it",
    "insensitive": "insensitive: stays unchanged",
}
#: What becomes of any column but an identifier in releases of other kinds.
_FATES: Final = {
    "masked": "stays, unless a mask changes it",
    "synthetic": "is drawn from a model of the table",
}
KINDS: Final = get_args(Kind)
MISSING: Final = {
    "value": "a value of its own",
    "suppress": "its row is left out",
    "reject": "an error",
}
#: Keys of a column that go with some roles alone, and what they are called.
_KEYS: Final = {
    "hierarchy": ("its hierarchy", ("quasi_identifier", "sensitive")),
    "recoding": ("its recoding", ("quasi_identifier",)),
    "weight": ("its weight", ("quasi_identifier",)),
    "least_level": ("its least level", ("quasi_identifier",)),
    "greatest_level": ("its greatest level", ("quasi_identifier",)),
    "mask": ("its mask", ("quasi_identifier", "sensitive", "insensitive")),
    "missing": ("its missing cells", ("quasi_identifier", "sensitive", "insensitive")),
    "label": ("that it is a label", ("quasi_identifier", "sensitive", "insensitive")),
}
#: Rows in which unique ones are counted again for each choice of roles.
_SAMPLE: Final = 50_000
_MOST_SETS: Final = 10


@dataclass(frozen=True, slots=True)
class Line:
    """A column in the table of the page: what was proposed, and what the policy says."""

    number: int
    name: str
    proposal: Proposal | None
    section: Any = None
    place: str = ""
    is_person: bool = False


# ---------------------------------------------------------------------- what is shown


def _show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    project = desk.project
    found = _describe(project)
    policy = project.any_policy() if project.has_policy else None
    context = {"found": found, "policy": policy, "roles": ROLES, "kinds": KINDS, "line": None}
    if policy is None:
        return {**context, "asks": "known" in query}
    if not isinstance(policy, Policy):
        return {**context, "lines": None}
    lines = _lines(found, policy)
    context = {**context, "roles": _roles(policy)}
    if "column" in query:
        line = _line_numbered(lines, query["column"])
        return {**context, "line": line, **_show_one(project, policy, line, query)}
    unique, looked = _count_unique(project, policy)
    sets = sorted(found.singling_out, key=lambda it: (len(it.columns), -it.share_unique))
    return {
        **context,
        "lines": lines,
        "unique": unique,
        "looked": looked,
        "sets": sets[:_MOST_SETS],
    }


def _roles(policy: Policy) -> dict[str, str]:
    """Return the roles in words, which depend on the kind of release."""
    fate = _FATES.get(policy.kind)
    named = {role: f"{role.replace('_', '-')}: {fate}" for role in ROLES if role != "identifier"}
    return dict(ROLES) if fate is None else ROLES | named


def _show_one(
    project: Project, policy: Policy, line: Line, query: Mapping[str, str]
) -> dict[str, Any]:
    """Return what the detail view of a column shows."""
    shown: dict[str, Any] = {"missing": MISSING, "tree": None, "mask": None}
    if line.section is None or line.section.role == "identifier":
        return shown
    shown["mask"] = masks.show(line.section.mask)
    if line.section.role in _KEYS["hierarchy"][1]:
        shown["tree"] = hierarchies.show(project, policy, line.name, query.get("first", ""))
    return shown


def _describe(project: Project, roles: Mapping[str, Role] | None = None) -> Description:
    """Return the description of the open table; changes of the policy don't ask for another."""
    options = _plain(project.read_options())

    def made() -> Description:
        return describe(project.source(options), roles=roles)

    return made() if roles else project.kept("description", made)


def _plain(options: ReadOptions) -> ReadOptions:
    """Return how the file is read, without what was proposed for its columns."""
    return type(options)(**{key: getattr(options, key) for key in READING})


def _lines(found: Description, policy: Policy) -> list[Line]:
    """Return all columns: those of the table in their order, then those of the policy alone."""
    proposals = {each.name: each for each in found.proposals}
    names = [*proposals, *(name for name in policy.columns if name not in proposals)]
    places = {part: place for place, it in policy.columns.items() for part in it.points or ()}
    return [
        Line(
            number,
            name,
            proposals.get(name),
            policy.columns.get(name),
            places.get(name, ""),
            policy.person == name,
        )
        for number, name in enumerate(names, start=1)
    ]


def _line_numbered(lines: Sequence[Line], number: str) -> Line:
    if not number.isdecimal() or not 1 <= int(number) <= len(lines):
        raise ParameterError("There is no column of this number.")
    return lines[int(number) - 1]


def _count_unique(project: Project, policy: Policy) -> tuple[float, int]:
    """Return the share of rows that are unique on the quasi-identifiers, and of how many rows."""
    rows = project.sample(_SAMPLE)
    known = (name for name, it in policy.columns.items() if it.role == "quasi_identifier")
    chosen = tuple(sorted(name for name in known if name in rows.columns))

    share = project.kept(("unique", chosen), lambda: share_unique(rows, chosen))
    return share, rows.height


# ---------------------------------------------------------------------- what is done


def _propose(desk: Desk, fields: Fields) -> PageAnswer:
    """Write what is proposed as the policy; the owner says which column points at people."""
    project = desk.project
    found = _describe(project)
    names = [each.name for each in found.proposals]
    numbers = fields.all("known")
    picked = [name for number, name in enumerate(names, start=1) if str(number) in numbers]
    if picked:
        found = _describe(project, dict.fromkeys(picked, "quasi_identifier"))
    if not any(each.role == "quasi_identifier" for each in found.proposals):
        what = "No column seems to point at people, and a policy needs one that does."
        desk.say(notice_of(ParameterError(what, hint="Tick what others could know of a person.")))
        return PageAnswer(query={"known": "none"})
    text = with_reading(found.policy_toml(), _plain(project.read_options()))
    project.replace(text, "Proposed a policy")
    return PageAnswer(notice="This is a proposal: look at each line, above all at those with a ?.")


def _column_of(desk: Desk, fields: Fields) -> tuple[Line, Policy]:
    """Return the column that a form is about: by its number, or by its name."""
    policy = desk.project.policy()
    lines = _lines(_describe(desk.project), policy)
    if fields.has("number"):
        return _line_numbered(lines, fields.text("number")), policy
    named = [line for line in lines if line.name == fields.text("column")]
    if not named:
        raise ParameterError("There is no such column.")
    return named[0], policy


def set_role(desk: Desk, fields: Fields) -> PageAnswer:
    """Change the role or the kind of a column; what the new role can't have is removed."""
    line, policy = _column_of(desk, fields)
    role, kind = fields.text("role"), fields.text("kind")
    if role and role not in ROLES:
        raise ParameterError("A column has no such role.", hint="Choose one of the list.")
    if kind and kind not in KINDS:
        raise ParameterError("A column has no such kind.", hint="Choose one of the list.")
    if line.section is None and not role:
        raise ParameterError("Choose the role of the column first.")
    if line.section is not None and line.section.role == role:
        role = ""  # the form has both, and the kind alone was changed
    if role and not kind and (line.section is None or line.section.kind is None):
        kind = "categorical" if line.proposal is None else line.proposal.kind
    removed: list[str] = []
    with desk.project.editing(f"{line.name}: {ROLES.get(role) or kind}") as document:
        for key, value in (("role", role), ("kind", kind)):
            if value and (line.section is None or getattr(line.section, key) != value):
                set_column_key(document, line.name, key, value)
        if role:
            removed = _remove_unfit(document, line.name, role)
    words = [f"Removed with it: {', '.join(removed)}. Undo brings it back."] if removed else []
    if role == "sensitive" and policy.kind == "microdata":
        words.append("Choose a guarantee about it on the page Protect.")
    return _back(fields, " ".join(words))


def _remove_unfit(document: TOMLDocument, name: str, role: str) -> list[str]:
    """Remove what a column of a role can't have, and return what that was, in words."""
    columns: Any = document["columns"]
    keys = [key for key, (_, roles) in _KEYS.items() if role not in roles and key in columns[name]]
    for key in keys:
        set_column_key(document, name, key, None)
    removed = [_KEYS[key][0] for key in keys]
    guarantees: Any = document.get("guarantees", [])
    for i in reversed(range(len(guarantees))):
        if role != "sensitive" and guarantees[i].get("column") == name:
            removed.append(f"the guarantee {guarantees[i].get('model')}")
            del guarantees[i]
    return removed


def _set_more(desk: Desk, fields: Fields) -> PageAnswer:
    """Change what else a policy says of a column: missing cells, label, levels, the person."""
    line, policy = _column_of(desk, fields)
    if fields.text("missing", "value") not in get_args(Missing):
        raise ParameterError("Missing cells can't be treated so.", hint="Choose one of the list.")
    levels = {key: fields.text(key) for key in ("least_level", "greatest_level")}
    values: dict[str, object] = {
        "missing": fields.text("missing", "value"),
        "label": fields.has("label"),
        **{key: fields.whole(key) if text else None for key, text in levels.items()},
    }
    with desk.project.editing(f"{line.name}: settings") as document:
        for key, value in values.items():
            if getattr(line.section, key) != value:
                is_usual = value in (None, False) or (key, value) == ("missing", "value")
                set_column_key(document, line.name, key, None if is_usual else value)
        if fields.has("person"):
            document["person"] = line.name
        elif policy.person == line.name:
            del document["person"]
    return _back(fields)


def _forget(desk: Desk, fields: Fields) -> PageAnswer:
    """Remove the section of a column that the table doesn't have."""
    line, _ = _column_of(desk, fields)
    with desk.project.editing(f"{line.name}: removed") as document:
        columns: Any = document["columns"]
        columns.remove(line.name)
    return PageAnswer()


def _back(fields: Fields, notice: str = "") -> PageAnswer:
    """Lead back to the view that the form stands in."""
    query = {
        key: fields.text(f"at-{key}") for key in ("column", "first") if fields.has(f"at-{key}")
    }
    return PageAnswer(query=query, notice=notice)


Change: TypeAlias = "Callable[[Project, str, Fields], str]"


def _about_column(change: Change) -> Callable[[Desk, Fields], PageAnswer]:
    """Return the action of a change that a form of a column's view asks for."""

    def act(desk: Desk, fields: Fields) -> PageAnswer:
        line, _ = _column_of(desk, fields)
        if line.section is None:
            raise ParameterError("Choose the role of the column first.")
        return _back(fields, change(desk.project, line.name, fields))

    return act


def _without(key: str) -> Change:
    """Return the change that removes a key of a column."""

    def change(project: Project, name: str, _: Fields) -> str:
        with project.editing(f"{name}: no {key}") as document:
            set_column_key(document, name, key, None)
        return ""

    return change


PAGE = Page(
    "columns",
    "Columns",
    _show,
    {
        "propose": _propose,
        "role": set_role,
        "kind": set_role,
        "more": _set_more,
        "forget": _forget,
        "hierarchy": _about_column(hierarchies.make),
        "group": _about_column(hierarchies.group),
        "rename": _about_column(hierarchies.rename),
        "no-hierarchy": _about_column(_without("hierarchy")),
        "mask": _about_column(masks.choose),
        "no-mask": _about_column(_without("mask")),
    },
    needs="table",
)
