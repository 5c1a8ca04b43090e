"""An owner of Adult and two analysts: a budget, shares, tokens, questions over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator

HALFMASK = [sys.executable, "-c", "import sys; from halfmask.cli import main; sys.exit(main())"]
ADULT = Path(__file__).resolve().parent.parent / "adult" / "adult.csv"
QUESTION = """
    SELECT sex, COUNT(*) AS people, AVG("hours-per-week") AS hours
    FROM adult WHERE age >= 18 GROUP BY sex
"""


def main() -> None:
    """Play the owner, then the analysts, then the owner again."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        vault, service = home / "vault", home / "service"
        owner_sets_the_budget(vault)
        tokens = {name: owner_lets_in(name, vault, service) for name in ("ann", "bob")}
        with (
            served(vault, service) as address,
            client_of(address, tokens["ann"]) as ann,
            client_of(address, tokens["bob"]) as bob,
        ):
            analysts_ask(Analyst(ann), Analyst(bob))
        shown = halfmask("budget", "show", "adult", "--vault", vault)
        print(f"\nThe owner's ledger: epsilon {shown['spent']:.3g} of {shown['epsilon']:g} spent")
        for charge in shown["charges"]:
            print(f"  {charge['number']}  {charge['analyst']}  {charge['purpose']}")


def owner_sets_the_budget(vault: Path) -> None:
    """Declare bounds and keys from general knowledge, and set the budget."""
    declared = ("--bounds", "age=17:90", "--bounds", "hours-per-week=0:99")
    keys = ("--keys", "sex=Female,Male")
    halfmask(
        *("budget", "set", ADULT, "--vault", vault, "--epsilon", 3, "--delta", 1e-6),
        *declared,
        *keys,
    )


def owner_lets_in(name: str, vault: Path, service: Path) -> str:
    """Give an analyst a share of the budget, and a token."""
    halfmask("budget", "allow", "adult", name, "--epsilon", 1.5, "--vault", vault)
    asked = ("--client", name, "--tenant", "adult", "--scope", "read")
    return str(halfmask("serve", "token", "create", service, *asked)["token"])


@contextmanager
def served(vault: Path, service: Path) -> Iterator[str]:
    """Run the service in a process of its own until the block ends; yield its address."""
    words = ["serve", "queries", service, ADULT, "--vault", vault, "--port", 0, "--json"]
    line = command(*words, "--step-seconds", 0.2)
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 # our own
        assert process.stdout  # noqa: S101 # a pipe
        yield str(json.loads(process.stdout.readline())["address"])
        process.terminate()


def client_of(address: str, token: str) -> httpx.Client:
    """Return a client of the service that sends a token."""
    return httpx.Client(
        base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60.0
    )


class Analyst:
    """Asks the service."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def plan(self, sql: str, epsilon: float) -> list[str]:
        """Return the errors to expect."""
        said = self._http.post("/v1/plan", json={"sql": sql, "epsilon": epsilon})
        return list(said.raise_for_status().json()["errors"])

    def ask(self, sql: str, epsilon: float) -> dict[str, Any]:
        """Return the answer, or the refusal."""
        said: dict[str, Any] = self._http.post(
            "/v1/answer", json={"sql": sql, "epsilon": epsilon}
        ).json()
        return said


def analysts_ask(ann: Analyst, bob: Analyst) -> None:
    """Plan, ask, get the same answer from the book, and spend a share."""
    print("Ann plans at epsilon 1:")
    for error in ann.plan(QUESTION, 1.0):
        print(f"  {error}")
    answer = ann.ask(QUESTION, 1.0)
    print("Ann asks:")
    for row in answer["rows"]:
        print(f"  {row['sex']:6}  {row['people']:6,} people, {row['hours']:.1f} hours a week")
    same = bob.ask(QUESTION, 1.0)
    print(
        f"Bob asks the same, from the book: {same['from_book']}, same: "
        f"{same['rows'] == answer['rows']}"
    )
    for age in range(20, 90, 10):
        sql = f"SELECT COUNT(*) FROM adult WHERE age < {age}"  # noqa: S608 # a number of ours
        said = bob.ask(sql, 0.4)
        if not said["ok"]:
            print(f"Bob is refused: {said['error']}")
            break
        print(f"  below {age}: {said['rows'][0]['count']:,}")


def halfmask(*words: object) -> dict[str, Any]:
    """Run a command of ours, and return what it says."""
    done = subprocess.run(command(*words, "--json"), check=True, capture_output=True, text=True)  # noqa: S603 # our own
    return dict(json.loads(done.stdout))


def command(*words: object) -> list[str]:
    """Return the command line of this interpreter's halfmask."""
    return [*HALFMASK, *map(str, words)]


if __name__ == "__main__":
    main()
