"""What can be said of files in pods before they start: mounts are known, images are not."""

from __future__ import annotations

import pytest

from hai_scheduler.adapters.kubernetes.files import PodFiles
from hai_scheduler.core.workspace.mounts import Mount, MountKind


def mount(path: str) -> Mount:
    return Mount(kind=MountKind.HOST_PATH, source="/somewhere", mount_path=path)


@pytest.mark.parametrize(
    ("folder", "fine"),
    [
        ("/home/ann/torch", True),
        ("/home/ann", True),
        ("/home/annette/torch", False),
        ("/home", False),
        ("/opt/conda", False),
    ],
)
async def test_only_what_is_below_a_mount_is_seen_for_sure(folder: str, fine: bool) -> None:
    said = await PodFiles().unseen(folder, (mount("/data"), mount("/home/ann")))
    assert (said is None) == fine
    if said is not None:
        assert said.startswith(f"your tasks see only /data, /home/ann of the cluster's files, so {folder} must be in ")


async def test_without_mounts_that_is_said() -> None:
    said = await PodFiles().unseen("/home/ann/torch", ())
    assert said is not None
    assert said.startswith("your tasks see no files of the cluster, so /home/ann/torch must be in their image")


async def test_no_file_is_missed_that_an_image_may_have() -> None:
    assert await PodFiles().fault(["/no"], "/no", "/no", "/no/python", own_python="/no") is None
