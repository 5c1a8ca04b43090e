"""Matrices, bends and flows: conditioned, keyed, and inverse to themselves."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.encode._mix import CONDITION, Affine, Flow, KeyedStream, MonotoneMap, token


def _stream(seed=0):
    return KeyedStream(bytes([seed]) * 32)


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_any_matrix_is_conditioned_and_a_turn_is_a_turn(size):
    for seed in range(5):
        mixed = Affine.keyed(size, numbers="affine", stream=_stream(seed))
        turned = Affine.keyed(size, numbers="turned", stream=_stream(seed))
        same = Affine.keyed(size, numbers="orthogonal", stream=_stream(seed))

        assert np.linalg.cond(mixed.matrix) <= CONDITION * (1 + 1e-9)
        assert np.allclose(mixed.matrix @ mixed.inverse, np.eye(size), atol=1e-12)
        assert np.allclose(turned.matrix @ turned.matrix.T, np.eye(size), atol=1e-14)
        assert not turned.shift.any()
        assert len(set(same.shift)) == 1
        if size > 2:
            assert np.linalg.cond(mixed.matrix) > 2


def test_turns_are_uniform():
    """Each entry of a uniform turn has mean 0 and variance 1/m (Mezzadri 2007)."""
    entries = np.array(
        [KeyedStream(i.to_bytes(32, "little")).orthogonal(4) for i in range(2000)]
    ).reshape(2000, 16)

    assert np.abs(entries.mean(axis=0)).max() < 4 * 0.5 / np.sqrt(2000)
    assert np.abs(entries.var(axis=0) - 0.25).max() < 0.04


@pytest.mark.parametrize("strength", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_flows_and_bends_come_back_and_bend_more_with_strength(size, strength):
    rows = 3 * _stream(9).normal(size, 500)
    flow = Flow.keyed(size, strength=strength, stream=_stream())
    bend = MonotoneMap.keyed(size, strength=strength, stream=_stream())

    assert np.allclose(flow.backward(flow.forward(rows)), rows, atol=1e-12)
    assert np.allclose(bend.backward(bend.forward(rows)), rows, atol=1e-12)
    assert (np.diff(bend.forward(np.sort(rows, axis=1)), axis=1) >= 0).all()
    assert len(flow.layers) == (0 if size == 1 else {0.1: 4, 1.0: 6, 2.0: 8}[strength])


def _unexplained(strength, known):
    """Return the share of variance that least squares leaves, from ``known`` known rows."""
    rows = _stream(9).normal(3000, 6)
    sent = Flow.keyed(6, strength=strength, stream=_stream()).forward(rows.T).T
    design = np.column_stack([sent, np.ones(len(sent))])
    solved = np.linalg.lstsq(design[:known], rows[:known], rcond=None)[0]
    return float(((rows - design @ solved)[known:] ** 2).mean())


def test_m_plus_one_known_rows_solve_a_matrix_and_not_a_flow():
    """The known-plaintext ledger, as the documentation has it."""
    rows = _stream(9).normal(3000, 6)
    mixed = Affine.keyed(6, numbers="affine", stream=_stream())
    design = np.column_stack([rows @ mixed.matrix.T + mixed.shift, np.ones(3000)])

    errors = {
        known: np.abs(
            rows - design @ np.linalg.lstsq(design[:known], rows[:known], rcond=None)[0]
        ).max()
        for known in (6, 7)
    }

    assert errors[7] < 1e-9
    assert errors[6] > 1e-2
    assert _unexplained(1.0, 7) > 0.1
    assert _unexplained(2.0, 1000) > _unexplained(0.1, 1000)


def test_names_and_numbers_follow_from_the_key_alone():
    assert token(bytes(32), "age") == token(bytes(32), "age")
    assert token(bytes(32), "age") != token(bytes([1]) * 32, "age")
    assert token(bytes(32), "age") != token(bytes(32), "Age")
    first, second = _stream(), _stream()
    assert np.array_equal(first.uniform(5), second.uniform(5))
    assert not np.array_equal(first.uniform(5), _stream().uniform(5))
    assert sorted(_stream().order(50)) == list(range(50))
    drawn = _stream(3).uniform(100_000)
    assert 0 < drawn.min() < 1e-3 < 1 - 1e-3 < drawn.max() < 1
