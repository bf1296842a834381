"""A container's cgroup."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_client.metrics.cgroup import CgroupReader

FILES = {
    "cpu.stat": "usage_usec 1000000\nuser_usec 600000\nnr_throttled 3\nthrottled_usec 50000\n",
    "memory.current": "5000\n",
    "memory.stat": "anon 3000\ninactive_file 1500\nfile 2000\n",
    "memory.events": "low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n",
    "io.stat": "8:0 rbytes=100 wbytes=200 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=10 wbytes=20 rios=1\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_rates_need_two_samples_and_memory_one(root: Path) -> None:
    reader = CgroupReader(str(root))
    assert reader.available()
    assert reader.read(10.0) == {"memory": 3500, "oom_kills": 1}
    (root / "cpu.stat").write_text("usage_usec 4000000\nthrottled_usec 250000\n")
    (root / "io.stat").write_text("8:0 rbytes=1100 wbytes=200\n8:16 rbytes=10 wbytes=2020\n")
    assert reader.read(12.0) == pytest.approx(
        {"cpu": 1.5, "cpu_throttled": 0.1, "disk_read": 500, "disk_written": 1000, "memory": 3500, "oom_kills": 1}
    )


def test_a_device_that_went_away_is_no_negative_rate(root: Path) -> None:
    reader = CgroupReader(str(root))
    reader.read(10.0)
    (root / "io.stat").write_text("8:0 rbytes=5 wbytes=300\n")
    found = reader.read(11.0)
    assert "disk_read" not in found
    assert found["disk_written"] == 80


@pytest.mark.parametrize("missing", ["cpu.stat", "memory.current"])
def test_what_is_no_cgroup_of_version_2_is_not_used(root: Path, missing: str) -> None:
    (root / missing).unlink()
    assert not CgroupReader(str(root)).available()


def test_damaged_files_are_left_out(root: Path) -> None:
    for name in FILES:
        (root / name).write_bytes(b"\xff\x00 usage_usec x\nusage_usec\n")
    assert CgroupReader(str(root)).read(1.0) == {}
