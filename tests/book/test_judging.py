"""The verdict on a release: what it says, and to whom it gives which advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.book.test_joint import coded, joined

from halfmask._errors import GuaranteeNotMetError
from halfmask.book._joint import CodedRelease, join_classes
from halfmask.book._judging import Floor, JointVerdict, judge_release

if TYPE_CHECKING:
    from tests.book.joint_oracle import Rows

FIRST = [(p, p // 5, p % 5) for p in range(10)]
#: Another cut: of each class of the first, two and three people leave in one.
SECOND = [(p, int(p % 5 < 3), p % 5) for p in range(10)]


def judged(
    before: list[Rows], new: Rows, floor: Floor | None = None, **spent: float
) -> JointVerdict:
    return judge_release(joined(*before), joined(*before, new), floor or Floor(), **spent)


def exposed(*releases: Rows) -> int:
    return int((joined(*releases).count_candidates("s")[0] == 1).sum())


def test_the_first_release_holds() -> None:
    verdict = judged([], FIRST)
    assert (verdict.status, exposed(FIRST)) == ("holds", 0)
    assert verdict.sentences == ("k = 5.", "l of 's' = 5.")
    assert verdict.weaknesses == verdict.remedies == ()


def test_the_same_classes_hold() -> None:
    verdict = judged([FIRST], FIRST, Floor(k=5))
    assert verdict.status == "holds"
    assert verdict.sentences == ("Together with the earlier releases, k = 5.",)


def test_other_classes_weaken() -> None:
    verdict = judged([FIRST], SECOND)
    assert verdict.status == "weakens"
    assert (
        verdict.weaknesses
        == (
            "Together with the earlier releases, k = 2 for 10 people; each alone keeps 4.",
            "Together with the earlier releases, l of 's' = 2 for 4 people; each alone keeps 2.",
        )[:1]
    )
    assert not verdict.remedies


def test_each_release_that_divides_more_people_weakens() -> None:
    """Others were in as small a group before: that doesn't make it any better."""
    first = [(p, p // 6, p) for p in range(12)]
    second, third = ([(p, int(p % 6 < n), p) for p in range(12)] for n in (4, 2))
    assert "k = 2 for 4 people; each alone keeps 4." in judged([first], second).weaknesses[0]
    verdict = judged([first, second], third)
    assert verdict.status == "weakens"
    assert verdict.weaknesses[0].endswith("k = 2 for 8 people; each alone keeps 4.")
    again = judged([first, second], first)
    assert again.status == "holds"
    assert again.sentences[0].endswith("k = 2 by earlier releases alone.")


@pytest.mark.parametrize(
    ("floor", "words"),
    [
        (Floor(k=3), "k = 2 for 4 people; it must be at least 3."),
        (Floor(k=4), "k = 2 for 10 people; it must be at least 4."),
        (Floor(l=3), "l of 's' = 2 for 4 people; it must be at least 3."),
        (Floor(t=0.5), "t of 's' = 0.6 for 4 people; it must be at most 0.5."),
    ],
)
def test_a_release_below_the_floor_is_refused(floor: Floor, words: str) -> None:
    verdict = judged([FIRST], SECOND, floor)
    assert verdict.status == "refused"
    assert verdict.weaknesses == (f"Together with the earlier releases, {words}",)
    reuse, coarser, wait, accept = verdict.remedies
    assert "reuse" in reuse
    assert "larger k" in coarser
    assert "wait" in wait
    assert "writing" in accept
    # A hint of an error reads well for a program, and at a terminal.
    error = GuaranteeNotMetError("x.", hint=f"{'; '.join(verdict.remedies)}.")
    assert "--" not in str(error)
    assert "--reuse NUMBER" in str(error.at_terminal[1])
    assert "[[" not in str(error) + str(error.at_terminal[1])


def test_advice_for_a_first_release_whose_people_have_several_rows() -> None:
    """There are no classes to reuse; who is in two classes is alone, whatever k is."""
    verdict = judged([], [*FIRST, (0, 1, 2), (1, 0, 2)], Floor(k=5))
    assert verdict.status == "refused"
    one_row, coarser, *_ = verdict.remedies
    assert one_row == "keep one row of each person, since rows of 1 person are in several classes"
    assert "larger k" in coarser
    later = judged([FIRST], SECOND, Floor(k=3)).remedies
    assert not any("one row" in remedy for remedy in later)


def test_a_floor_that_holds_is_enough() -> None:
    verdict = judged([FIRST], SECOND, Floor(k=2))
    assert (verdict.status, verdict.weaknesses) == ("holds", ())


def test_groups_that_were_below_the_floor_before_do_not_refuse() -> None:
    old = [*FIRST, (10, 2, 0), (11, 2, 1)]
    verdict = judged([old], old, Floor(k=5))
    assert verdict.status == "holds"
    assert verdict.sentences == (
        "Together with the earlier releases, k = 2 by earlier releases alone.",
    )
    assert judged([old], old[:-1], Floor(k=5)).status == "refused"
    # Their values are news, even if the group isn't smaller.
    assert judged([old], [*FIRST, (10, 2, 0), (11, 2, 0)], Floor(k=5, l=2)).status == "refused"


def test_who_is_exposed_only_by_both_releases_is_told() -> None:
    first = [(0, 0, 1), (2, 0, 2), (1, 1, 3), (3, 1, 4)]
    second = [(0, 0, 1), (4, 0, 5), (1, 1, 3), (3, 1, 4)]
    verdict = judged([first], second, Floor(k=1))
    assert exposed(first, second) == 1
    assert verdict.status == "weakens"
    (words,) = verdict.weaknesses
    assert words.endswith("one value of 's' is left for 1 person whose value stays the same.")
    # Who was exposed before, or is by one release alone, isn't exposed by joining them.
    assert judged([first, second], second, Floor(k=1)).status == "holds"
    third = [(0, 0, 1), (4, 1, 5)]
    assert exposed(first, second, third) == 2
    assert judged([first, second], third, Floor(k=1)).status == "holds"


def test_columns_may_differ() -> None:
    other = CodedRelease(
        persons=np.arange(10),
        classes=np.arange(10) // 5,
        sensitive={"u": np.zeros(10, int)},
    )
    before = joined(FIRST)
    after = before.joined_with(other)
    verdict = judge_release(before, after, Floor())
    assert verdict.status == "holds"
    assert [(after.count_candidates(name)[0] == 1).sum() for name in ("s", "u")] == [0, 10]
    assert [words[-13:] for words in verdict.sentences[1:]] == ["l of 's' = 5.", "l of 'u' = 1."]


def test_epsilon_adds_up_to_its_limit() -> None:
    empty, floor = join_classes([], 0), Floor(epsilon=0.3)
    verdict = judge_release(empty, empty, floor, spent=0.1, epsilon=0.2)  # a bit more than 0.3
    assert (verdict.status, verdict.sentences) == ("holds", ("Epsilon adds up to 0.3.",))
    verdict = judge_release(empty, empty, floor, spent=0.2, epsilon=0.2)
    assert verdict.sentences == ("Epsilon adds up to 0.4; it must be at most 0.3.",)
    assert verdict.status == "refused"
    assert "smaller epsilon" in verdict.remedies[0]
    # What spends nothing isn't refused for what others spent.
    assert judge_release(empty, empty, floor, spent=5, epsilon=0).status == "holds"


def test_nothing_to_compare_holds() -> None:
    bare = CodedRelease(persons=np.arange(3), classes=np.full(3, -1))
    before = join_classes([coded(FIRST)], 10)
    verdict = judge_release(before, before.joined_with(bare), Floor(k=9))
    assert (verdict.status, verdict.sentences) == ("holds", ())
