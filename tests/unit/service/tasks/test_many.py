"""One action on many tasks: what can be done is done, and the rest is refused with a reason."""

from __future__ import annotations

import pytest

from hai_scheduler.ports.errors import WriteConflict
from hai_scheduler.service.tasks.many import TaskAction
from unit.service.service_world import Service, user


@pytest.mark.parametrize(
    ("action", "states"),
    [
        (TaskAction.STOP, ["stopping", "stopped"]),
        (TaskAction.SUSPEND, ["suspending", "queued"]),
        (TaskAction.HOLD, ["running", "queued"]),
        (TaskAction.RESUME, ["running", "queued"]),
    ],
)
async def test_each_task_has_its_own_result(action: TaskAction, states: list[str]) -> None:
    service = await Service(nodes=1).open()
    await service.submit("runs", "ann")
    await service.step(1)
    await service.submit("waits", "ann")
    many = service.platform.tasks.many
    results = await many.act(user("ann"), action, ["runs", "nosuch", "waits", "runs"])
    assert [result.ref for result in results] == ["runs", "nosuch", "waits"]
    assert [result.task.state.value for result in results if result.task is not None] == states
    assert [result.refusal is None for result in results] == [True, False, True]


async def test_a_change_at_the_same_time_is_a_refusal_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service(nodes=1).open()
    await service.submit("one", "ann")
    await service.submit("two", "ann")
    many = service.platform.tasks.many
    hold = type(many.submissions).hold

    async def meets(self, caller, ref):
        if ref == "one":
            raise WriteConflict("task 1 is at version 3, not 2")
        return await hold(self, caller, ref)

    monkeypatch.setattr(type(many.submissions), "hold", meets)
    one, two = await many.act(user("ann"), TaskAction.HOLD, ["one", "two"])
    assert one.refusal is not None
    assert "try it again" in str(one.refusal)
    assert two.task is not None
    assert two.task.held
