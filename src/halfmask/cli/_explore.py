"""``halfmask explore``: many policies on one table, by risk and utility."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from halfmask._errors import ReleaseError
from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import some
from halfmask.cli._console import WARNED, console, listing, printable, say_json
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, as_number, flag, option, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions
from halfmask.cli._policy_file import PolicyFile
from halfmask.cli._protect import KEY_FILE, POPULATION, key_in
from halfmask.cli._vault import PseudonymVault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.table import Table

    from halfmask.microdata.exploring import Exploration, ExploredPoint

Value = TypeVar("Value")
_VARY_HINT: Final = "Write, for example, --vary t=0.2,0.4 or --vary t-closeness.t=0.2,0.4"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOptions:
    """What is varied, what is measured, and by what points are compared."""

    heading: ClassVar = "Policies to try"

    k: str | None = option("--k K,K: Values of k, such as 2,5,10. By default 2,5,10,20,50.")
    vary: list[str] | None = option(
        "--vary NAME=V,V: Values of another parameter of guarantees, such as l=2,3 or "
        "t-closeness.t=0.2,0.4; may be given more than once."
    )
    methods: str | None = option("--methods NAME,NAME: Methods. By default all.")
    recodings: str | None = option(
        "--recodings NAME,NAME: Recodings. By default the policy's own, and level if a "
        "quasi-identifier has a hierarchy."
    )
    suppression: str | None = option(
        "--suppression SHARE,SHARE: Shares of rows that may be suppressed. By default 0, the "
        "policy's own and 0.02."
    )
    nodes: int | None = option(
        "--nodes N: In the place of a grid: the N combinations of levels that lose least and keep "
        "the guarantees. The method of POLICY is full-domain. Nothing else is varied.",
        min=1,
    )
    max_points: int = option(
        "--max-points N: The limit of policies; of a larger grid some are drawn at random.",
        60,
        min=1,
    )
    rows: int | None = option(
        "--rows ROWS: The limit of rows; of a larger table some are drawn at random. By default "
        "200,000, and all rows with --nodes.",
        min=1,
    )
    search_seconds: float = option(
        "--search-seconds SECONDS: How long the search of one full-domain policy takes at most.",
        10.0,
        min=0.001,
    )
    seed: int = option("--seed N: The seed of the random draws.", 0, min=0)

    risk: str = option(
        "--risk NAME: The axis of risk: highest, average, journalist-highest, "
        "journalist-average, or all-columns.",
        "highest",
    )
    utility: str = option(
        "--utility NAME: The axis of utility: loss, detail, detail:COLUMN, discernibility, "
        "non-uniform-entropy, ambiguity, squared-error, suppressed, or accuracy with "
        "--label-model.",
        "loss",
    )
    label_model: bool = flag(
        "--label-model: Train a model of the label on each release. This takes seconds for each."
    )

    def given(self) -> dict[str, Any]:
        """Return the arguments of `halfmask.explore`."""
        kept = ("nodes", "max_points", "rows", "search_seconds", "risk", "utility", "label_model")
        return {name: getattr(self, name) for name in kept} | {
            "k": _listed("--k", self.k, int),
            "vary": dict(map(_varied, self.vary or ())) or None,
            "methods": _listed("--methods", self.methods, str),
            "recodings": _listed("--recodings", self.recodings, str),
            "max_suppression": _listed("--suppression", self.suppression, float),
            "random_state": self.seed,
        }


def _listed(option: str, text: str | None, kind: Callable[[str], Value]) -> list[Value] | None:
    """Return values that were given with commas between them."""
    if text is None:
        return None
    try:
        found = [kind(each.strip()) for each in text.split(",") if each.strip()]
    except ValueError:
        found = []
    if not found:
        words = {int: "whole numbers", float: "numbers"}.get(kind, "names")  # type: ignore[call-overload] # a kind that isn't listed is a name
        raise UsageError(f"{option} must be {words} with commas between them.")
    return found


def _varied(text: str) -> tuple[str, list[float]]:
    name, _, values = text.partition("=")
    found = _listed("--vary", values, as_number) if values else None
    if not name or found is None:
        raise UsageError("--vary must be a name, = and numbers.", hint=_VARY_HINT)
    return name.strip(), found


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenPoint:
    """One point whose policy is written to a file of its own."""

    heading: ClassVar = "Take one"
    take: int | None = option(
        "--take NUMBER: Write the policy of the point with this number to --policy-out.", min=0
    )
    policy_out: str | None = option(
        "--policy-out FILE: Where --take writes the policy, for halfmask protect."
    )

    def check(self, policy: str, *, overwrite: bool) -> None:
        """Refuse what can't end well, before a long look."""
        if (self.take is None) != (self.policy_out is None):
            raise UsageError(
                "--take and --policy-out go together.",
                hint="Write, for example, --take 2 --policy-out my.toml",
            )
        if self.policy_out == "-":
            raise UsageError("--policy-out is a file: it can't be standard output.")
        mine = Path(self.policy_out or policy)
        if self.policy_out is not None and mine.exists() and mine.samefile(policy):
            raise UsageError(
                "--policy-out is POLICY, and its comments would be lost.",
                hint="Give another name: the policy of a point is written without comments.",
            )
        PolicyFile(out=self.policy_out, overwrite=overwrite).check(as_json=False)

    def write(self, found: Exploration, *, overwrite: bool) -> None:
        """Write the policy of the point, if one is taken."""
        if self.take is not None and self.policy_out is not None:
            text = found.taken(self.take, folder=Path(self.policy_out).absolute().parent)
            PolicyFile(out=self.policy_out, overwrite=overwrite).write(text)


