"""The cost of an interruption with common frameworks, as measured by the suite of `tests/frameworks`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from bench.figures import Report, say
from frameworks.drive import ROOT
from frameworks.table import RESULTS

#: Most seconds that HAI may add: from the job's last checkpoint (or from the notice, if it saved nothing after it)
#: until its nodes are free. The time in which a job that caught its signal ends by itself does not count.
AT_MOST_S = 1.5
SUITE = ("-m", "pytest", "-q", "-m", "frameworks", "tests/frameworks")


def measure(report: Report) -> None:
    """Run all cases, and read their results. Cases that the platform does not support yet are left out."""
    say("the suite of the frameworks, some minutes")
    RESULTS.unlink(missing_ok=True)
    subprocess.run([sys.executable, *SUITE], cwd=ROOT, env=os.environ, check=False)
    if not RESULTS.exists():
        report.skip("frameworks", "the suite wrote no results; make test-frameworks says why")
        return
    for name, one in json.loads(RESULTS.read_text())["cases"].items():
        topic = f"frameworks: {name}"
        if "leave_s" not in one:
            report.skip(topic, "it did not come to its end")
            continue
        report.add(topic, "notice to nodes free", one["leave_s"], "s", f"said to be {one['left']}")
        report.add(topic, "notice to its last checkpoint", one["job_s"], "s", f"saving itself {one['saving_s']} s")
        report.add(topic, "its last checkpoint to its own end", one["own_end_s"], "s", "0 where HAI ends it")
        report.add(topic, "the rest", one["overhead_s"], "s", at_most=AT_MOST_S)
        if one["platform_s"] is not None:
            report.add(topic, "of that, the platform alone", one["platform_s"], "s")
