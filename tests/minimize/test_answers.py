"""The parts that a form offers are what transform does."""

from __future__ import annotations

import numpy as np

from halfmask.data import Groups
from minimize.people_rule import (  # type: ignore[import-not-found] # beside, not in a package
    minimized,
    people,
)


def places(values, feature):
    """Find the part of each value by what the parts say, without the minimizer's own codes."""
    found = []
    for value in values:
        hits = [
            number
            for number, part in enumerate(feature.parts)
            if (
                value in part.values  # no frame's
                if feature.asked == "groups"
                else (part.low is None or value >= part.low)
                and (part.high is None or value < part.high)
            )
        ]
        assert len(hits) == 1
        found += hits
    return np.array(found)


def test_the_parts_are_what_transform_does():
    frame = people()
    minimizer = minimized().fit(frame)

    written = minimizer.transform(frame)

    for name in ("age", "city"):
        feature = minimizer.generalizations_[name]
        expected = [feature.parts[part].representative for part in places(frame[name], feature)]
        assert written[name].to_list() == expected
    assert written["shoe"].n_unique() == 1
    assert minimizer.transform(written).equals(written)


def test_groups_are_nodes_of_a_hierarchy():
    tree = Groups(
        {"italy": ["rome", "milan"], "norway": ["oslo", "bergen"], "france": ["lyon", "paris"]}
    )

    minimizer = minimized(hierarchies={"city": tree}).fit(people())

    city = minimizer.generalizations_["city"]
    assert sorted(part.label for part in city.parts) == ["france", "italy", "norway"]
