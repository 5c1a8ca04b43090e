"""What a guarantee says of classes."""

from __future__ import annotations

from halfmask.guarantees import Classes, KAnonymity


def test_it_counts_what_misses():
    judgement = KAnonymity(k=3).judge(Classes.from_codes([0, 0, 0, 1, 1, 2], 3))

    assert judgement.guarantee == KAnonymity(k=3)
    assert judgement.levels.tolist() == [3.0, 2.0, 1.0]
    assert judgement.failing.tolist() == [1, 2]
    assert (judgement.classes, judgement.rows, judgement.rows_failing) == (3, 6, 3)
    assert (judgement.achieved, judgement.holds) == (1.0, False)


def test_it_holds_where_nothing_misses():
    judgement = KAnonymity(k=1).judge(Classes.from_codes([0, 1], 2))

    assert judgement.holds
    assert judgement.rows_failing == 0
    assert repr(judgement) == "Judgement(KAnonymity(k=1): achieved 1, 0 of 2 classes miss it)"
