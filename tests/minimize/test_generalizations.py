"""What was found, as numbers and words."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import (
    ColumnNotFoundError,
)
from minimize.people_rule import (  # type: ignore[import-not-found] # beside, not in a package
    minimized,
    people,
)


def test_ncp_and_bits_are_those_of_the_definition():
    frame = people()
    minimizer = minimized(validation_fraction=0.4).fit(frame)

    age, city = minimizer.generalizations_["age"], minimizer.generalizations_["city"]
    widths = [39 - 18, 79 - 40]
    by_hand = sum(p.share * w / (79 - 18) for p, w in zip(age.parts, widths, strict=True))
    assert age.ncp == pytest.approx(by_hand)
    assert city.ncp == pytest.approx(sum(part.share * len(part.values) / 6 for part in city.parts))
    assert minimizer.ncp_ == pytest.approx((age.ncp + city.ncp + 1) / 3)
    shares = np.array([part.share for part in city.parts])
    assert city.bits_after == pytest.approx(-(shares * np.log2(shares)).sum())


def test_what_is_printed_holds_no_value():
    found = minimized().fit(people()).generalizations_

    for shown in (repr(found), str(found), repr(found["city"]), repr(found["city"].parts)):
        assert "oslo" not in shown
        assert "40" not in shown
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'city'"):
        found["citi"]
