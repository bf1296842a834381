"""The environment variables of a rank on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hai_client.linux.identity import Account
from hai_scheduler.adapters.local.environment import rank_environment
from hai_scheduler.adapters.local.nodes import LocalNode
from kit.builders import a_launch, a_node

REAL = LocalNode(node=a_node("node-2", gpus=4), gpu_ids=(4, 5, 6, 7))
SIMULATED = LocalNode(node=a_node("node-2", gpus=4))
ACCOUNT = Account(name="ann", uid=1001, gid=1001, groups=(), home="/home/ann", shell="/bin/zsh")


def env(rank: int = 1, node: LocalNode = REAL, account: Account | None = None, **launch: Any) -> dict[str, str]:
    """The variables of a rank of a gang of two nodes."""
    order = a_launch(5, 1, **{"nodes": ("node-1", "node-2"), "user": "ann", **launch})
    return rank_environment(
        order,
        rank=rank,
        node=node,
        runtime=Path("/runs/5/1/1/runtime"),
        token=Path("/runs/5/1/1/token"),
        port=23456,
        path_prefix=("/platform/bin",),
        api_url="http://127.0.0.1:8090/api/v1",
        account=account,
    )


def test_a_rank_is_told_who_it_is_and_where_the_others_are() -> None:
    made = env()
    assert {name: made[name] for name in ("HAI_RUN_ID", "HAI_RANK", "HAI_NODE_NAME", "HAI_RUNTIME_DIR")} == {
        "HAI_RUN_ID": "5.1", "HAI_RANK": "1", "HAI_NODE_NAME": "node-2", "HAI_RUNTIME_DIR": "/runs/5/1/1/runtime",
    }  # fmt: skip
    assert (made["MASTER_ADDR"], made["MASTER_PORT"]) == ("127.0.0.1", "23456")


@pytest.mark.parametrize(
    ("node", "gpus", "shown", "nvidia", "count"),
    [
        (REAL, (), "4,5,6,7", "4,5,6,7", "4"),
        (REAL, ((0,), (1, 3)), "5,7", "5,7", "2"),
        (REAL, ((0, 1), ()), "4,5,6,7", "4,5,6,7", "4"),
        (SIMULATED, (), "", "void", "4"),
        (SIMULATED, ((0,), (1, 3)), "", "void", "2"),
        (LocalNode(node=a_node("node-2", gpus=0)), (), "", "void", "1"),
    ],
)
def test_a_rank_sees_its_own_gpus_and_no_simulated_ones(node: LocalNode, gpus, shown, nvidia, count) -> None:
    made = env(node=node, gpus=gpus)
    assert (made["CUDA_VISIBLE_DEVICES"], made["NVIDIA_VISIBLE_DEVICES"], made["PET_NPROC_PER_NODE"]) == (
        shown,
        nvidia,
        count,
    )


def test_a_task_cannot_ask_for_the_gpus_of_others_by_a_variable() -> None:
    asked = {
        "CUDA_VISIBLE_DEVICES": "0,1,2,3", "NVIDIA_VISIBLE_DEVICES": "all", "CUDA_DEVICE_ORDER": "FASTEST_FIRST",
    }  # fmt: skip
    made = env(gpus=((0,), (1,)), env=asked)
    assert (made["CUDA_VISIBLE_DEVICES"], made["NVIDIA_VISIBLE_DEVICES"]) == ("5", "5")
    # CUDA counts as the driver does: the GPU whose use is sampled is the one on which the task computes.
    assert made["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_where_gpus_are_simulated_their_order_is_nobodys() -> None:
    assert "CUDA_DEVICE_ORDER" not in env(node=SIMULATED)


def test_variables_of_the_task_are_there_and_do_not_replace_the_platforms() -> None:
    made = env(env={"LR": "0.1", "HAI_RANK": "9", "MASTER_PORT": "1"})
    assert (made["LR"], made["HAI_RANK"], made["MASTER_PORT"]) == ("0.1", "1", "23456")


@pytest.mark.parametrize(
    ("python", "first"), [(None, ["/platform/bin"]), ("/envs/vision/bin/python", ["/envs/vision/bin", "/platform/bin"])]
)
def test_the_folder_of_the_tasks_own_python_comes_first_on_path(python: str | None, first: list[str]) -> None:
    assert env(python=python)["PATH"].split(":")[: len(first)] == first


def test_another_account_has_its_own_home_name_and_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/service")
    made = env(account=ACCOUNT)
    assert [made[name] for name in ("HOME", "USER", "LOGNAME", "SHELL")] == ["/home/ann", "ann", "ann", "/bin/zsh"]
    assert env()["HOME"] == "/home/service"


def test_a_task_may_say_who_it_is_itself() -> None:
    assert env(account=ACCOUNT, env={"SHELL": "/bin/fish"})["SHELL"] == "/bin/fish"
