"""What tables of people say to who signs them: classes, masked, synthetic and private rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from halfmask.data import Groups, Hierarchy, Order
from halfmask.microdata._hierarchy_section import build_listed
from halfmask.release.briefing import Briefing
from halfmask.release.page import percent, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halfmask.microdata._policy import Policy
    from halfmask.microdata.evaluation import ClassFacts
    from halfmask.release import Release

ATTACK: Final = "halfmask assess release TABLE RELEASE --policy POLICY"
MORE: Final = ". With --control and rows that were held out, more attacks run."
_NAMED: Final = 12


def classes_briefing(release: Release[ClassFacts]) -> Briefing:
    """Say what classes keep, what an attacker finds, and how attacks are run."""
    risk, utility, rows = release.facts.risk, release.facts.utility, release.source
    worst = percent(risk.after.prosecutor.highest.value)
    found = (
        "An attacker who knows these columns of a person, and no other, finds the right row with a "
        f"chance of {worst} at most; before, of {percent(risk.before.prosecutor.highest.value)}."
    )
    remains = [found]
    kept = f"On average, {percent(1 - utility.loss.loss)} of the detail of these columns is kept."
    lost = [utility.class_sizes.suppressed_sentence, kept]
    known = _columns(rows.schema.quasi_identifiers)
    if utility.model is not None:
        lost.append(utility.model.sentence)
    judged = {it.column for it in rows.guarantees}
    bare = [name for name in rows.schema.sensitive if name not in judged]
    if bare:
        remains.append(f"No guarantee is about what is sensitive in {_columns(bare)}.")
    return Briefing(
        content=_content(
            release, rows.n_out, rows.columns, "persons" if rows.persons else "people"
        ),
        protected=[f"People whom an attacker looks for by {known} (quasi-identifiers)."],
        lost=lost,
        remains=[*remains, *filter(None, [risk.columns.warning])],
        rows_in=rows.n_in,
        attack=ATTACK,
        attack_hint=MORE,
        levels=_levels({it.column.name: it.hierarchy for it in rows.plan.codings}),
    )


def masked_briefing(
    release: Release[Any], warned: Iterable[str | None], changed: Mapping[str, str]
) -> Briefing:
    """Say what masks changed, and what attacks found.

    ``warned`` are the warnings of attacks, and ``changed`` names what masks did, by column.
    """
    rows = release.source
    accounted = any(it.basis == "accounted" for it in release.claims)
    none = "Masks are no privacy model: nothing bounds how hard it is to find a person."
    attacked = release.facts.assessment is not None and not accounted
    steps = [f"{name}: {how}" for name, how in changed.items() if how != "released unchanged"]
    return Briefing(
        content=_content(release, rows.n_out, rows.columns, "people"),
        protected=[] if accounted else [none],
        lost=[f"Masks changed {_columns(steps)}."] if steps else ["No column was changed."],
        remains=[*filter(None, warned)],
        rows_in=rows.n_in,
        attacked="Attacks ran when it was made: see Record linkage, below." if attacked else "",
        attack=ATTACK,
        attack_hint=MORE,
        unpictured="Each column has its numbers in place of a picture: see Utility by column."
        if attacked
        else "Nothing was measured that pictures could show.",
        levels=_levels(_listed_trees(rows.policy)),
    )


def synthetic_briefing(release: Release[Any], extent: str) -> Briefing:
    """Say what rows were drawn from, and what attacks found of those who were learnt from."""
    rows, measured = release.source, release.facts.measured
    if measured is None:
        attacked = (
            "No attack was run: to measure against the table would cost more than the budget."
        )
    else:
        attacked = measured.not_attacked or "Attacks ran when it was made: see Attacks, below."
    lost = (
        "Rows are drawn from a model. What the model doesn't learn of columns together is lost: "
        "see Tables of columns, and Models."
    )
    return Briefing(
        content=[*_content(release, release.rows["out"], rows.learnt.columns, ""), extent],
        lost=[lost],
        rows_in=None if rows.paid else sum(release.rows[it] for it in ("learnt", "control")),
        attacked=attacked,
        unpictured="A picture would compare with the table, which costs more than the budget."
        if measured is None
        else "",
    )


def private_briefing(release: Release[Any]) -> Briefing:
    """Say how rows were drawn; nothing depends on the table but the rows."""
    rows = release.source
    terms = rows.terms
    drawn = (
        f"Each row was drawn with probability {terms.sampling_fraction:g}. Classes of fewer than "
        f"{terms.k} rows over all columns were left out. Columns have coarser levels."
    )
    return Briefing(
        content=_content(release, rows.data.height, rows.data.columns, "people"),
        lost=[drawn],
        attacked="No attack was run: the guarantee bounds what any attack learns of one person.",
        unpictured="A picture would compare with the table, which costs more epsilon.",
        levels=_levels(_listed_trees(release.policy)),
    )


def _content(release: Release[Any], n_rows: int, columns: Sequence[str], whom: str) -> list[str]:
    what = f"{n_rows:,} rows about {whom}" if whom else f"{n_rows:,} rows that were drawn"
    n = len(release.policy.dropped)
    dropped = [
        f"{n} column{'s' if n > 1 else ''} of the table {'were' if n > 1 else 'was'} dropped."
    ]
    return [f"{what}, with {_columns(columns)}.", *(dropped if n else ())]


def _columns(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    shown = ", ".join(shortened(each) for each in names[:_NAMED])
    return f"the column{'s' if len(names) > 1 else ''} {shown}{more}"


def _listed_trees(policy: Policy) -> dict[str, Hierarchy]:
    """Return the hierarchies that need no table; of others the policy's text has the rule."""
    return {
        column.name: build_listed(column)
        for column in policy.schema().columns
        if isinstance(column.hierarchy, Hierarchy | Order | Groups)
    }


def _levels(trees: Mapping[str, Hierarchy | None]) -> dict[str, list[list[str]]]:
    """Return the labels of each level above the values."""
    return {
        name: [list(dict.fromkeys(tree.labels(level))) for level in range(1, tree.height)]
        for name, tree in trees.items()
        if tree is not None
    }
