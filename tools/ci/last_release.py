"""The commit of the last release, from which the tests of upgrades come."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = tomllib.loads((ROOT / "tests" / "upgrade" / "last_release.toml").read_text())
VERSION, COMMIT = str(NAMED["version"]), str(NAMED["commit"])
LACKS = f"this clone lacks the commit of the last release, {COMMIT}: git fetch --unshallow"


def is_here() -> bool:
    """Whether this clone has the commit; one that is not deep enough asks where it came from."""
    return _is_here() or (_runs("fetch", "--quiet", "--depth", "1", "origin", COMMIT) and _is_here())


def _is_here() -> bool:
    return _runs("cat-file", "-e", f"{COMMIT}^{{commit}}")


def _runs(*words: str) -> bool:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    print(COMMIT if is_here() else "")