#: Points that are shown unless more is asked for.
FEW_POINTS = 20
#: The losses of a node, and its suppressed rows.
LOSSES = ("loss", "search", "suppressed")


@spreads_groups
def explore(
    table: str = TABLE,
    policy: str = argument("POLICY: The policy to vary."),
    more: list[str] | None = argument(
        "[POLICY]... [OUT]: More policies, files that end in .toml, to be compared with the first. "
        "OUT is the folder to create for the numbers; of one policy also for the picture and a "
        "policy file for each point.",
        None,
    ),
    *,
    folder: str | None = option("--out -o OUT: The same as OUT, as an option."),
    grid: GridOptions,
    taken: TakenPoint,
    population: str | None = POPULATION,
    key_file: str | None = KEY_FILE,
    pseudonyms: PseudonymVault,
    overwrite: bool = flag("--overwrite: Replace an earlier exploration in OUT, and --policy-out."),
    saying: SayingOptions,
) -> int:
    """Compare policies before you choose: risk against utility, and what each guarantee costs.

    The policy is varied over methods, values of k and other parameters, recodings and limits of
    suppression. A policy is on the frontier if no other has less risk and loses less. Policies
    that the table can't keep are listed with the reason. Policies whose releases have the same rows
    are one point.

    With --nodes, the levels of full-domain generalization are varied instead: the combinations that
    lose least are listed with their levels, loss by column and suppressed rows. --take writes one
    of them as a policy.

    With two or more policies, nothing is varied. Each is applied to TABLE, and the releases are
    compared: what is released, how far it is from TABLE, and how often attacks succeed. Classes,
    masks and synthetic rows are measured alike.

    OUT gets frontier.svg, points.csv, exploration.json, and a policy file for each point, which
    halfmask protect takes. These are for the owner of the table: they show the risk of the raw
    table. They hold no cell of it, but they are no release. The exit code is 1 if no policy can be
    kept.
    """
    if table.lower().endswith(".toml"):
        raise UsageError("TABLE is a policy.", hint="Give the table first, then the policy.")
    others = [it for it in more or () if it.lower().endswith(".toml")]
    out = _out_of([it for it in more or () if it not in others], folder)
    _check_out(out, overwrite=overwrite, is_taken=taken.take is not None)
    taken.check(policy, overwrite=overwrite)
    key = key_in(key_file)
    vault = pseudonyms.open(table, policy, *others)
    if others:
        if grid != replace(GridOptions(), seed=grid.seed) or taken.take is not None:
            raise UsageError(
                "Several policies are given, and an option to vary one.",
                hint="With several policies, only --seed, --population, --key-file and --vault go.",
            )
        files = [policy, *others]
        given = {"random_state": grid.seed, "population": population, "key": key, "vault": vault}
        return _compare(table, files, out, saying, given, overwrite=overwrite)
    wanted = rooms.microdata.Policy.load(policy)
    with saying.stages() as stages:
        found = rooms.microdata.explore(
            table,
            wanted,
            **grid.given(),
            population=population,
            key=key,
            vault=vault,
            progress=stages,
        )
        if out is not None:
            stages("writing")
            found.write(out, overwrite=overwrite)
        taken.write(found, overwrite=overwrite)
    if saying.as_json:
        said = {} if taken.take is None else {"taken": taken.policy_out}
        say_json({"ok": bool(found.points), "out": out, **said, **found.to_dict()})
    else:
        _show(found, out, console(), verbose=saying.verbose)
        if taken.policy_out is not None:
            console().print(f"Policy    {printable(taken.policy_out)}", soft_wrap=True)
    return 0 if found.points else 1


def _out_of(given: list[str], folder: str | None) -> str | None:
    """Return the folder to make, which is named once."""
    named = [*given, *([] if folder is None else [folder])]
    if len(named) > 1:
        raise UsageError(
            "OUT is given twice.", hint="Policies to compare are files that end in .toml."
        )
    return named[0] if named else None


