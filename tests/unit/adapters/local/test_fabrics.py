"""Fabrics on one machine."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.adapters.local.fabrics import ProcessFabrics
from hai_scheduler.core.model.node import Node
from hai_scheduler.ports.fabric_trials import FabricRefused
from kit.builders import a_fabric


@pytest.mark.parametrize(
    "fields",
    [
        {"resources": {"rdma/hca": 1}},
        {"resources": {}, "annotations": {"a": "b"}},
        {"resources": {}, "shm_bytes": 2**30},
        {"resources": {}, "host_network": True},
    ],
)
async def test_processes_get_variables_alone_and_the_rest_is_refused_by_its_field(fields: dict[str, Any]) -> None:
    asked = [name for name, value in fields.items() if value]
    with pytest.raises(FabricRefused, match="leave it out") as refused:
        await ProcessFabrics([Node(name="node-1")]).try_out(a_fabric(**fields))
    assert [refused.value.field] == asked
