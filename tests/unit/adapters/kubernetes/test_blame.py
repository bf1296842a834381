"""Which nodes are to blame for a rank that could not be started (H3)."""

from __future__ import annotations

import pytest

from hai_scheduler.adapters.kubernetes.blame import blame_for_end, blame_for_waiting
from hai_scheduler.core.model.run import Blame
from unit.adapters.kubernetes.things import a_pod


def unscheduled(message: str | None, status: str = "False", kind: str = "PodScheduled") -> dict:
    return {"conditions": [{"type": "Ready", "status": "False"}, {"type": kind, "status": status, "message": message}]}


CLAIM = 'persistentvolumeclaim "datasets" not found'


@pytest.mark.parametrize(
    ("reason", "alone", "others_up"),
    [
        ("ErrImagePull", Blame.UNKNOWN, Blame.NODE),
        ("ImagePullBackOff", Blame.UNKNOWN, Blame.NODE),
        ("RegistryUnavailable", Blame.UNKNOWN, Blame.NODE),
        ("ErrImageNeverPull", Blame.UNKNOWN, Blame.NODE),
        ("ImageInspectError", Blame.UNKNOWN, Blame.NODE),
        ("InvalidImageName", Blame.NOBODY, Blame.NOBODY),
        ("CreateContainerConfigError", Blame.NOBODY, Blame.NOBODY),
        ("CreateContainerError", Blame.NODE, Blame.NODE),
        ("RunContainerError", Blame.NODE, Blame.NODE),
        ("ContainerCreating", Blame.NODE, Blame.NODE),
        (None, Blame.NODE, Blame.NODE),
    ],
)
def test_an_image_is_the_nodes_fault_only_where_others_have_it(reason, alone: Blame, others_up: Blame) -> None:
    waiting = {"reason": reason} if reason else {}
    assert blame_for_waiting(a_pod(), waiting, others_up=False) is alone
    assert blame_for_waiting(a_pod(), waiting, others_up=True) is others_up


@pytest.mark.parametrize(
    ("status", "blame"),
    [
        (unscheduled(CLAIM), Blame.NOBODY),
        (unscheduled(CLAIM.replace("persistentvolumeclaim", "PersistentVolumeClaim")), Blame.NOBODY),
        (unscheduled("Insufficient nvidia.com/gpu"), Blame.NODE),
        (unscheduled(None), Blame.NODE),
        (unscheduled(CLAIM, status="True"), Blame.NODE),
        (unscheduled(CLAIM, kind="Initialized"), Blame.NODE),
        ({"conditions": None}, Blame.NODE),
    ],
)
def test_a_claim_that_is_missing_is_missing_on_any_node(status: dict, blame: Blame) -> None:
    assert blame_for_waiting(a_pod(**status), {}, others_up=True) is blame


def test_a_pod_that_could_not_be_created_is_no_nodes_fault() -> None:
    assert blame_for_waiting(None, {}, others_up=True) is Blame.NOBODY


def test_a_pod_without_a_status_is_its_nodes() -> None:
    assert blame_for_waiting({"metadata": {}, "status": None}, {}, others_up=False) is Blame.NODE


@pytest.mark.parametrize(
    ("message", "blame"),
    [
        ('exec: "python3": executable file not found in $PATH: unknown', Blame.NOBODY),
        ("stat /opt/x: no such file or directory", Blame.NOBODY),
        ("failed to create shim task: OCI runtime create failed: nvidia-container-cli: device error", Blame.NODE),
        ("", Blame.NODE),
    ],
)
def test_a_program_that_the_image_lacks_is_no_nodes_fault(message: str, blame: Blame) -> None:
    assert blame_for_end(message) is blame
