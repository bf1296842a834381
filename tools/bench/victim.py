"""A cooperative job that takes a known time to save: `victim.py FOLDER SECONDS`, run as a task.

While it may be interrupted there is a file of its task's id in the folder; `told` lists when which task was told
and had saved.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from hai_client import job

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
ready = folder / str(job.task_id)
job.should_suspend()
ready.touch()
while not job.should_suspend():
    time.sleep(0.05)
told = time.time()
ready.unlink()
time.sleep(seconds)
with (folder / "told").open("a") as file:
    file.write(json.dumps({"task": job.task_id, "told": told, "saved": time.time()}) + "\n")
job.suspended(step=1)
