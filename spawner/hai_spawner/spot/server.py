"""Run a JupyterLab server as a task: submit the task, wait for its turn, start the server, and restore it later.

The task's command (`hai_client.spot`) calls the Hub (`hai_hub.config.spot_handler`) whenever a run of it is up, and the
Hub asks this object what to run. So the Hub never has to reach a run, and after a restart of the Hub, the service or
the run the same call is made again.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from jupyterhub.spawner import SpawnException
from traitlets import CaselessStrEnum, Float, Integer, List, Unicode, default
from traitlets.config import LoggingConfigurable

from hai_client.constants import SPOT
from hai_spawner.spot.limit import beside_the_limit
from hai_spawner.spot.options import PRIORITIES, SpotOptions
from hai_spawner.spot.scheduler import Scheduler, SchedulerError, Tokens
from hai_spawner.spot.state import SpotRecord, SpotRegistration, ending, exit_status, has_ended, serves, waiting_line

#: Variables that are not sent to the run: the values of the rank's own environment are right on its node.
_NODES_OWN: Final = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
#: Seconds between two tries to stop a task, and the number of tries.
_STOP_AGAIN_S: Final = 1.0
_STOP_TRIES: Final = 3
#: Seconds to wait for the end of a stopped task.
_STOP_WAIT_S: Final = 40.0


class SpotServer(LoggingConfigurable):
    """The spot container of one server of one user.

    Args:
        spawner: The spawner of that server.
    """

    group = Unicode("training", config=True, help="The node group of spot containers.")
    priority = CaselessStrEnum(
        PRIORITIES, "LOW", config=True, help="The priority of spot containers for which the user chooses none."
    )
    grace = Float(
        300.0,
        config=True,
        help="Seconds that a user has to save after the notice. The node group's maximum (max_grace) limits it.",
    )
    start_timeout = Integer(
        86_400, config=True, help="Seconds that a spot container may wait in the queue before its task is stopped."
    )
    poll_interval = Integer(10, config=True, help="Seconds between two checks of a spot container that is up.")
    look_every = Float(3.0, config=True, help="Seconds between two checks of a task that waits for its turn.")
    command = List(
        Unicode(),
        config=True,
        help="The command of the task, which must start hai_client.spot (default: with this Python on one machine, "
        "with python3 in pods).",
    )
    cwd = Unicode("", config=True, help="Folder that the server starts in; empty: the user's home, or / in pods.")
    port = Integer(0, config=True, help="Port of the server on its node; 0: any free one.")
    hub_url = Unicode("", config=True, help="Address of the Hub as training nodes reach it; empty: as servers do.")

    tokens: ClassVar[Tokens] = Tokens()  #: Tokens of all users.

    def __init__(self, spawner: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spawner = spawner
        self.options: SpotOptions | None = None
        self.record: SpotRecord | None = None
        #: Whether a start is waiting, or was cancelled by the Hub while it waited.
        self.starting = False
        self._door: asyncio.Future[SpotRegistration] | None = None
        self._generation = ""
        #: The run that has reported the end of its server.
        self._left: str | None = None

    @default("command")
    def _default_command(self) -> list[str]:
        return [sys.executable, "-P", "-m", "hai_client.spot"]

    @property
    def defaults(self) -> SpotOptions:
        """The options for what a request leaves out."""
        return SpotOptions(priority=self.priority, group=self.group, grace_s=self.grace)

    # -- start ------------------------------------------------------------------------------------

    async def start(self) -> str:
        """Take or submit the task, and wait for its turn and for its run to call the Hub; returns the server's URL.

        Raises:
            SpawnException: The task was refused, or has ended; the message says why.
        """
        self.starting, self._left = True, None
        self._generation = secrets.token_hex(8)
        self._door = asyncio.get_running_loop().create_future()
        try:
            await self._sure_of_task()
            with beside_the_limit(self.spawner.handler):
                registration = await self._knocked(self._door)
        finally:
            self._door = None
        self.starting = False
        self._keep(replace(self._known, run=registration.run, generation=self._generation))
        self._look_often()
        return registration.url

    async def _sure_of_task(self) -> None:
        having = asyncio.ensure_future(self._have_task())
        try:
            await asyncio.shield(having)
        except asyncio.CancelledError:
            # The start was cancelled: a task that is being submitted just now must not start the server later.
            with contextlib.suppress(SchedulerError):
                await having
                await self.give_up()
            raise
        except SchedulerError as error:
            # A task from before keeps its place in the queue.
            self.starting = False
            if not error.temporary:
                # The next start must not repeat the refused options by itself.
                self.spawner._remember({})
            raise _refused(error) from None

    async def _have_task(self) -> None:
        """Use the task from before if its options are the same; else stop that task and submit a new one."""
        assert self.options is not None
        asked = self.options.to_user_options()
        if self.record is not None:
            task = await self.scheduler.task(self.record.task)
            if not has_ended(task) and self.record.asked == asked:
                assert task is not None
                if task["held"]:
                    await self.scheduler.resume(self.record.task)
                return
            if not has_ended(task):
                await self.scheduler.stop(self.record.task)
            self._keep(None)
        task_id = await self.scheduler.submit(self.task_body(), secrets.token_hex(16))
        self.log.info("Spot container of %s is task %d", self.spawner._log_name, task_id)
        self._keep(SpotRecord(task=task_id, asked=asked))

    def task_body(self) -> dict[str, Any]:
        """Return the body of the submission. It holds no secret, because other users may be allowed to see the task."""
        assert self.options is not None
        options = self.options
        body: dict[str, Any] = {
            "name": f"{SPOT}-{self.spawner.name}" if self.spawner.name else SPOT,
            "command": self.command,
            "cwd": self.spawner.spot_cwd(self.cwd),
            "nodes": 1,
            "gpus": options.gpus,
            "priority": options.priority,
            "group": options.group,
            "grace_s": options.grace_s,
            # Only the launcher gets the signal, not the server.
            "profile": "sigterm",
            "env": {
                "HAI_SPOT_URL": _door_url(self.spawner, self.hub_url),
                "HAI_SPOT_SERVER": self.spawner.name,
                "HAI_SPOT_PORT": str(self.port),
            },
            "tags": [SPOT],
        }
        if options.environment is not None:
            body["environment"] = options.environment
        return body

    async def _knocked(self, door: asyncio.Future[SpotRegistration]) -> SpotRegistration:
        while True:
            done, _ = await asyncio.wait({door}, timeout=self.look_every)
            if done:
                return door.result()
            try:
                task = await self.scheduler.task(self._known.task)
            except SchedulerError as error:
                self.log.debug("Task %d cannot be looked at: %s", self._known.task, error)
                continue
            if has_ended(task):
                self._keep(None)
                self.starting = False
                raise SpawnException(ending(task), reason="spot_ended", status_code=409)

    # -- what a run asks --------------------------------------------------------------------------

    def knock(self, run: str, address: str, port: int, generation: str | None) -> dict[str, Any] | None:
        """Answer a run of the task that calls the Hub.

        Args:
            run: Id of the run.
            address: Address of its rank 0, from the scheduler service.
            port: Port that the server on that node listens on or will listen on.
            generation: Generation (start) of the server that runs there already; None: no server runs.

        Returns:
            Generation, command and environment to run; only the generation if the right server runs already; None if
            the Hub is not ready for the run.
        """
        registration = SpotRegistration(run=run, address=address, port=port, generation=generation)
        if self._door is not None:
            if not self._door.done():
                self._door.set_result(registration)
            return self._orders(registration, self._generation)
        record = self.record
        if (
            record is None
            or record.run != registration.run
            or record.generation is None
            or self._left == registration.run
        ):
            return None
        if registration.generation == record.generation:
            return {"generation": record.generation}
        # The last answer was lost. After a restart of the Hub the server's token is unknown, so there is no answer.
        return self._orders(registration, record.generation) if self.spawner.api_token else None

    def _orders(self, registration: SpotRegistration, generation: str) -> dict[str, Any]:
        spawner = self.spawner
        spawner.ip, spawner.port = registration.bind_ip, registration.port
        env = {key: value for key, value in spawner.get_env().items() if isinstance(value, str)}
        for name in _NODES_OWN:
            env.pop(name, None)
        return {"generation": generation, "command": [*spawner.cmd, *spawner.get_args()], "env": env}

    def leave(self, run: str) -> None:
        """Note that a run has reported the end of its server."""
        self._left = run

    # -- while it is up, and its end --------------------------------------------------------------

    async def poll(self) -> int | None:
        """Return None while the server is up or its start waits, else an exit status.

        A server whose task waits for its next turn is not up: the Hub stops counting it, and the task keeps its place.
        """
        record = self.record
        if record is None or (record.run is None and not self.starting) or (record.run and record.run == self._left):
            return 0
        try:
            task = await self.scheduler.task(record.task)
        except SchedulerError as error:
            # The service may not answer for a moment, while the server still runs.
            self.log.warning("Whether %s is up cannot be asked: %s", self.spawner._log_name, error)
            return None
        if has_ended(task):
            self.record = None
            return exit_status(task)
        assert task is not None
        return None if record.run is None or serves(task, record.run) else 0

    async def stop(self) -> None:
        """Stop the task for good, and wait until its server is gone.

        Raises:
            SchedulerError: The service does not answer; the task is kept.
        """
        record, self.starting = self.record, False
        if record is None:
            return
        await self.give_up()
        ends = asyncio.get_running_loop().time() + _STOP_WAIT_S
        while asyncio.get_running_loop().time() < ends and not (record.run and record.run == self._left):
            try:
                if has_ended(await self.scheduler.task(record.task)):
                    break
            except SchedulerError as error:
                self.log.debug("Task %d cannot be looked at: %s", record.task, error)
            await asyncio.sleep(0.5)

    async def give_up(self) -> None:
        """Stop the task, if there is one, and forget it.

        Raises:
            SchedulerError: The service does not answer; the task is kept.
        """
        if self.record is None:
            return
        for attempt in range(_STOP_TRIES):
            try:
                await self.scheduler.stop(self.record.task)
                break
            except SchedulerError as error:
                if not error.temporary or attempt + 1 == _STOP_TRIES:
                    raise
                await asyncio.sleep(_STOP_AGAIN_S)
        self._keep(None)

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the messages for the page: why the task waits, whenever that changes, and that the server starts."""
        if self.options is not None:
            yield {"progress": 5, "message": self.options.sentence}
        shown = ""
        while True:
            event = await _event(self.scheduler, self.record)
            if event is not None and event["message"] != shown:
                shown = event["message"]
                yield event
            await asyncio.sleep(self.look_every)

    # -- state ------------------------------------------------------------------------------------

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler service, with requests in the owner's name."""
        return Scheduler(self.spawner.scheduler_api_url, self.spawner.user, self.tokens)

    @property
    def _known(self) -> SpotRecord:
        assert self.record is not None
        return self.record

    def _keep(self, record: SpotRecord | None) -> None:
        """Store the task in the Hub's database at once, so that a restarted Hub finds it."""
        self.record = record
        self.spawner.orm_spawner.state = self.spawner.get_state()
        self.spawner.user.db.commit()

    def load(self, state: Mapping[str, Any] | None) -> None:
        """Restore the task from the Hub's state."""
        self.record = SpotRecord.from_state(state) if state else None
        if self.record is not None and self.record.run is not None:
            self._look_often()

    def _look_often(self) -> None:
        """Shorten the Hub's poll interval, so that an end without a report is noticed soon."""
        self.spawner.poll_interval = min(self.spawner.poll_interval, self.poll_interval)


