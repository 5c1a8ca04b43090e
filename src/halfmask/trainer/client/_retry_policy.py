"""RetryPolicy: how long a client waits, when it sends again, and when it gives up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from secrets import SystemRandom

from halfmask._validation import number_between


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long a client waits, and when it sends a request again.

    Parameters
    ----------
    answer_seconds
        How long a step of a request may take: to send a piece, to answer; to connect, no more
        than 10 s. More than 0. A model that is being made is waited for 300 s at least.
    first_seconds
        The longest wait before the second try; each later one may be twice as long. More than 0.
    max_seconds
        No wait is longer, unless the service asks for more by ``Retry-After``.
    give_up_seconds
        How long after a request's first failure it is tried again; 0 for never. A wait that would
        end later isn't begun.

    Raises
    ------
    ParameterError
        If one is out of range.

    Notes
    -----
    **Guarantees.** Waits are drawn evenly from half of the longest up to it, so that many clients
    that failed at once don't come back at once (full and equal jitter: Brooker, "Exponential
    Backoff and Jitter", 2015). A service's ``Retry-After`` is never undercut.

    Examples
    --------
    >>> waits = [RetryPolicy().wait(tries) for tries in range(4)]
    >>> [round(each, 1) <= 0.1 * 2**tries for tries, each in enumerate(waits)]
    [True, True, True, True]
    >>> RetryPolicy().wait(0, asked=7.0)
    7.0
    """

    answer_seconds: float = 60.0
    first_seconds: float = 0.1
    max_seconds: float = 30.0
    give_up_seconds: float = 300.0

    def __post_init__(self) -> None:
        number_between(
            0,
            math.inf,
            owner="RetryPolicy",
            low_open=True,
            answer_seconds=self.answer_seconds,
            first_seconds=self.first_seconds,
            max_seconds=self.max_seconds,
        )
        number_between(0, math.inf, owner="RetryPolicy", give_up_seconds=self.give_up_seconds)

    def wait(self, tries: int, *, asked: float | None = None) -> float:
        """Return how many seconds to wait after so many failed tries.

        Parameters
        ----------
        tries
            How many there were before the one that just failed: 0 at first.
        asked
            What the service asked for, in seconds.
        """
        longest = min(self.max_seconds, self.first_seconds * 2.0 ** min(tries, 60))
        drawn = SystemRandom().uniform(longest / 2, longest)
        return drawn if asked is None else max(asked, 0.0 if tries == 0 else drawn)


def seconds_of(header: str | None) -> float | None:
    """Return what ``Retry-After`` asks for, in seconds; None if it isn't a number of seconds.

    Examples
    --------
    >>> [seconds_of(each) for each in ("2", "0.25", "tomorrow", "-1", None)]
    [2.0, 0.25, None, None, None]
    """
    try:
        seconds = float(header) if header is not None else math.nan
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
