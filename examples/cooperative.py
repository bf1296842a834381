"""The least that a job does to share its nodes: count, and keep the count over interruptions.

hai submit --profile cooperative -- python cooperative.py
"""

from __future__ import annotations

import time

from hai_client import job

count = int(job.state or 0)
while count < 600:
    count += 1
    print(f"count {count}", flush=True)
    time.sleep(0.1)
    if job.should_suspend():
        job.set_state(str(count))
        job.suspended(step=count)
