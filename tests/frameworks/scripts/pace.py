"""Slows a training down until a file exists, so that a test can interrupt it in the middle on any machine.

It is no part of a recipe. Without `PACE_UNTIL` in the environment, it does nothing.
"""

import os
import time


def pace(seconds=0.15):
    """Sleep as if the step were that of a bigger model, until the file `PACE_UNTIL` exists."""
    gate = os.environ.get("PACE_UNTIL")
    if gate and not os.path.exists(gate):  # noqa: PTH110
        time.sleep(seconds)


def hold(until):
    """Stay in the middle of a training until something is true of this process, or the file is there."""
    gate = os.environ.get("PACE_UNTIL")
    while gate and not os.path.exists(gate) and not until():  # noqa: PTH110
        time.sleep(0.02)
