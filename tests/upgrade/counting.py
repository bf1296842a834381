"""A training that counts: `python counting.py FOLDER`. A file `end` in the folder ends it, SIGTERM makes it save.

Each rank prints the numbers from where it was last told to leave, and writes each one into a file of the folder after
it was printed: what must be in the log whatever becomes of the platform.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

folder, rank = Path(sys.argv[1]), os.environ["HAI_RANK"]
saved = Path(os.environ["HAI_CHECKPOINT_DIR"]) / f"next-{rank}"
told = False


def leave(*_: object) -> None:
    global told
    told = True


signal.signal(signal.SIGTERM, leave)
number = int(saved.read_text()) if saved.exists() else 0
with (folder / f"printed-{rank}").open("a") as printed:
    while not (folder / "end").exists():
        print("number", number, flush=True)
        print(number, file=printed, flush=True)
        number += 1
        if told:
            draft = saved.with_suffix(".draft")
            draft.write_text(str(number))
            draft.rename(saved)
            sys.exit(0)
        time.sleep(0.05)
print("counted to", number, flush=True)
