"""Jobs on releases: a candidate is made, put to its place, or a release is made without one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.claims import read_manifest
from halfmask.data import atomic_folder
from halfmask.microdata import protect_to
from halfmask.microdata.policy_class import policy_class
from halfmask.verifier import verify
from halfmask.workbench._attacking import keep_attacks
from halfmask.workbench._compared import keep_compared, warnings_of
from halfmask.workbench._kept_secrets import ask_books, asked_book, secrets_of
from halfmask.workbench._notices import notice_of
from halfmask.workbench._received import digest_of_manifest, words_of
from halfmask.workbench._releases import OWNER

if TYPE_CHECKING:
    from halfmask._progress import Progress


def make_candidate(
    report: Progress, folder: Path, *, policy: str, table: str, project: str, stamp: str
) -> dict[str, Any]:
    """Make the candidate in the job's folder, and return its facts; `stamp` is for its readers."""
    del stamp
    home = Path(project)
    wanted: Any = policy_class(policy).from_toml(policy, folder=home)
    given = secrets_of(wanted, home, table)
    if (section := getattr(wanted, "book", None)) is not None:
        given["book"] = asked_book(given["vault"], section)
    release = protect_to(table, wanted, folder / "release", **given, progress=report)
    manifest, verification = release.written
    facts = {
        "kind": manifest.kind,
        "policy": manifest.policy_sha256,
        "rows": dict(release.rows),
        "claims": [
            {"sentence": each.sentence, "holds": each.holds, "checked": each.checked}
            for each in verification.claims
        ],
        "checked": list(release.checked),
        "warnings": [],
        "linked": "The comparison wasn't finished.",
        "books": {},
        "failed": "",
    }
    try:
        report("comparing with the table")
        facts["warnings"] = warnings_of(release)
        facts["linked"] = keep_compared(release, folder)
        keep_attacks(release, folder, report)
        report("asking the book of earlier releases")
        facts["books"] = ask_books(release, home)
    except Exception as error:  # noqa: BLE001 # a budget may have paid for it: the release stays
        facts["failed"] = notice_of(error).what
    return facts


def place_candidate(
    report: Progress, folder: Path, *, candidate: str, out: str, facts: dict[str, Any]
) -> dict[str, Any]:
    """Put the candidate to its place, byte for byte, and verify it there.

    `facts` say what was found when it was made: some claims can only be checked with the table.
    """
    del folder

    report("writing")
    with atomic_folder(out, what="release") as place:
        shutil.copytree(candidate, place, dirs_exist_ok=True)
        report("verifying on disk")
        found = verify(place)
        if found.is_broken:
            found.raise_if_broken()
        digest, weaknesses = digest_of_manifest(place), read_manifest(place).weaknesses
    page = Path(f"{candidate}{OWNER}")
    if page.is_file():
        shutil.copyfile(page, f"{out}{OWNER}")
    words = words_of(found, weaknesses)
    for now, then in zip(words["claims"], facts["claims"], strict=True):
        if then["holds"] and now["verdict"] == "not checked":  # it was, with the table
            now |= {"verdict": "holds", "evidence": now["basis"], "sentence": then["sentence"]}
    if words["style"] == "unchecked" and all(
        it["verdict"] in {"holds", "only stated"} for it in words["claims"]
    ):
        words |= {"style": "holds", "verdict": "Everything that the release claims holds."}
    return {
        "name": Path(out).name,
        "manifest": digest,
        "is_placed": True,
        "found": words,
        "warnings": facts["warnings"],
        "checked": [],
    }


def make_release(
    report: Progress, folder: Path, *, policy: str, table: str, project: str, out: str
) -> dict[str, Any]:
    """Make a release by the same call as ``halfmask protect``; a book of the policy books it."""
    del folder

    home = Path(project)
    wanted: Any = policy_class(policy).from_toml(policy, folder=home)
    release = protect_to(table, wanted, out, **secrets_of(wanted, home, table), progress=report)
    manifest, found = release.written
    return {
        "name": Path(out).name,
        "manifest": digest_of_manifest(Path(out)),
        "is_placed": False,
        "found": words_of(found, manifest.weaknesses),
        "warnings": warnings_of(release),
        "checked": list(release.checked),
    }
