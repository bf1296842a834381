"""What a process reads of runs that another process makes: of the one that is asked for, however many there are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.folders import RunFolder
from hai_scheduler.adapters.local.nodes import local_nodes
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent


def a_run(root: Path, run_id: str) -> Path:
    task, _, number = run_id.partition(".")
    rank = root / task / number / "0"
    (rank / "log").mkdir(parents=True)
    (rank / "spec.json").write_text("{}")
    (rank / "begun").touch()
    (rank / "log" / f"{0:020d}.log").write_text("step 1\n")
    return rank.parent


async def test_a_log_is_read_without_a_look_at_all_other_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = LocalCluster(
        LocalSettings(
            runs_dir=tmp_path,
            nodes=local_nodes(count=1, gpus_per_node=0, file=None),
            api_url="",
            path_prefix=(),
            shared=True,
        )
    )

    def never(_root: Path) -> None:
        raise AssertionError("all runs are looked at")

    monkeypatch.setattr(RunFolder, "all", never)
    with pytest.raises(Absent):
        await cluster.read_log(RunId("1.1"), 0, offset=0, limit=100)
    folder = a_run(tmp_path, "1.1")
    assert (await cluster.read_log(RunId("1.1"), 0, offset=0, limit=100)).data == b"step 1\n"
    assert await cluster.addresses(RunId("1.1")) is not None
    with pytest.raises(Absent):
        await cluster.read_log(RunId("1.1"), 1, offset=0, limit=100)
    shutil.rmtree(folder)
    with pytest.raises(Absent):
        await cluster.read_log(RunId("1.1"), 0, offset=0, limit=100)
    with pytest.raises(Absent):
        await cluster.addresses(RunId("1.1"))
    await cluster.close()
