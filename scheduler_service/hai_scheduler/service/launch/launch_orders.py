"""The orders with which the cluster launches runs, read for all waiting runs in one transaction.

Many runs start at once, and a transaction costs almost the same for one run as for many. So calls during a
transaction wait in a line, and the next transaction takes the whole line. An error of one run affects no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from hai_scheduler.core.lifecycle.transitions import Launch
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.workspace import builds
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Absent
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.launch.secrets_at_launch import SecretsAtLaunch
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.code_snapshots import CodeSnapshots
from hai_scheduler.service.workspace.identities import UserIdentities
from hai_scheduler.service.workspace.rank_env import rank_env
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs
from hai_scheduler.store.transaction import Tx


@dataclass(slots=True, eq=False)
class _Waiting:
    effect: Launch
    nodes: Mapping[str, Node]
    answer: asyncio.Future[_Made | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """An order that knows nothing of haienv yet, and what it was made of."""

    order: LaunchOrder
    task: Task
    #: The run as it was read.
    run: Run
    spec: TaskSpec
    groups: frozenset[str]


@dataclass(slots=True, eq=False)
class LaunchOrders(UseCase):
    """Makes the orders, for the whole line of waiting runs at a time."""

    tokens: RunTokens
    runtime_envs: RuntimeEnvs
    code: CodeSnapshots
    identities: UserIdentities
    secrets: SecretsAtLaunch = field(init=False)
    _line: list[_Waiting] = field(default_factory=list)
    _work: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.secrets = SecretsAtLaunch(self.world)

    async def order(self, effect: Launch, nodes: Mapping[str, Node]) -> LaunchOrder | None:
        """The order for the cluster; None for a run that was stopped or told to leave in the meantime.

        Raises Unresolvable, Absent, and what the store raises.
        """
        waiting = _Waiting(effect, nodes, asyncio.get_running_loop().create_future())
        self._line.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._read_all(), name="orders of runs that start")
        made = await waiting.answer
        order = None if made is None else await self._with_haienv(await self._with_identity(made), effect)
        if made is None or order is None:
            return None
        order = await self.runtime_envs.pinning.with_view(order, made.groups)
        order = await self.code.order_with(order, made.task.user, made.spec)
        return await self.secrets.order_with(order, made.task, made.run, made.spec)

    async def _with_identity(self, made: _Made) -> _Made:
        """Return it with an order that says who the ranks are. Raises NoIdentity."""
        identity = await self.identities.at_launch(made.task.user, made.spec)
        return replace(made, order=replace(made.order, identity=identity))

    async def _with_haienv(self, made: _Made, effect: Launch) -> LaunchOrder | None:
        """Return the order with its environment of haienv, which is looked at outside of any transaction."""
        pinning, chosen = self.runtime_envs.pinning, made.spec.haienv
        if chosen is None:
            order = pinning.order_with(made.order, None, made.spec.env, made.groups)
            build = builds.of_task(made.spec.env, made.spec.command)
            if build is None:
                return order
            account = pinning.builder.account_for(build.environment)
            return await self._of_build(pinning.order_of_build(order, build, made.groups), account)
        pin = await pinning.at_launch(made.task.user, made.groups, chosen, made.run.haienv)
        if made.run.haienv is None:
            # Before anything starts: a repeated launch of the run must use the same generation for all ranks.
            async with self.store.write() as tx:
                task = await tx.tasks.get(effect.task_id)
                run = task.live_run
                if not still_wanted(run, effect):
                    return None
                await tx.tasks.save(replace(task, run=replace(run, haienv=pin)))
        return pinning.order_with(made.order, pin, made.spec.env, made.groups)

    async def _of_build(self, order: LaunchOrder, account: str | None) -> LaunchOrder:
        """Return the order of a build; one that runs as another account has folders of that account."""
        if account is None:
            return order
        folder = f"{self.world.locations.checkpoint_root}/{account}/{order.task_id}"
        return replace(
            order,
            env={**order.env, "HAI_CHECKPOINT_DIR": folder, "HAI_LOG_DIR": f"{folder}-logs"},
            identity=await self.identities.of_builds(account, order.haienv_writes or "", order.identity),
            folders_of=account,
        )

    async def _read_all(self) -> None:
        while self._line:
            taken, self._line = self._line, []
            try:
                await self._read(taken)
            except Exception as error:  # noqa: BLE001 - the waiting callers get it
                for waiting in taken:
                    _fail(waiting, error)
            finally:
                for waiting in taken:
                    waiting.answer.cancel()

    async def _read(self, taken: Sequence[_Waiting]) -> None:
        async with self.store.read() as tx:
            found = await tx.tasks.with_specs({waiting.effect.task_id for waiting in taken})
            for waiting in taken:
                try:
                    order = await self._made(tx, waiting, found.get(waiting.effect.task_id))
                except Exception as error:  # noqa: BLE001 - as above
                    _fail(waiting, error)
                else:
                    if not waiting.answer.done():
                        waiting.answer.set_result(order)

    async def _made(self, tx: Tx, waiting: _Waiting, found: tuple[Task, TaskSpec] | None) -> _Made | None:
        effect = waiting.effect
        if found is None:
            raise Absent(f"there is no task {effect.task_id}")
        task, spec = found
        run = task.live_run
        if not still_wanted(run, effect):
            return None
        around = await self.runtime_envs.at_launch(tx, task, spec)
        own, spec = spec, replace(spec, env={**around.variables, **spec.env})
        gpus = tuple(rank.gpus for rank in run.ranks)
        gpus_per_node = _gpus_per_node(run, waiting.nodes)
        order = LaunchOrder(
            run_id=run.id,
            task_id=task.id,
            user=task.user,
            nodes=run.nodes,
            gpus=gpus if any(gpus) else (),
            command=spec.command,
            cwd=spec.cwd,
            env=rank_env(task, run, spec, self.world.locations, gpus_per_node=gpus_per_node),
            ranks_per_node=max(1, gpus_per_node) if spec.ranks_per_node == "gpu" else spec.ranks_per_node,
            profile=task.profile.value,
            token=self.tokens.make(run.id),
            group=task.group,
            grace=task.grace,
            signal=task.signal,
            patience=min(task.grace, self.policies.of(task.group).patience),
            # The folder that the task names is a named place too; the one that it gets otherwise is none.
            watch=spec.watch if spec.checkpoint_dir is None else (*spec.watch, spec.checkpoint_dir),
            checkpoint=None if task.checkpoint is None else task.checkpoint.path,
            image=around.image,
            python=around.python,
            mounts=around.mounts,
            fabric=around.fabric,
            origin=run.origin,
        )
        return _Made(order=order, task=task, run=run, spec=own, groups=around.groups)


def _fail(waiting: _Waiting, error: Exception) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(error)


def still_wanted(run: Run | None, effect: Launch) -> TypeGuard[Run]:
    """True if the run of the effect still has to start."""
    return run is not None and run.id == effect.run_id and run.notice is None and run.killed_at is None


def _gpus_per_node(run: Run, nodes: Mapping[str, Node]) -> int:
    """The least number of GPUs of a rank: those that it was given, else all of its node (U2)."""
    held = (len(rank.gpus) or nodes[rank.node].gpus for rank in run.ranks if rank.gpus or rank.node in nodes)
    return min(held, default=0)
