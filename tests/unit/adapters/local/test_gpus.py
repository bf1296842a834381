"""How many GPUs this machine has, by a driver that the test compiles: it answers, refuses, or hangs."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path

import pytest

from hai_client.metrics import nvml as module
from hai_scheduler.adapters.local.gpus import real_gpus
from kit import nvml

#: Seconds for what answers, and for what never does.
LONG, SHORT = 60.0, 0.2


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    library = nvml.build(tmp_path)
    # The process that counts finds it by its name, this one by its path.
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    monkeypatch.setattr(module, "LIBRARY", str(library))
    return monkeypatch


@pytest.mark.parametrize(
    ("number", "visible", "found"),
    [
        (1, None, (0,)),
        (8, None, tuple(range(8))),
        # Who starts HAI may leave some to others.
        (8, "6,7", (6, 7)),
        (8, "GPU-5, 2", (5, 2)),
        (8, "", ()),
        (2, "1,2", (1,)),
        (8, "MIG-3,4", (4,)),
    ],
)
async def test_the_gpus_that_the_driver_shows_are_counted(
    driver: pytest.MonkeyPatch, number: int, visible: str | None, found: tuple[int, ...]
) -> None:
    driver.setenv("FAKE_NVML_GPUS", str(number))
    driver.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        driver.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert await real_gpus(LONG) == found


async def test_without_a_driver_there_are_none_and_no_process_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIBRARY", "libno-such-driver.so.1")
    monkeypatch.setattr(asyncio, "create_subprocess_exec", None)
    assert await real_gpus(LONG) == ()


@pytest.mark.parametrize(
    ("variables", "patience", "says"),
    [
        ({"FAKE_NVML_HANGS_AT_ONCE": "1"}, SHORT, "has not answered within 0 s: HAI starts as if .* no GPUs"),
        ({}, LONG, "cannot be told, so HAI starts without them: .*nvmlInit_v2 says 9"),
    ],
)
async def test_a_driver_that_hangs_or_refuses_is_named_and_leaves_no_process(
    driver: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variables: dict[str, str], patience: float, says: str
) -> None:
    for name, value in variables.items():
        driver.setenv(name, value)
    made = []
    create = asyncio.create_subprocess_exec

    async def noting(*words: str, **given: object) -> asyncio.subprocess.Process:
        made.append(await create(*words, **given))  # type: ignore[arg-type]
        return made[-1]

    driver.setattr(asyncio, "create_subprocess_exec", noting)
    with caplog.at_level(logging.WARNING):
        assert await real_gpus(patience) == ()
    (record,) = caplog.records
    assert re.search(says, record.getMessage())
    assert await made[0].wait() != 0


async def test_a_stop_meanwhile_is_obeyed_at_once(driver: pytest.MonkeyPatch) -> None:
    driver.setenv("FAKE_NVML_HANGS_AT_ONCE", "1")
    asking = asyncio.create_task(real_gpus(LONG))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
