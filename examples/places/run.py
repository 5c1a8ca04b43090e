"""Protect the places of patients and of trips in several ways, and measure what is left.

    python examples/places/run.py                 # a town that doesn't exist
    python examples/places/run.py FOLDER          # and Snow's deaths, Dutch dwellings

FOLDER has `snow_cholera_fatalities.csv`, `snow_cholera_addresses.csv` and `dutch_dwellings.csv.gz`.
What it lacks is skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

from make_town import main as make_town

import halfmask as hm

HERE, OUT = Path(__file__).parent, Path("out/places")


def protect(policy: str, table: Path) -> hm.Release:
    """Protect a table, write the release, verify it on disk, and say what was measured.

    Parameters
    ----------
    policy
        The name of a policy of this folder. Its maps are in the folder of the table.
    table
        The file of the table.
    """
    text = (HERE / f"{policy}.toml").read_text(encoding="utf-8")
    text = text.replace("../../out/places/", "")
    release = hm.protect(table, hm.Policy.from_toml(text, folder=table.parent))
    release.write(OUT / policy, overwrite=True)
    print(f"\n{policy}: {release.data.height:,} rows")
    for claim in hm.verify(OUT / policy).claims:
        print(f"  {claim.sentence}")
    return release


def main(given: Path | None) -> None:
    """Run the example.

    Parameters
    ----------
    given
        A folder with files of other sources, if there is one.
    """
    make_town(OUT)
    release = protect("areas", OUT / "patients.csv")
    print(f"  Areas in the release: {release.data['home'].n_unique()}.")
    for policy in ("donut", "planar_laplace"):
        release = protect(policy, OUT / "cases.csv")
        for measured in release.facts.places:
            picture = OUT / f"{policy}-for-the-owner.svg"
            picture.write_text(measured.to_svg(), encoding="utf-8")
            print(f"  {measured.utility.sentence}")
            for found in (*measured.risks, *measured.findings):
                print(f"  {found.sentence}")
    protect("trips", OUT / "trips.csv")
    others = {"snow": "snow_cholera_fatalities.csv", "dwellings": "dutch_dwellings.csv.gz"}
    for policy, name in others.items():
        if given is None or not (given / name).is_file():
            print(f"\n{policy}: skipped, since {name} isn't there.")
        else:
            release = protect(policy, given / name)
            for measured in getattr(release.facts, "places", ()):
                print("  " + " ".join(it.sentence for it in measured.risks))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
