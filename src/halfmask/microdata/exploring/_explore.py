"""explore: many policies on one table, by risk and utility."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from halfmask._errors import ColumnNotFoundError, ParameterError, PolicyError
from halfmask._foreign import need
from halfmask._progress import Progress, silent
from halfmask._random import check_key, fresh_key
from halfmask._validation import integer_at_least
from halfmask.data import open_table
from halfmask.engines import map_in_order
from halfmask.microdata._policy import Policy
from halfmask.microdata.exploring._exploration import Exploration
from halfmask.microdata.exploring._explored_table import ExploredTable
from halfmask.microdata.exploring._grid import GridPolicy, PolicyGrid
from halfmask.microdata.exploring._guarantee_trials import guarantee_trials
from halfmask.microdata.exploring._measuring import Measuring, alike_in_cuts
from halfmask.microdata.exploring._nodes import near_best_nodes
from halfmask.microdata.exploring._points import DETAIL, RISKS, UTILITIES, ExploredPoint, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from halfmask.guarantees import Classes
    from halfmask.vault import Vault

#: The limit of rows that a grid is measured on.
USUAL_ROWS: Final = 200_000


def explore(  # noqa: PLR0913 # keyword-only, each with a default
    table: object,
    policy: Policy,
    *,
    k: Sequence[int] | None = None,
    vary: Mapping[str, Sequence[float]] | None = None,
    methods: Sequence[str] | None = None,
    recodings: Sequence[str] | None = None,
    max_suppression: Sequence[float] | None = None,
    nodes: int | None = None,
    max_points: int = 60,
    rows: int | None = None,
    search_seconds: float = 10.0,
    risk: str = "highest",
    utility: str = "loss",
    label_model: bool = False,
    random_state: int = 0,
    population: object = None,
    key: bytes | None = None,
    vault: Vault | None = None,
    progress: Progress | None = None,
    watch: Callable[[Exploration], object] | None = None,
) -> Exploration:
    """Measure risk and utility of many policies around one, to choose among them.

    Parameters
    ----------
    table, policy, population, key, vault
        As of `protect`. The policy has guarantees; the grid varies it.
    k
        Values of each parameter ``k``; by default 2, 5, 10, 20 and 50.
    vary
        Values of other parameters of guarantees, by name: ``{"l": [2, 3]}``, or
        ``{"t-closeness.t": [0.2, 0.4]}`` for one model.
    methods
        Names of methods; by default all. The policy's own keeps its parameters.
    recodings
        Names of recodings; by default the policy's own, and ``level`` if a quasi-identifier has a
        hierarchy.
    max_suppression
        Shares of rows that may be suppressed; by default 0, the policy's own, and 0.02.
    nodes
        In the place of a grid: how many combinations of levels are measured, those that lose
        least and keep the guarantees. The policy has the method ``full-domain``.
    max_points
        The limit of policies; those of a larger grid are drawn at random.
    rows
        The limit of rows; those of a larger table are drawn at random. By default 200,000, and
        all rows with `nodes`.
    search_seconds
        How long the search of one full-domain policy takes at most, if the policy sets no limit.
    risk
        The axis of risk: ``"highest"``, ``"average"``, ``"journalist-highest"``,
        ``"journalist-average"``, or ``"all-columns"``.
    utility
        The axis of utility: a key of `UTILITIES` such as ``"loss"`` or ``"discernibility"``,
        ``"accuracy"`` with `label_model`, or ``"detail:COLUMN"``.
    label_model
        Whether to train a model of the label on each release. This takes seconds for each.
    random_state
        The seed of both draws.
    progress
        Called with what is being done and how far it is.
    watch
        Called with what is found so far, without `trials`, each time that points come.

    Returns
    -------
    Exploration
        ``.points``, ``.frontier``, ``.refused`` with reasons, and ``.trials``: what each guarantee
        costs. ``.write(out)`` writes a picture, a table, and a policy file for each point.

    Raises
    ------
    PolicyError
        If the policy has no guarantees.
    ParameterError
        If a method, a recoding, a parameter or an axis isn't there, or something is to be varied
        next to `nodes`.
    SchemaError, HierarchyError
        If the policy and the table don't agree.
    GuaranteeNotMetError
        If the table has no rows.

    See Also
    --------
    halfmask.protect : Makes a release by one policy.

    Notes
    -----
    **Guarantees.** The numbers of a point are those of a release by its policy, and the same
    arguments give the same points, if no rows were drawn, no mask draws random numbers, and no
    search reached its limit. Policies whose releases have the same rows are one point; its `also`
    has the others. The levels of a node, written into the policy, give the numbers of its point.
    A point is on the frontier if no other has less risk and less loss,
    or is equal in one and better in the other.

    **Edge cases.** A policy that the table can't keep is listed with the reason, and so is a
    method, a recoding and guarantees that don't go together. On drawn rows, classes are coarser
    than on all rows. The result describes the raw table. It holds no cell of it, but it is no
    release.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": range(20, 80), "ill": ["flu", "cold", "asthma"] * 20})
    >>> policy = Policy.from_toml('''
    ... halfmask = 1
    ... [columns.age]
    ... role = "quasi_identifier"
    ... kind = "numeric"
    ... [columns.ill]
    ... role = "sensitive"
    ... kind = "categorical"
    ... [[guarantees]]
    ... model = "k-anonymity"
    ... k = 5
    ... ''')
    >>> found = explore(people, policy, k=[2, 5, 100], methods=["mondrian"], max_suppression=[0])
    >>> [(point.asked.stated, point.measures.classes) for point in found.frontier]
    [('k = 5', 8), ('k = 2', 28)]
    >>> [each.stated for each in found.refused]
    ['k = 100']
    """
    need("numba", "scipy", "sklearn", "threadpoolctl")
    progress = progress or silent
    integer_at_least(1, owner="explore", max_points=max_points)
    if rows is not None:
        integer_at_least(1, owner="explore", rows=rows)
    if nodes is not None:
        integer_at_least(1, owner="explore", nodes=nodes)
        _check_nothing_varied(k, vary, methods, recodings, max_suppression)
    integer_at_least(0, owner="explore", random_state=random_state)
    key = key if key is not None else fresh_key()
    check_key(key)
    _check_policy(policy)
    _check_axes(policy, risk, utility, has_people=population is not None, has_model=label_model)
    grid = PolicyGrid.of(
        policy,
        k=k,
        vary=vary,
        methods=methods,
        recodings=recodings,
        max_suppression=max_suppression,
        search_seconds=search_seconds,
    )
    read = ExploredTable.of(
        open_table(table, options=policy.read_options()),
        policy,
        at_most=rows or (USUAL_ROWS if nodes is None else None),
        random_state=random_state,
        is_learnt=label_model,
        population=population,
        key=key,
        vault=vault,
        progress=progress,
    )
    search = None
    if nodes is None:
        asked, n_policies = grid.policies(
            policy, read.protection, at_most=max_points, random_state=random_state
        )
    else:
        progress("searching")
        asked, search = near_best_nodes(read, policy, nodes, seconds=search_seconds)
        n_policies = len(asked)
    measuring = Measuring(table=read, label=_label_of(policy) if label_model else None)
    found = empty = Exploration(
        points=(),
        refused=(),
        trials=(),
        rows=read.rows.height,
        table_rows=read.n_rows,
        grid_policies=n_policies,
        random_state=random_state,
        raw=_raw(read.raw),
        risk=risk,
        utility=utility,
        search=search,
    )
    for found in _measured(measuring, asked, empty, progress):
        if watch is not None:
            watch(found)
    progress("trying guarantees")
    trials = guarantee_trials(read, policy) if nodes is None else ()
    progress("done", 1.0)
    return replace(found, trials=trials)


def _measured(
    measuring: Measuring, asked: Iterable[GridPolicy], empty: Exploration, progress: Progress
) -> Iterator[Exploration]:
    """Yield the points and refused policies that are known so far, by their numbers."""
    policies = list(asked)
    found: list[ExploredPoint | GridPolicy] = [each for each in policies if each.why]
    groups = alike_in_cuts(each for each in policies if not each.why)
    progress("exploring", 0.0)
    yield _with(empty, found)
    for results in map_in_order(groups, measuring.group):
        found.extend(results)
        progress("exploring", len(found) / len(policies))
        yield _with(empty, found)


def _with(empty: Exploration, found: Iterable[ExploredPoint | GridPolicy]) -> Exploration:
    ordered = sorted(found, key=_number)
    return replace(
        empty,
        points=merged(each for each in ordered if isinstance(each, ExploredPoint)),
        refused=tuple(each for each in ordered if isinstance(each, GridPolicy)),
    )


def _number(found: ExploredPoint | GridPolicy) -> int:
    return found.asked.number if isinstance(found, ExploredPoint) else found.number


def _check_nothing_varied(*given: object) -> None:
    """Refuse values to vary: the nodes are those of the policy alone."""
    if any(each is not None for each in given):
        raise ParameterError(
            "explore varies levels alone with 'nodes', and something else is to be varied.",
            hint="Write it into the policy, or leave 'nodes' out.",
        )


def _check_policy(policy: Policy) -> None:
    if not isinstance(policy, Policy):
        raise ParameterError(
            f"The 'policy' parameter of explore must be a Policy. Got a {type(policy).__name__}.",
            hint="Load it from a file with halfmask.Policy.load(path).",
        )
    if policy.is_private:
        raise PolicyError(
            "explore compares risk and utility on the rows, and the guarantee is "
            "'differential-privacy': each comparison would cost more epsilon.",
            hint="Choose the parameters without the rows.",
        )
    if policy.is_masks_alone:
        raise PolicyError(
            "The policy has masks and no [[guarantees]], so there is nothing to vary.",
            hint="Add a guarantee; or compare masks with halfmask.assess.masking.",
        )


def _check_axes(
    policy: Policy, risk: str, utility: str, *, has_people: bool, has_model: bool
) -> None:
    """Refuse axes that there won't be numbers for, before a long reading."""
    if risk not in RISKS:
        raise ParameterError(
            f"The 'risk' parameter of explore must be one of {', '.join(RISKS)}. Got {risk!r}."
        )
    if risk.startswith("journalist") and not has_people:
        raise ParameterError(
            f"The risk {risk!r} needs the population that the table was drawn from.",
            hint="Give it as population; or choose another risk.",
        )
    if utility.startswith(DETAIL):
        column = utility.removeprefix(DETAIL)
        known = [name for name, it in policy.columns.items() if it.role == "quasi_identifier"]
        if column not in known:
            raise ColumnNotFoundError.of([column], known, where="the quasi-identifiers")
    elif utility not in UTILITIES:
        raise ParameterError(
            "The 'utility' parameter of explore must be one of "
            f"{', '.join(UTILITIES)}, or {DETAIL}COLUMN. Got {utility!r}."
        )
    if utility == "accuracy" and not has_model:
        raise ParameterError(
            "The utility 'accuracy' needs a model of the label.", hint="Ask for label_model."
        )
    if has_model and _label_of(policy) is None:
        raise ParameterError(
            "A model needs a column to predict, and the policy has no label.",
            hint="Write label = true in a column that isn't a quasi-identifier.",
        )


def _label_of(policy: Policy) -> str | None:
    """Return the column that a model predicts: as of `protect`, none that is generalized."""
    found = (
        name
        for name, it in policy.columns.items()
        if it.label and it.role not in {"quasi_identifier", "identifier"}
    )
    return next(found, None)


def _raw(raw: Classes) -> dict[str, float]:
    return {
        "classes": raw.n_classes,
        "highest": 1 / int(raw.sizes.min()),
        "average": raw.n_classes / raw.rows,
        "unique": int((raw.sizes == 1).sum()) / raw.rows,
    }
