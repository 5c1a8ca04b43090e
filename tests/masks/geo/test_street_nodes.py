"""Nodes of streets: one of the nearest, keyed, each as likely."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError
from halfmask.geo import Maps, PointMap, Points
from halfmask.masks import StreetNodes

KEY = bytes(range(32))
RNG = np.random.default_rng(1)
NODES = RNG.uniform(-1000, 1000, (300, 2)).round(2)
HOMES = pl.DataFrame(RNG.uniform(-900, 900, (200, 2)), schema=["x", "y"], orient="row")


def moved(table=HOMES, nodes=NODES, **given):
    points = Points(x=nodes[:, 0], y=nodes[:, 1], unit="metres")
    maps: Maps = {"streets": PointMap(points=points, people=np.zeros(len(NODES)))}
    mask = StreetNodes(columns=("x", "y"), unit="metres", nodes="streets", maps=maps, **given)
    return mask.fit(table, KEY).apply(table, 0)


def rank_of(table, found):
    """Return how many nodes are nearer than the one that was written."""
    apart = np.linalg.norm(table.to_numpy()[:, None] - NODES[None], axis=2)
    mine = np.linalg.norm(table.to_numpy() - found.to_numpy(), axis=1)
    return (apart < mine[:, None] - 1e-9).sum(axis=1)


def test_points_become_the_nearest_node_or_one_of_the_nearest():
    assert set(moved().rows()) <= set(map(tuple, NODES.tolist()))
    assert (rank_of(HOMES, moved()) == 0).all()
    assert set(rank_of(HOMES, moved(nearest=4)).tolist()) == {0, 1, 2, 3}


def test_the_order_of_the_file_chooses_nothing():
    assert moved(nearest=5).rows() == moved(nearest=5, nodes=NODES[::-1]).rows()


def test_each_of_the_nearest_has_the_same_chance():
    people = pl.DataFrame({"x": [0.0] * 4000, "y": [0.0] * 4000, "id": range(4000)})
    ranks = rank_of(people[["x", "y"]], moved(people, nearest=4, person="id"))

    counts = np.bincount(ranks, minlength=4)
    assert len(counts) == 4
    assert ((counts - 1000) ** 2 / 1000).sum() < 35  # chi-square, 3 degrees: 1 in 10**7


def test_too_few_nodes_are_an_error():
    with pytest.raises(DataError, match="300 nodes for 301"):
        moved(nearest=301)
