"""Write docs/reference/masks.md from the registry of masks, so that the two can't part.

With ``--check`` nothing is written; the exit code is 1 if the page isn't in step.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from halfmask.masks import MASKS, TABLE_MASKS, TableMask
from halfmask.microdata.mask_section import MASK, TABLE_MASK

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "masks.md"


class Technique(NamedTuple):
    """Source of a technique, what analysts can rely on, and what its tests compare it with."""

    source: str
    keeps: str
    oracle: str


TECHNIQUES: Mapping[str, Technique] = {
    "affine": Technique(
        source="Armstrong, Rushton and Zimmerman 1999",
        keeps="Shapes: angles, and ratios of distances",
        oracle="The inverse from three known points; distances on the ellipsoid",
    ),
    "coarsened-dates": Technique(
        source="practice",
        keeps="Dates to the unit, and their order",
        oracle="Python's calendar",
    ),
    "correlated-noise": Technique(
        source="Kim 1986; Tendick 1991",
        keeps="Expected means and correlations; with a transformation, covariances",
        oracle="Kolmogorov-Smirnov test of the noise in principal components",
    ),
    "data-shuffling": Technique(
        source="Muralidhar and Sarathy 2006",
        keeps="The values of each column exactly; correlations of ranks",
        oracle="Marginal distributions, rank correlations, partial correlation with the original",
    ),
    "donut": Technique(
        source="Hampton and others 2010",
        keeps="Counts by larger areas; distances beyond the outer radius roughly",
        oracle="16 bearings by chi-square, which MaskMyPy fails; addresses counted one by one",
    ),
    "format-preserving": Technique(
        source="NIST SP 800-38G, FF1; Black and Rogaway 2002, cycle walking",
        keeps="Formats; valid check digits; which values are equal, so that tables join",
        oracle="The nine samples of NIST; a naive FF1 on integers; python-stdnum",
    ),
    "free-text": Technique(
        source="practice; checksums of ISO 7812-1, ISO 7064, ICAO 9303, python-stdnum",
        keeps="Texts around the details, and the type of each detail",
        oracle="Labelled sentences of Presidio Research; valid and invalid checksums",
    ),
    "gaussian": Technique(
        source="Cassa and others 2006",
        keeps="Counts by larger areas; expected centroids",
        oracle="Kolmogorov-Smirnov test of both directions; 16 bearings by chi-square",
    ),
    "grid": Technique(
        source="practice (point aggregation)",
        keeps="The square of each point, and counts by square",
        oracle="The verifier's own arithmetic; distances on the ellipsoid",
    ),
    "km-anonymity": Technique(
        source="Terrovitis, Mamoulis and Kalnis 2008",
        keeps="Items that aren't suppressed, or nodes of their hierarchy; rows",
        oracle="All sets of items counted in dictionaries; the least loss of small tables",
    ),
    "local-suppression": Technique(
        source="Templ, Kowarik and Meindl 2015",
        keeps="Values that aren't suppressed; rows",
        oracle="Brute-force minimum of small tables; figures of sdcMicro; naive counts",
    ),
    "location-swap": Technique(
        source="Zhang, Freundschuh, Lenzer and Zandbergen 2017",
        keeps="Real places; counts by larger areas",
        oracle="Distances to all places; chances of persons by their counts",
    ),
    "microaggregation": Technique(
        source="Domingo-Ferrer and Mateo-Sanz 2002 (MDAV); Hansen and Mukherjee 2003; Gower 1971",
        keeps="Means of columns, and most of the variance and correlations for small k",
        oracle="MDAV step by step over all distances; all ways to cut sorted values",
    ),
    "noise": Technique(
        source="practice; laws by their inverse distribution functions",
        keeps="Means over many rows; the shape of large distributions",
        oracle="moments and quantiles of each law; half or twice the scale fails the test",
    ),
    "ordinal-tails": Technique(
        source="practice",
        keeps="Categories between the bounds, and their order",
        oracle="Places in the order",
    ),
    "planar-laplace": Technique(
        source="Andrés and others 2013",
        keeps="Counts by larger areas; expected centroids",
        oracle="Kolmogorov-Smirnov test of the Gamma law; odds between two places",
    ),
    "pram": Technique(
        source="Gouweleeuw, Kooiman, Willenborg and de Wolf 1998",
        keeps="Expected frequencies of the column",
        oracle="transition frequencies by a chi-square test",
    ),
    "random-rounding": Technique(
        source="Nargundkar and Saveland 1972",
        keeps="Expected numbers, sums and means; each number changes by less than the base",
        oracle="Exact fractions; the share rounded up by a binomial test",
    ),
    "rank-swapping": Technique(
        source="Moore 1996; Dalenius and Reiss 1982",
        keeps="The values of each column and stratum exactly; relations between columns roughly",
        oracle="Rank distances, marginal distributions, correlation of ranks",
    ),
    "record-swapping": Technique(
        source="Shlomo, Tudor and Groom 2010",
        keeps="All columns except the areas; counts by area and similar columns exactly",
        oracle="Counts over areas; a search of all pairs for a free partner",
    ),
    "redact": Technique(
        source="practice",
        keeps="Which cells are missing; with a sign, the length of texts",
        oracle="Python's texts",
    ),
    "reversible-token": Technique(
        source="AES-SIV, RFC 5297",
        keeps="Which values are equal, so that tables join; the values, for the key's holder",
        oracle="AES-SIV of the library cryptography; the value itself after reversal",
    ),
    "round": Technique(
        source="practice",
        keeps="Numbers to half of the base or last digit; sums without bias",
        oracle="exact decimals",
    ),
    "sampling": Technique(
        source="Cochran 1977, chapter 2",
        keeps="Rows unchanged; estimates of totals and means with the sample's error",
        oracle="Exact sizes; inclusion probabilities over many keys",
    ),
    "shifted-dates": Technique(
        source="Practice (date shifting of clinical records)",
        keeps="Days between dates of a person; times of day",
        oracle="Differences of Python's dates; the frequencies of the numbers of days",
    ),
    "stratified-pram": Technique(
        source="Gouweleeuw, Kooiman, Willenborg and de Wolf 1998",
        keeps="Expected frequencies of the column in each stratum",
        oracle="transition frequencies of each stratum by a chi-square test",
    ),
    "street-nodes": Technique(
        source="Swanlund, Schuurman, Zandbergen and Brussoni 2020",
        keeps="Points on streets; counts by larger areas",
        oracle="Ranks of all nodes by distance; chances by chi-square",
    ),
    "stratified-sampling": Technique(
        source="Cochran 1977, chapter 5",
        keeps="Rows unchanged; the share of each stratum with a fraction",
        oracle="Sizes of strata; inclusion probabilities over many keys",
    ),
    "substitute": Technique(
        source="Keyed choice from texts of faker (practice)",
        keeps="Realistic values; which values are equal, so that tables join",
        oracle="A naive loop with hashlib; counts of different values",
    ),
    "tails": Technique(
        source="practice (Hundepool and others 2012, section 3.2)",
        keeps="All numbers between the bounds",
        oracle="exact comparison of decimals",
    ),
    "token": Technique(
        source="RFC 7693 (BLAKE2); integers by FF1 and by the prefix cipher",
        keeps="Which values are equal; of integers also width and sign, if asked for",
        oracle="hashlib, called value by value; a naive FF1 on integers",
    ),
    "trimmed-ends": Technique(
        source="Hassan, Hussain and Bates 2018",
        keeps="Rows unchanged between the ends of trips",
        oracle="Distances to all ends of trips, one by one",
    ),
    "voronoi": Technique(
        source="Seidl, Paulus, Jankowski and Regenfelder 2015",
        keeps="Clusters; counts by larger areas",
        oracle="Distances to all places, and shorter ways in 64 directions",
    ),
}
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
    "affine": (
        'columns = ["x", "y"], unit = "metres", centre = [5000, 5000], rotation = 180, '
        "scale = [0.8, 1.2], shift = 1000"
    ),
    "donut": 'columns = ["longitude", "latitude"], radius = [100, 500]',
    "gaussian": 'columns = ["longitude", "latitude"], sigma = 300',
    "grid": 'columns = ["longitude", "latitude"], width = 500',
    "location-swap": 'columns = ["longitude", "latitude"], radius = [100, 1000]',
    "voronoi": 'columns = ["longitude", "latitude"]',
    "street-nodes": 'columns = ["longitude", "latitude"], nodes = "streets", nearest = 3',
    "trimmed-ends": (
        'columns = ["longitude", "latitude"], trip = "ride", time = "at", person = "rider", '
        "metres = 300"
    ),
    "planar-laplace": 'columns = ["longitude", "latitude"], epsilon = 1.386, metres = 200',
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
- *Tested*: what the tests compare the technique with.
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
    yield "| technique | what it does | keeps | leaks | source; tested against |"
    yield "|---|---|---|---|---|"
    for name in sorted(known):
        mask, about = example(name), TECHNIQUES[name]
        drops = name in TABLE_MASKS and not isinstance(mask, TableMask)
        effect = "Drops rows" if drops else "Coarsens" if mask.coarsens else "Randomises"
        shown = form.format(name=f'"{name}"', example=EXAMPLES[name])
        cells = (
            f"`{name}`<br>`{shown}`",
            (type(mask).__doc__ or "").partition("\n")[0].replace("|", "or") + f" {effect}.",
            about.keeps,
            ", ".join(f"`{word}`" for word in mask.weaknesses) or "—",
            f"{about.source}<br>*Tested:* {about.oracle}",
        )
        yield f"| {' | '.join(cells)} |"


def example(name: str) -> Any:  # noqa: ANN401 # a mask of any kind
    """Return the mask of an example."""
    section = tomllib.loads(f'mask = {{ name = "{name}", {EXAMPLES[name]} }}')["mask"]
    made: Any = (MASK if name in MASKS else TABLE_MASK).section(name)
    return made(**section).made()


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