def _compare(
    table: str,
    files: list[str],
    out: str | None,
    saying: SayingOptions,
    given: dict[str, Any],
    *,
    overwrite: bool,
) -> int:
    """Compare the releases by several policies, by the names of their files."""
    short = [Path(it).name for it in files]
    names = short if len(set(short)) == len(files) else files
    if len(set(names)) < len(files):
        raise UsageError("A policy is given twice.")
    policies = {}
    for place, (name, file) in enumerate(zip(names, files, strict=True), start=1):
        with rooms.microdata.exploring.naming_policy(place):
            policies[name] = rooms.microdata.Policy.load(file)
    with saying.stages() as stages:
        found = rooms.microdata.exploring.compare_policies(
            table, policies, progress=stages, **given
        )
        if out is not None:
            stages("writing")
            found.write(out, overwrite=overwrite)
    kept = [it for it in policies if "refused" not in found.measures[it]]
    if saying.as_json:
        say_json({"ok": bool(kept), "out": out, **found.to_dict()})
        return 0 if kept else 1
    frame, screen = found.to_frame(), console()
    shown = listing(*map(printable, frame.columns), right=tuple(frame.columns[1:]))
    for row in frame.rows():
        shown.add_row(*map(printable, row))
    screen.print("\nThe table and each policy", style="bold")
    screen.print(shown)
    screen.print(f"\n{rooms.microdata.exploring.NOTE}", soft_wrap=True)
    return 0 if kept else 1


def _check_out(out: str | None, *, overwrite: bool, is_taken: bool) -> None:
    if out == "-":
        raise UsageError("OUT is a folder: it can't be standard output.")
    if out is None and overwrite and not is_taken:
        raise UsageError("--overwrite is given, and no OUT.", hint="Name the folder to replace.")
    if out is not None and os.path.lexists(out) and not overwrite:
        raise ReleaseError(
            "OUT exists already.", hint="Choose another name, or --overwrite an earlier one."
        )


def _show(found: Exploration, out: str | None, screen: Console, *, verbose: bool) -> None:
    """Show the frontier, what guarantees cost, and what was refused."""
    shown = found.points if verbose or found.search else found.frontier[:FEW_POINTS]
    drawn = "" if found.rows == found.table_rows else f" drawn of {found.table_rows:,}"
    what = "All points" if verbose else f"The frontier by {found.risk} risk and {found.utility}"
    what = found.search_sentence or what
    screen.print(f"\n{what}, on {some(found.rows, 'row')}{drawn}", style="bold", soft_wrap=True)
    if shown:
        screen.print(_nodes(shown) if found.search else _points(found, shown))
        for each in shown:
            if each.remark and not found.search:
                screen.print(f"  {each.asked.number}: {printable(each.remark)}", soft_wrap=True)
    else:
        screen.print("  no policy can be kept", style=WARNED)
    left = len(found.points) - len(shown)
    if left:
        screen.print(f"  and {left} more points, with --verbose", style="dim")
    if found.trials:
        screen.print("\nWhat the given policy keeps without a guarantee", style="bold")
    for sentence in rooms.microdata.exploring.trial_sentences(found.trials):
        screen.print(f"- {printable(sentence)}", soft_wrap=True)
    if found.refused:
        screen.print(f"\nPolicies refused: {len(found.refused)}", style="bold")
        for why, names in found.reasons.items():
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            screen.print(f"- {printable(names[0])}{more}: {printable(why)}", soft_wrap=True)
    screen.print(f"\n{rooms.microdata.exploring.NOTE}", soft_wrap=True)
    if out is not None:
        picture = os.path.join(out, "frontier.svg")  # noqa: PTH118 - as the user wrote it
        screen.print(f"Picture   {printable(picture)}", soft_wrap=True)
        policies = os.path.join(out, "policies")  # noqa: PTH118 - the same
        screen.print(f"Policies  {printable(policies)}", soft_wrap=True)
        screen.print("Next: choose a policy file, then halfmask protect TABLE POLICY RELEASE.")


def _points(found: Exploration, points: Iterable[ExploredPoint]) -> Table:
    """Return a line for each point: its name, its classes, and the measures that are compared."""
    axes: dict[str, Callable[[ExploredPoint], float]] = {
        "highest": lambda each: each.measures.highest,
        "average": lambda each: each.measures.average,
        "loss": lambda each: each.measures.loss,
    }
    if found.risk not in {"highest", "average"}:
        axes[found.risk] = lambda each: found.place(each)[0]
    if found.utility != "loss":
        axes[f"lost: {found.utility}"] = lambda each: found.place(each)[1]
    best = {each.asked.number for each in found.frontier}
    table = listing("no.", "policy", "classes", *axes, right=("classes", *axes))
    for column in table.columns:
        column.no_wrap = True
    for each in points:
        number = each.asked.number
        mark = " best" if number in best else " given" if each.is_given else ""
        measured = [f"{value(each):.3g}" for value in axes.values()]
        classes = f"{each.measures.classes:,}"
        table.add_row(f"{number}{mark}", each.asked.name, classes, *measured)
    return table


def _nodes(points: Iterable[ExploredPoint]) -> Table:
    """Return a line for each column of each node: its level and what it loses."""
    table = listing("no.", "column", "level", *LOSSES, right=LOSSES)
    for each in points:
        measures = each.measures
        whole = (f"{measures.loss:.4f}", f"{measures.objective:.4g}", f"{measures.suppressed:,}")
        classes = f"{measures.classes:,} classes, risk {measures.highest:.3g}"
        table.add_row(str(each.asked.number), "all", classes, *whole)
        for name, level in measures.levels.items():
            lost = f"{1 - measures.detail[name]:.4f}"
            table.add_row("", printable(name), level.words, lost)
    return table
