"""The secrets of users: who has which, what tasks get of them, and what every fault leaves."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from hai_scheduler.adapters.system.key_ring import KeyRing
from hai_scheduler.core.model.limits import MAX_SECRET_BYTES, MAX_SECRETS, MAX_TASK_SECRET_BYTES, MAX_TASK_SECRETS
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.values import AuditFilter, UserRecord
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, Forbidden, HaiError, Invalid, NotFound
from hai_scheduler.service.tasks.key_warnings import key_warnings
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.workspace.secrets import Secrets
from hai_scheduler.store.tables import METADATA
from unit.service.service_world import ADMIN, Service, user

ANN, BOB = user("ann"), user("bob")
OLD, NEW = "ab" * 32, "cd" * 32
CANARY = b"canary-5ecret"


@pytest.fixture
async def service() -> Service:
    return await Service(nodes=2).open()


def of(service: Service) -> Secrets:
    return service.platform.workspace.secrets


def refs(*texts: str) -> tuple[SecretRef, ...]:
    return tuple(map(SecretRef.parse, texts))


@pytest.fixture
def orders(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[LaunchOrder]:
    """The orders that the cluster gets."""
    found: list[LaunchOrder] = []
    real = service.cluster.launch

    async def launch(order: LaunchOrder) -> None:
        found.append(order)
        await real(order)

    monkeypatch.setattr(service.cluster, "launch", launch)
    return found


def given(order: LaunchOrder) -> dict[str, bytes]:
    return {str(one.ref): base64.b64decode(one.value.reveal()) for one in order.secrets}


async def everything_stored(service: Service) -> bytes:
    """All bytes of all tables."""
    found = b""
    async with service.store.read() as tx:
        for table in METADATA.sorted_tables:
            for row in await tx.secrets._sql.ask(select(table)):
                found += b"".join(one if isinstance(one, bytes) else f"{one};".encode() for one in row)
    return found


async def test_a_secret_is_set_listed_used_and_removed(service: Service, orders: list[LaunchOrder]) -> None:
    first = await of(service).put(ANN, "hf", CANARY)
    assert (first.version, first.text, first.used_by) == (1, True, None)
    task = await service.submit("t", "ann", secrets=refs("HF_TOKEN=hf", "~/.netrc=hf"))
    await service.step(1)
    assert given(orders[0]) == {"HF_TOKEN=hf": CANARY, "~/.netrc=hf": CANARY}
    assert "HF_TOKEN" not in orders[0].env
    assert CANARY.decode() not in repr(orders[0])
    (shown,) = await of(service).show_all(ANN)
    assert (shown.name, shown.version, shown.used_by) == ("hf", 1, task)
    (used,) = await service.events("secret.used")
    assert (used.user, used.task_id, used.data) == ("ann", task, {"run": f"{task}.1", "secrets": {"hf": 1}})
    assert await of(service).show_all(BOB) == []
    assert CANARY not in await everything_stored(service)
    await of(service).remove(ANN, "hf")
    assert await of(service).show_all(ANN) == []
    async with service.store.read() as tx:
        kinds = [
            (one.action, one.subject, one.after) for one in await tx.audit.page(AuditFilter(), before=None, limit=9)
        ]
    assert kinds == [("secret.removed", "secret:ann/hf", None), ("secret.set", "secret:ann/hf", {"version": 1})]


async def test_each_run_gets_the_newest_value(service: Service, orders: list[LaunchOrder]) -> None:
    await of(service).put(ANN, "hf", b"the first")
    task = await service.submit("t", "ann", secrets=refs("hf"))
    await service.step(1)
    second = await of(service).put(ANN, "hf", b"the second")
    assert second.version == 2
    assert second.used_by == task
    await service.platform.tasks.submissions.suspend(ANN, str(task))
    await service.step(60)
    await service.platform.tasks.submissions.resume(ANN, str(task))
    await service.step(1)
    assert [given(order) for order in orders] == [{"hf": b"the first"}, {"hf": b"the second"}]
    assert [event.data["secrets"] for event in await service.events("secret.used")] == [{"hf": 1}, {"hf": 2}]


async def test_a_start_that_is_repeated_is_noted_once(service: Service, orders: list[LaunchOrder]) -> None:
    await of(service).put(ANN, "hf", CANARY)
    await service.submit("t", "ann", secrets=refs("hf"))
    service.cluster.faults.break_launch(after=0)
    await service.step(1)
    await service.step(30)
    assert len(orders) > 1
    assert len(await service.events("secret.used")) == 1


async def test_a_secret_that_is_gone_at_the_start_says_which_and_what_to_do(service: Service) -> None:
    await of(service).put(ANN, "hf", CANARY)
    task = await service.submit("t", "ann", secrets=refs("hf"), hold=True)
    await of(service).remove(ANN, "hf")
    await service.platform.tasks.submissions.resume(ANN, str(task))
    for _ in range(10):
        await service.step(600)
    assert await service.states(task) == ["failed"]
    told = await service.task(task)
    assert told.reason == "start_failed"
    assert not told.avoid, "no node is to blame"
    assert service.cluster.record.launches == []
    said = [str(event.data) for event in await service.events("task.state")]
    assert any("there is no secret 'hf': set it by `hai secret set hf`" in one for one in said)
    async with service.store.read() as tx:
        assert await tx.nodes.strikes() == []


async def test_a_secret_that_no_key_opens_says_so(service: Service, orders: list[LaunchOrder]) -> None:
    await of(service).put(ANN, "hf", CANARY)
    object.__setattr__(service.loop.cycle.effects.orders.secrets.world, "vault", KeyRing.read(NEW))
    await service.submit("t", "ann", secrets=refs("hf"))
    for _ in range(10):
        await service.step(600)
    said = [str(event.data) for event in await service.events("task.state")]
    assert any("does not have any more: set it again by `hai secret set hf`" in one for one in said)
    assert orders == []


@pytest.mark.parametrize(
    ("who", "name", "value", "error", "message"),
    [
        (ANN, "no name", b"x", Invalid, "secret: 'no name' is not a name"),
        (ANN, "", b"x", Invalid, "is not a name"),
        (ANN, "a/b", b"x", Invalid, "is not a name"),
        (ANN, "hf", b"", Invalid, "value: is empty"),
        (ANN, "hf", b"x" * (MAX_SECRET_BYTES + 1), Invalid, "has 65537 bytes, and 65536 is the most"),
        (replace(ANN, kind="service"), "hf", b"x", Forbidden, "with the token of a user"),
    ],
)
async def test_what_cannot_be_set_is_refused(
    service: Service, who: Caller, name: str, value: bytes, error: type[HaiError], message: str
) -> None:
    with pytest.raises(error, match=message):
        await of(service).put(who, name, value)
    assert await of(service).show_all(ANN) == []


async def test_a_user_has_a_bounded_number(service: Service) -> None:
    for number in range(MAX_SECRETS):
        await of(service).put(ANN, f"s{number}", b"x")
    with pytest.raises(Conflict, match="You have 100 secrets"):
        await of(service).put(ANN, "one-more", b"x")
    await of(service).put(ANN, "s7", b"a new value")
    await of(service).put(BOB, "one-more", b"x")


@pytest.mark.parametrize(
    ("texts", "env", "message"),
    [
        (["wandb"], {}, "there is no secret 'wandb': set it by `hai secret set wandb`"),
        (["hf", "hf"], {}, "the variable hf is given twice"),
        (["A=hf", "A=bin"], {}, "the variable A is given twice"),
        (["A=hf"], {"A": "1"}, "the variable A is given twice"),
        (["~/x=hf", "~/x=bin"], {}, "the file ~/x is given twice"),
        (["A=bin"], {}, "the secret 'bin' is no text, as a variable must be: use it as a file, PATH=bin"),
        (["HAI_TASK_ID=hf"], {}, "HAI_TASK_ID is set by the platform"),
        (["HAI_VENV=hf"], {}, "HAI_VENV is a variable of the platform"),
        (["JUPYTERHUB_API_TOKEN=hf"], {}, "is a variable of the platform"),
        (["RANK=hf"], {}, "RANK is set by the platform"),
        ([f"A{n}=big" for n in range(5)], {}, f"320000 bytes of secrets, and {MAX_TASK_SECRET_BYTES} is the most"),
        ([f"A{n}=hf" for n in range(MAX_TASK_SECRETS + 1)], {}, "are more than 50, the most of a task"),
    ],
)
async def test_a_task_with_wrong_secrets_is_refused_and_nothing_is_stored(
    service: Service, texts: list[str], env: dict[str, str], message: str
) -> None:
    await of(service).put(ANN, "hf", CANARY)
    await of(service).put(ANN, "bin", b"\xff\0")
    await of(service).put(ANN, "big", b"x" * 64_000)
    with pytest.raises(Invalid, match=message) as told:
        await service.submit("t", "ann", secrets=refs(*texts), env=env)
    assert told.value.field == "secrets"
    assert await service.events("task.submitted") == []
    asked = Submission(name="t", command=("x",), cwd="/", secrets=refs(*texts), env=env)
    with pytest.raises(Invalid, match=message):
        await service.platform.tasks.submissions.rehearse(ANN, asked)


async def test_of_another_user_it_is_not_there(service: Service) -> None:
    await of(service).put(ANN, "hf", CANARY)
    with pytest.raises(Invalid, match="there is no secret 'hf'"):
        await service.submit("t", "bob", secrets=refs("hf"))
    with pytest.raises(NotFound, match="You have no secret 'hf'"):
        await of(service).remove(BOB, "hf")
    assert await of(service).show_all(ADMIN) == [], "admins have their own"


async def test_archiving_a_user_removes_them(service: Service) -> None:
    async with service.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset()))
    await of(service).put(ANN, "hf", CANARY)
    await of(service).put(BOB, "hf", CANARY)
    await service.platform.people.archiving.archive(ADMIN, "ann")
    with pytest.raises(Forbidden, match="archived"):
        await of(service).put(ANN, "hf", CANARY)
    await service.platform.people.archiving.restore(ADMIN, "ann")
    assert await of(service).show_all(ANN) == []
    assert [one.name for one in await of(service).show_all(BOB)] == ["hf"]


def with_keys(service: Service, *lines: str) -> Secrets:
    return Secrets(replace(service.platform.world, vault=KeyRing.read("\n".join(lines))))


async def test_a_change_of_keys_loses_nothing(service: Service, orders: list[LaunchOrder]) -> None:
    values = {f"s{number:02}": b"value %d" % number for number in range(60)}
    old = with_keys(service, OLD)
    for name, value in values.items():
        await old.put(ANN, name, value)
    await old.put(BOB, "hf", CANARY)
    done = await with_keys(service, NEW, OLD).reseal(ADMIN)
    assert (done.resealed, done.already, done.lost) == (61, 0, [])
    again = await with_keys(service, NEW, OLD).reseal(ADMIN)
    assert (again.resealed, again.already) == (0, 61)
    async with service.store.read() as tx:
        sealed = await tx.secrets.sealed("ann", set(values))
    ring = KeyRing.read(NEW)
    opened = {name: ring.open(one.sealed, user="ann", name=name, version=1) for name, one in sealed.items()}
    assert opened == values
    assert [one.version for one in await of(service).show_all(BOB)] == [1], "it is the same value"


async def test_a_change_of_keys_that_dies_half_way_goes_on(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    old = with_keys(service, OLD)
    for number in range(60):
        await old.put(ANN, f"s{number:02}", b"value")
    both = with_keys(service, NEW, OLD)
    real, calls = both.world.vault.seal, 0

    class Died(BaseException):
        pass

    def seal(value: bytes, **bound: Any) -> bytes:
        nonlocal calls
        calls += 1
        if calls == 55:
            raise Died
        return real(value, **bound)

    monkeypatch.setattr(both.world.vault, "seal", seal)
    with pytest.raises(Died):
        await both.reseal(ADMIN)
    monkeypatch.undo()
    done = await both.reseal(ADMIN)
    assert (done.resealed, done.already, done.lost) == (10, 50, [])


async def test_what_no_key_opens_is_told_and_left(service: Service) -> None:
    await with_keys(service, "ee" * 32).put(ANN, "lost", CANARY)
    await with_keys(service, OLD).put(ANN, "kept", CANARY)
    done = await with_keys(service, NEW, OLD).reseal(ADMIN)
    assert (done.resealed, done.lost) == (1, ["ann/lost"])
    assert [one.name for one in await of(service).show_all(ANN)] == ["kept", "lost"]


async def test_only_admins_seal_again(service: Service) -> None:
    with pytest.raises(Forbidden):
        await of(service).reseal(ANN)


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"HF_TOKEN": "abcdefghij"}, ["HF_TOKEN"]),
        ({"WANDB_API_KEY": "0123456789abcdef", "A": "hf_abcdefghijklmnopqrst"}, ["WANDB_API_KEY", "A"]),
        ({"DB": "postgresql://ann:pass-word@db/x"}, ["DB"]),
        ({"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI"}, ["AWS_SECRET_ACCESS_KEY"]),
        ({"TOKENIZERS_PARALLELISM": "false"}, []),
        ({"MAX_TOKEN": "512"}, []),
        ({"PASSWORD": "12345678"}, []),
        ({"KEY_FILE": "/home/ann/key", "SSH_AUTH_KEY": "/home/ann/key"}, []),
        ({"LEARNING_RATE": "0.00000001"}, []),
        ({"HF_TOKEN": ""}, []),
    ],
)
def test_a_variable_that_looks_like_a_key_gets_one_line(env: dict[str, str], named: list[str]) -> None:
    lines = key_warnings(env)
    assert len(lines) == bool(named)
    for name in named:
        assert name in lines[0]
    assert all(value not in line for line in lines for value in env.values() if value)
