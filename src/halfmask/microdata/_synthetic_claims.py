"""What a release of synthetic rows claims: rows, rules, copied rows, groups or a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.claims import Claim, released_columns_claim
from halfmask.synth.chance_copies import ChanceCopies, of_few

if TYPE_CHECKING:
    from halfmask.claims.claim import Json
    from halfmask.microdata._synthetic_rows import SyntheticRows


def synthetic_claims(rows: SyntheticRows) -> tuple[Claim, ...]:
    """Return what the release claims: rows, rules, copied rows or groups."""
    names = rows.learnt.columns
    made = [released_columns_claim(rows.columns(), rows.n_out)]
    for rule in rows.section.row_rules:
        evidence: dict[str, Json] = {}
        if rule.name == "fixed-combinations":
            evidence["combinations"] = rows.learnt.select(rule.about).unique().height
        made.append(
            Claim(
                model=rule.name,
                parameters={},
                about={"columns": list(rule.about)},
                basis="counted",
                evidence=evidence,
            )
        )
    if rows.groups:
        made.append(
            Claim(
                model="hybrid-groups",
                parameters={"k": rows.section.least_rows},
                about={"columns": list(names)},
                basis="stated",
                evidence={
                    "groups": len(rows.groups),
                    "smallest": min(rows.groups),
                    "rows": sum(rows.groups),
                },
            )
        )
    if rows.paid is not None:
        made.append(rows.paid.claim(names))
    elif rows.section.kind == "full":
        made += [_copies_claim(rows, number) for number in range(len(rows.copies))]
    return tuple(made)


def _copies_claim(rows: SyntheticRows, number: int) -> Claim:
    """Count rows of a copy that equal an original row, and as many as do by chance.

    What tells of a person are rows that few people have: those are counted again, by themselves.
    """
    drawn, chance = rows.copies[number], ChanceCopies.of(rows.originals)
    equal, own = (chance.found(each) for each in (drawn, rows.originals))
    copied, repeated = of_few(equal), chance.repeated
    is_more = [
        each.sum() * own.size > other.sum() * drawn.height
        for each, other in ((copied, repeated), (copied[:1], repeated[:1]))
    ]
    counts = {
        "rows": drawn.height,
        "copied": (equal > 0).sum(),
        "copied_of_few": copied.sum(),
        "original_rows": own.size,
        "repeated": (own > 1).sum(),
        "repeated_of_few": repeated.sum(),
        "copied_of_one": copied[0],
        "repeated_of_one": repeated[0],
        "moved_of_few": chance.moved(drawn) if any(is_more) else 0,
    }
    return Claim(
        model="copied-rows",
        parameters={"copy": number + 1} if len(rows.copies) > 1 else {},
        about={"columns": list(drawn.columns)},
        basis="counted",
        evidence={name: int(each) for name, each in counts.items()},
    )
