"""Programs in place of helm and kubectl."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from unit.hub.cluster.helm_kit import HELM, OLD


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs in place of helm and kubectl; what they were called with is in this file."""
    for name in ("helm", "kubectl"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(HELM)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    file = tmp_path / "calls"
    monkeypatch.setenv("HAI_TEST_CALLS", str(file))
    return file


@pytest.fixture
def installed(calls: Path) -> Callable[[str], None]:
    def write(manifest: str) -> None:
        calls.with_name("calls.installed").write_text(manifest)

    return write


@pytest.fixture
def deaf(
    calls: Path, installed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], list[float]]:
    """The scheduler does not answer that many times; what is returned is how long was waited each time."""
    now, waited = [0.0], []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        now[0] += seconds

    # Of these modules alone: threads of other tests sleep, too.
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    for module in ("helm", "command"):
        monkeypatch.setattr(f"hai_hub.cluster.{module}.time", clock)
    installed(OLD)

    def tell(times: int) -> list[float]:
        calls.with_name("calls.deaf").write_text(str(times))
        return waited

    return tell
