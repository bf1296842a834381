"""Run a command whose pytest writes down what has failed, and run what has failed once more.

Real processes on two cores that do other work as well: a test that fails is run once more, and named; a test that fails
twice is broken, and so is a command by which more than five have failed.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ci.parts import call

#: Failed tests that are run once more, at most.
MOST = 5


def run(command: list[str]) -> int:
    """Return the status: that of the command, or of a test that has failed twice."""
    results = Path("test-results")
    results.mkdir(exist_ok=True)
    ids: list[str] = []
    with tempfile.TemporaryDirectory(prefix="failed.", dir=results.resolve()) as failed:
        status = call(command, env=os.environ | {"HAI_TEST_FAILED": failed})
        if status:
            commands = [path.read_text().splitlines() for path in sorted(Path(failed).glob("*.command"))]
            ids = [word for words in commands for word in words if word.startswith("tests/") and "::" in word]
            # Without a test that has failed it was something else, which is not asked again.
            if not 0 < len(ids) <= MOST:
                return status
            for words in commands:
                if again := call(words):
                    return again
    print(f"Tests that were repeated: {len(ids)}", *ids, sep="\n", flush=True)
    return 0
