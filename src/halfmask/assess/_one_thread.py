"""Let learners work in one thread: threads that wait for each other cost more than they save."""

from __future__ import annotations

from typing import Any


def one_thread(user_api: str | None = "openmp") -> Any:  # noqa: ANN401 # a context, of no typed library
    """Return a context in which scikit-learn uses one thread: in a busy machine 3 s, not 100.

    Its libraries are loaded here: a limit that is set before them doesn't hold for them.
    """
    import sklearn.ensemble  # noqa: F401, PLC0415 # 1 s to import
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 # loads with scikit-learn

    return threadpool_limits(limits=1, user_api=user_api)
