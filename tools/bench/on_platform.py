"""A real platform on this machine: an urgent task on full nodes, and a long queue. `python -m bench platform`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench import queued, urgent
from bench.figures import Report, say
from bench.rest import without_limits
from e2e.conftest import Platform


def measure(report: Report, nodes: int) -> None:
    """Start a platform with that many simulated nodes for each of the two."""
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
        for name, measured in (("urgent tasks", urgent.measure), ("a long queue", queued.measure)):
            say(name)
            folder = Path(temporary) / name.replace(" ", "-")
            folder.mkdir()
            platform = Platform(folder, nodes=nodes, options=without_limits(folder))
            try:
                platform.start()
                measured(report, platform)
            finally:
                platform.end()
