"""What would let a task start."""

from __future__ import annotations

import pytest

from hai_scheduler.core.explaining.alternatives import ChangeKind, WhatIf
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import Holder
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.what_if import what_would
from kit.builders import a_task, at

HOLDER = Holder(task_id=3, name="big", user="bob", priority=Priority.HIGH, nodes=2)
CHANGES = [
    (
        WhatIf(kind=ChangeKind.PRIORITY, priority=Priority.HIGH, starts_now=True),
        "At HIGH it would start now.",
    ),
    (
        WhatIf(
            kind=ChangeKind.PRIORITY,
            priority=Priority.HIGH,
            starts_now=False,
            starts_by=at(120),
            suspends=(HOLDER,),
        ),
        (
            "At HIGH it would have task 3 of bob (HIGH, 2 nodes) suspended and start when they have saved, "
            "by 08:02:00 UTC at the latest."
        ),
    ),
    (WhatIf(kind=ChangeKind.NODES, nodes=2, starts_now=True), "With 2 nodes instead of 4 it would start now."),
    (
        WhatIf(kind=ChangeKind.GPUS, gpus=1, starts_now=True),
        "With 1 GPU of each node instead of 3 it would start now.",
    ),
    (
        WhatIf(kind=ChangeKind.LIMIT, limit=6, subject="user:alice", priority=Priority.NORMAL, starts_now=False),
        "With a quota of 6 nodes at NORMAL it would start when nodes that are being freed are free.",
    ),
    (
        WhatIf(kind=ChangeKind.LIMIT, limit=6, subject="total:ml", priority=Priority.LOW, starts_now=True),
        "If the quota of group ml as a whole were 6 nodes at LOW it would start now.",
    ),
]


@pytest.mark.parametrize(("change", "text"), CHANGES, ids=[f"{c.kind}-{n}" for n, (c, _) in enumerate(CHANGES)])
def test_every_change_has_a_sentence(change: WhatIf, text: str) -> None:
    assert what_would(ENGLISH, change, a_task(nodes=4, gpus=3), at()) == text
    assert {row[0].kind for row in CHANGES} == set(ChangeKind)