def _refused(error: SchedulerError) -> SpawnException:
    """Return a refusal of the service as JupyterHub's exception."""
    text = str(error).rstrip(".")
    if error.temporary:
        text += ". Try again in a moment, and tell an administrator if it lasts"
    status = 503 if error.status is None else error.status
    return SpawnException(f"{text}.", reason="spot_refused", status_code=status)


def _door_url(spawner: Any, hub_url: str) -> str:
    """Return the address at which a run calls the Hub, which is `hub_url` if nodes need another than servers."""
    base = hub_url or spawner.hub_connect_url or spawner.hub.url
    if not hub_url and spawner.hub_connect_url:
        base = base.rstrip("/") + spawner.hub.base_url
    return f"{base.rstrip('/')}/hai/spot"


async def _event(scheduler: Scheduler, record: SpotRecord | None) -> dict[str, Any] | None:
    """Return what the page shows of a start now; None: nothing new."""
    if record is None:
        return None
    try:
        explained = await scheduler.explain(record.task)
    except SchedulerError as error:
        return {"progress": 10, "message": f"The scheduler cannot be asked now: {error}. The place is kept."}
    if explained is None:
        return None
    if explained["state"] in ("queued", "suspended"):
        return {"progress": 10, "message": waiting_line(explained)}
    if record.run is None:
        return {"progress": 60, "message": f"Task {record.task} has got its node; its launcher starts"}
    return {"progress": 80, "message": "JupyterLab is starting"}
