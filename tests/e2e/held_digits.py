"""`examples/train_digits.py`, held after some epochs until a file exists: a test decides when it goes on, not a clock.

    python held_digits.py GATE EPOCHS [--deaf] -- ARGUMENTS OF THE EXAMPLE

Every rank trains `EPOCHS` epochs and then waits, at the same step, for the file `GATE`, or for the notice that it must
leave; a deaf one waits for the file alone. The example is the file beside this one, or else that of the repository.
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

from hai_client import job

NAME = "train_digits.py"
#: The example sleeps once after every step: 1,437 images, 64 of them a step.
STEPS = 1437 // 64
LOOK_S = 0.05


class Hold:
    """Stands in for `time.sleep` of the example."""

    def __init__(self, gate: Path, epochs: int, *, deaf: bool) -> None:
        self._gate, self._left, self._deaf = gate, epochs * STEPS, deaf
        self._sleep = time.sleep

    def __call__(self, seconds: float) -> None:
        """After the last step that it may do, wait; before, go on at once."""
        if seconds:  # it waits for another rank: only the sleep after a step has no length
            self._sleep(seconds)
            return
        self._left -= 1
        # The example tells of an epoch after the sleep of its last step: held one later, all of them are told.
        while self._left < 0 and not self._gate.exists() and (self._deaf or not job.should_suspend()):
            self._sleep(LOOK_S)


def example() -> Path:
    """The path of the example."""
    here = Path(__file__).resolve()
    beside = here.with_name(NAME)
    return beside if beside.exists() else here.parents[2] / "examples" / NAME


if __name__ == "__main__":
    words = sys.argv[1 : sys.argv.index("--")]
    sys.argv = [str(example()), *sys.argv[sys.argv.index("--") + 1 :]]
    time.sleep = Hold(Path(words[0]), int(words[1]), deaf="--deaf" in words)
    runpy.run_path(sys.argv[0], run_name="__main__")
