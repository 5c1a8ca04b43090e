"""Measure policies on one table: cells are fitted once for all policies that differ in no cut."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import HalfmaskError
from halfmask.anonymize import LatticePartition
from halfmask.assess.risk import classes_risk
from halfmask.assess.utility import class_size_utility, information_loss
from halfmask.microdata._claims import merged_classes, with_people
from halfmask.microdata._class_measures import cell_extents, class_measures, leaving_extents
from halfmask.microdata._detail_kept import weighed_loss
from halfmask.microdata._learning import LEARNING_ROWS, learn
from halfmask.microdata.evaluation import risk_in_population
from halfmask.microdata.exploring._levels import column_levels
from halfmask.microdata.exploring._points import ExploredPoint, PointMeasures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.anonymize import Fitted, Plan, Protection
    from halfmask.assess.utility import ModelUtility
    from halfmask.microdata.exploring._explored_table import ExploredTable
    from halfmask.microdata.exploring._grid import GridPolicy


def alike_in_cuts(policies: Iterable[GridPolicy]) -> list[list[GridPolicy]]:
    """Return policies in groups whose cells are grown alike.

    Recodings and, for most methods, the limit of suppression only matter afterwards.
    """
    groups: dict[str, list[GridPolicy]] = {}
    for each in policies:
        if each.policy is None:
            continue
        method = each.policy.method
        guarantees = [it.model_dump(mode="json") for it in each.policy.guarantee_sections]
        judges = getattr(method.made_type, "judges_release", False)
        key = (
            method.model_dump(mode="json"),
            guarantees,
            each.max_suppression if judges else None,
            each.number if each.is_node else None,  # levels of its own
        )
        groups.setdefault(json.dumps(key), []).append(each)
    return list(groups.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Measures policies on a table."""

    table: ExploredTable
    label: str | None

    def group(self, policies: list[GridPolicy]) -> list[ExploredPoint | GridPolicy]:
        """Return the points of policies whose cells are grown alike, or why there is none."""
        fitted: Fitted | None = None
        found: list[ExploredPoint | GridPolicy] = []
        for each in policies:
            if each.policy is None:
                continue
            try:
                protection = self.table.protection(each.policy)
                fitted = fitted or protection.fit(self.table.summary)
                measures, released = self.measures(protection, fitted)
                found.append(ExploredPoint(asked=each, measures=measures, released=released))
            except HalfmaskError as error:
                found.append(replace(each, why=error.what))
        return found

    def measures(self, protection: Protection, fitted: Fitted) -> tuple[PointMeasures, bytes]:
        """Measure the release that a policy would make of grown cells; return its digest, too."""
        plan, fitted, counts = protection.plan_counted(fitted)
        released, class_of_cell = merged_classes(plan, counts.classes)
        placed = protection.placed_people(plan)
        released = with_people(released, class_of_cell, placed, counts)
        suppressed = self.table.rows.height - released.rows
        persons = released.by_person()
        if self.table.people is None:
            risk = classes_risk(persons)
        else:
            extents, people = cell_extents(plan, counts), self.table.people.people
            risk = risk_in_population(persons, plan, extents, class_of_cell, people)
        loss = information_loss(leaving_extents(plan, counts), suppressed=suppressed)
        sizes = class_size_utility(released.sizes, suppressed=suppressed, k=1)
        classes = class_measures(plan, counts, suppressed=suppressed, raw_sizes=None, labels=None)
        every = self.table.sizes_over_all(released, class_of_cell, fitted.cell_of_row)
        journalist = risk.journalist
        score, score_raw, score_name = self._score(protection)
        facts = plan.partition.facts if isinstance(plan.partition, LatticePartition) else None
        measures = PointMeasures(
            classes=released.n_classes,
            suppressed=suppressed,
            highest=risk.prosecutor.highest.value,
            average=risk.prosecutor.average.value,
            journalist_highest=None if journalist is None else journalist.highest.value,
            journalist_average=None if journalist is None else journalist.average.value,
            all_columns=len(every) / released.rows,
            unique=int(np.count_nonzero(every == 1)) / released.rows,
            loss=loss.loss,
            ncp=loss.ncp,
            discernibility=sizes.discernibility,
            non_uniform_entropy=classes.non_uniform_entropy,
            ambiguity=classes.ambiguity,
            squared_error=classes.squared_error,
            kept=1 - weighed_loss(loss, protection),
            detail={name: 1 - each.loss for name, each in loss.columns.items()},
            levels=column_levels(plan),
            objective=None if facts is None else facts.near[0].loss,
            score=score,
            score_raw=score_raw,
            score_name=score_name,
        )
        return measures, _digest(plan, fitted)

    def _score(self, protection: Protection) -> tuple[float | None, float | None, str | None]:
        found = self._learnt(protection)
        if found is None:
            return None, None, None
        name = found.measure
        return getattr(found.released, name), getattr(found.raw, name), name

    def _learnt(self, protection: Protection) -> ModelUtility | None:
        if self.label is None:
            return None
        labels, identifiers = protection.schema.label, protection.schema.identifiers
        rows, unmasked = self.table.rows, self.table.unmasked
        leaving = [name for name in rows.columns if name not in identifiers]
        if rows.height > LEARNING_ROWS:
            some = np.random.default_rng(0).choice(rows.height, LEARNING_ROWS, replace=False)
            rows, unmasked = rows[some], None if unmasked is None else unmasked[some]
        return learn(
            rows.select(leaving),
            protection,
            features=[name for name in leaving if name not in labels],
            label=self.label,
            unmasked=unmasked,
        )


def _digest(plan: Plan, fitted: Fitted) -> bytes:
    """Return a digest of what is written for each row; rows that are left out have none."""
    of_cell = pl.DataFrame(plan.released).hash_rows().to_numpy()
    of_row = np.where(fitted.cell_of_row >= 0, of_cell[fitted.cell_of_row], 0)
    names = ",".join(series.name for series in plan.released)
    return hashlib.blake2b(of_row.tobytes() + names.encode(), digest_size=16).digest()
