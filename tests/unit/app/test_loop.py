"""The process of the scheduling loop."""

from __future__ import annotations

import subprocess
import sys

import pytest

OF_THE_API = {"jupyterhub", "hai_scheduler.api.routes", "hai_scheduler.service.insight.forecasts"}


@pytest.mark.parametrize(("module", "imported"), [("loop", set()), ("compose", OF_THE_API)])
def test_the_loop_imports_nothing_that_answers_requests(module: str, imported: set[str]) -> None:
    code = f"import sys, hai_scheduler.app.serve, hai_scheduler.app.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert OF_THE_API & set(done.stdout.split()) == imported
