"""Write docs/reference/masks.md from the registry of masks, so that the two can't part.

With ``--check`` nothing is written; the exit code is 1 if the page isn't in step.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from halfmask.masks import MASKS, TABLE_MASKS, TableMask
from halfmask.microdata._mask_section import mask_from, table_mask_from

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "masks.md"
#: A section of a policy for each technique: the table shows it, and a test reads it.
EXAMPLES: Mapping[str, str] = {
    "coarsened-dates": 'to = "month"',
    "format-preserving": 'check_digits = "card"',
    "noise": 'law = "laplace", scale = 3.0, decimals = 0',
    "ordinal-tails": 'high = "very high"',
    "pram": "keep = 0.8",
    "random-rounding": "base = 5",
    "redact": 'text = "removed"',
    "reversible-token": 'domain = "customer", scope = "vault"',
    "round": "base = 100",
    "substitute": 'kind = "name", locale = "en_US"',
    "tails": "high_share = 0.01",
    "token": "digits = 16",
    "correlated-noise": 'columns = ["income", "assets"], variance_ratio = 0.1, decimals = 0',
    "data-shuffling": 'columns = ["income"], given = ["age"]',
    "free-text": 'columns = ["notes"], names_from = ["name"]',
    "km-anonymity": 'column = "bought", k = 5, m = 2, separator = "|"',
    "local-suppression": 'columns = ["age", "region", "job"], k = 3',
    "microaggregation": 'columns = ["income", "assets"], k = 5',
    "rank-swapping": 'columns = ["income"], max_rank_distance = 0.05',
    "record-swapping": (
        'columns = ["region"], risk = ["age", "job"], similar = ["sex"], k = 3, swap_rate = 0.05'
    ),
    "sampling": "fraction = 0.1",
    "shifted-dates": 'columns = ["admitted", "discharged"], person = "patient", max_days = 180',
    "stratified-pram": 'columns = ["job"], by = ["region"], keep = 0.8',
    "stratified-sampling": 'by = ["region"], fraction = 0.1',
}
HEAD = """\
# Masking techniques

<!-- Written by tools/masks_page.py from the registry of masks. Change a mask, then run it. -->

Look up a technique here. [Mask columns](../how-to/mask-columns.md) shows how to use them, and the
[API reference](python/masks.md) has each parameter. A technique guarantees no privacy model, unless
its claim is one.

- *Coarsens*: the written cell follows from the values, so a guarantee about the column is allowed.
  The exception is a sensitive column that is microaggregated: there it is an error.
- *Randomises*: the written cell is drawn at random. A guarantee about the column is an error.
- *Keeps*: what analysts can still rely on.
- *Leaks*: the weaknesses that the release names.
  [What they mean](../explanation/claims-and-weaknesses.md).
- *Tested against*: what the tests compare the technique with.
"""


def page() -> str:
    """Return the whole page."""
    parts = [
        HEAD,
        "## Masks of one column\n",
        *_table(MASKS, "mask = {{ name = {name}, {example} }}"),
    ]
    parts += [
        "\n## Masks of several columns, and of rows\n",
        *_table(TABLE_MASKS, "[[masks]]: name = {name}, {example}"),
    ]
    return "\n".join(parts) + "\n"


def _table(known: Mapping[str, type], form: str) -> Iterator[str]:
    yield "| technique | what it does | | keeps | leaks | source | tested against |"
    yield "|---|---|---|---|---|---|---|"
    for name in sorted(known):
        mask = example(name)
        drops = name in TABLE_MASKS and not isinstance(mask, TableMask)
        effect = "drops rows" if drops else "coarsens" if mask.coarsens else "randomises"
        shown = form.format(name=f'"{name}"', example=EXAMPLES[name])
        cells = (
            f"`{name}`<br>`{shown}`",
            (type(mask).__doc__ or "").partition("\n")[0].replace("|", "or"),
            effect,
            mask.about.keeps,
            ", ".join(f"`{word}`" for word in mask.weaknesses) or "—",
            mask.about.source,
            mask.about.oracle,
        )
        yield f"| {' | '.join(cells)} |"


def example(name: str) -> Any:  # noqa: ANN401 # a mask of any kind
    """Return the mask of an example."""
    section = tomllib.loads(f'mask = {{ name = "{name}", {EXAMPLES[name]} }}')["mask"]
    return mask_from(section) if name in MASKS else table_mask_from(section)


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
