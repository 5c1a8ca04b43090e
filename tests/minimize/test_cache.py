"""The model is asked of each row once, whatever the cache does inside."""

from __future__ import annotations

import numpy as np

from halfmask.minimize._cache import AnswerCache, CachedKeys, _AnswersByKey


def test_answers_are_the_models_and_each_row_is_asked_once(monkeypatch):
    monkeypatch.setattr(_AnswersByKey, "SMALL", 20)
    asked: list[tuple[int, ...]] = []

    def model(codes):
        asked.extend(map(tuple, codes.T.tolist()))
        return (10.0 * codes[0] + codes[1]) % 7

    rng = np.random.default_rng(0)
    cache = AnswerCache(model, CachedKeys([9, 9], random_state=0))
    for _ in range(30):
        codes = rng.integers(0, 9, (2, 25))
        np.testing.assert_array_equal(cache(codes), (10.0 * codes[0] + codes[1]) % 7)

    assert len(asked) == len(set(asked)) == 81


def test_a_full_cache_forgets_and_asks_again(monkeypatch):
    monkeypatch.setattr(_AnswersByKey, "SMALL", 4)
    monkeypatch.setattr(_AnswersByKey, "MOST", 8)
    cache = AnswerCache(lambda codes: codes[0] * 2.0, CachedKeys([500], random_state=1))

    for start in range(0, 480, 10):
        codes = np.arange(start, start + 20)[None, :]
        np.testing.assert_array_equal(cache(codes), codes[0] * 2.0)


def test_keys_move_with_one_column():
    rng = np.random.default_rng(0)
    keys, codes = CachedKeys([5, 6, 7], random_state=0), rng.integers(0, 5, (3, 100))
    moved = codes.copy()
    moved[1] = rng.integers(0, 6, 100)

    there = keys.of(codes) + keys.moved(1, codes[1], moved[1])

    np.testing.assert_array_equal(there, keys.of(moved))
    assert len(np.unique(keys.of(codes))) == len(np.unique(codes, axis=1).T)
