"""The command of the scenarios' tasks: it writes a line for each start, notice and end, and ends at an open gate.

    python3 worker.py FOLDER NAME

It runs in pods, with whatever Python they have (3.8 or newer).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from hai_client import job


def main() -> None:
    """Wait for the gate, or save and leave after a notice."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    lines, saved, gate = folder / "lines" / name, folder / "saved" / name, folder / "gates" / name

    def tell(*words: str) -> None:
        text = " ".join((*words, os.environ["HAI_RUN_ID"], str(job.rank), os.environ["HAI_NODE_NAME"]))
        # One write, so that ranks do not mix their lines.
        with lines.open("ab", buffering=0) as file:
            file.write(text.encode() + b"\n")

    tell("resumed" if saved.exists() else "started")
    while not gate.exists():
        if job.should_suspend():
            notice = job.notice()
            saved.write_text(str(job.run))
            tell("told", notice.reason if notice else "nobody")
            job.suspended(step=job.run, path=saved)
        time.sleep(0.1)
    tell("ended")


main()
