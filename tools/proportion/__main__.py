"""Print how much code the product takes: `PYTHONPATH=tools python -m proportion [--depth 2]`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from proportion.sizes import ROOT, SMALL, by_folder, longest_functions, sources

#: As tests/integration/api/test_hops.py has it.
OUT: Final = "HAI_PROPORTION_OUT"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m proportion", description=__doc__)
    parser.add_argument("--depth", type=int, default=1, help="folders of the sums: 1 is the top level")
    words = parser.parse_args()
    found = sources()
    product, tests = [one for one in found if one.production], [one for one in found if not one.production]
    for title, some in (("production", product), ("tests", tests)):
        for language in ("Python", "TypeScript"):
            those = [one for one in some if one.language == language]
            print(f"{title}, {language}: {len(those)} files, {sum(one.lines for one in those)} lines")
    print(f"production files under {SMALL} lines: {sum(one.lines < SMALL for one in product)}")
    for folder, lines in by_folder(product, words.depth).items():
        print(f"{lines:8} {folder}")
    print("longest functions:")
    for length, where in longest_functions(product, 10):
        print(f"{length:8} {where}")
    for what, (files, functions) in _hops().items():
        print(f"{what} passes {files} files and {functions} functions of the service")


def _hops() -> dict[str, tuple[int, int]]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "hops.json"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/integration/api/test_hops.py"],
            cwd=ROOT,
            env={**os.environ, OUT: str(out)},
            stdout=sys.stderr,
        )
        found: dict[str, tuple[int, int]] = json.loads(out.read_text())
        return found


if __name__ == "__main__":
    main()
