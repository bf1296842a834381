"""What runs used, in a line for each."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from hai_client.cli.tasks.used import sentence
from hai_client.codec import encode
from hai_client.wire.schema import RunSummary, UsageLevel
from unit.client.conftest import Hai

NOTHING = RunSummary(
    seconds=60,
    cpu=None,
    memory=None,
    gpus=0,
    gpu_seconds=0,
    gpu_idle_seconds=0,
    gpu_use=None,
    gpu_memory=None,
    gpu_power=None,
    joules=0,
)
CPU = {"cpu": UsageLevel(mean=7.94, peak=12), "memory": UsageLevel(mean=43 * 2**30, peak=60.5 * 2**30)}
GPU = {
    "gpus": 8,
    "gpu_seconds": 8 * 3600,
    "gpu_use": UsageLevel(mean=87.4, peak=100),
    "gpu_memory": UsageLevel(mean=61 * 2**30, peak=70 * 2**30),
    "gpu_power": UsageLevel(mean=512.3, peak=640),
    "joules": 8 * 512.3 * 3600,
}


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, ""),
        (CPU, "7.9 cores (peak 12.0), 43 GiB of memory (peak 60.5 GiB)"),
        (
            GPU | {"gpu_idle_seconds": 2 * 3600},
            (
                "87% of 8 GPUs (peak 100%), 61 GiB of GPU memory (peak 70 GiB), 512 W by GPU (peak 640), "
                "idle for 2 h of 8 h of GPU time, 4.1 kWh"
            ),
        ),
        ({"gpus": 1, "gpu_seconds": 60}, "all of 1 min of GPU time busy"),
        ({"gpus": 1, "gpu_use": UsageLevel(mean=0, peak=0)}, "0% of 1 GPU (peak 0%)"),
    ],
)
def test_a_line_has_what_was_measured(known: dict[str, object], said: str) -> None:
    assert sentence(dataclasses.replace(NOTHING, **known)) == said  # type: ignore[arg-type]


def test_status_has_the_line_under_the_runs(hai: Hai, platform: Any, fake: Any) -> None:
    used = encode(dataclasses.replace(NOTHING, **CPU))  # type: ignore[arg-type]
    platform.add("measured", runs=[fake.run_of(1), fake.run_of(2, summary=used)])
    out = hai("status", "measured").out
    assert "run 2 used  7.9 cores (peak 12.0), 43 GiB of memory" in out
    assert "run 1 used" not in out
