"""The common part of both spawners: sizes, limits, environments, and the decision whether a server starts."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Final
from uuid import uuid4

from hai_client.wire.storage import ContainerConfig, ContainerEnvironment
from hai_spawner.containers.container_config import NOTHING, ContainerConfigError, environment_of, places_of
from hai_spawner.containers.form import render
from hai_spawner.containers.haienv_paths import haienv_variables, joined
from hai_spawner.containers.menu import Refusal, SizeOption, Why, choose, menu
from hai_spawner.containers.options import checked_options
from hai_spawner.containers.refused import spawn_exception
from hai_spawner.containers.settings import SpawnerSettings
from hai_spawner.containers.telling import UseTeller
from hai_spawner.sizes.allocations import Allocation, Allocations
from hai_spawner.sizes.capacity import NodeCapacity
from hai_spawner.sizes.catalogue import Person, Size

#: Arguments of JupyterLab on a platform: no requests to other sites, no installation of extensions from the browser.
LAB_ARGUMENTS: Final = (
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
_STATE: Final = "hai"


class HaiSpawnerMixin(SpawnerSettings):
    """Adds sizes, limits, environments and folders of development containers to a spawner class.

    The decision is made in `run_pre_spawn_hook`. The Hub calls that for every start, from the page or by REST, after an
    administrator's hooks and before it reads `start_timeout`.
    """

    allocations: ClassVar[Allocations] = Allocations()  #: The grants of all servers of this Hub.
    teller: ClassVar[UseTeller] = UseTeller(allocations)  #: Tells the scheduler service of them.

    # Attributes of the spawner class behind this one.
    name: str
    user: Any
    user_options: dict[str, Any]
    orm_spawner: Any
    log: Any

    _size: Size | None = None
    _environment: ContainerEnvironment | None = None
    _container_config: ContainerConfig = NOTHING
    _notes: tuple[str, ...] = ()

    # What a user is offered.

    def person(self) -> Person:
        """Return the owner of the server, with groups and roles."""
        groups = list(getattr(self.user, "groups", ()))
        roles = [*getattr(self.user, "roles", ()), *(role for group in groups for role in group.roles)]
        return Person(
            name=self.user.name,
            groups=frozenset(group.name for group in groups),
            roles=frozenset(role.name for role in roles),
            admin=bool(getattr(self.user, "admin", False)),
        )

    async def rooms(self) -> Sequence[NodeCapacity] | None:
        """Return what is free for a new server; None: not known, so free capacity is not checked."""
        return None

    async def container_config(self) -> ContainerConfig:
        """Return the folders and environments of the user.

        Raises:
            Refusal: The scheduler service gives none, and `without_scheduler` is `refuse`, or the service refused the
                user.
        """
        if not self.ask_scheduler:
            return NOTHING
        person = self.person()
        try:
            return await places_of(
                self.scheduler_api_url,
                self.scheduler_token_file,
                user=person.name,
                groups=person.groups,
                node_group=self.node_group,
            )
        except ContainerConfigError as error:
            self.log.warning("No mounts and environments for %s: %s", person.name, error)
            if self.without_scheduler == "proceed" and not error.wrong:
                warning = f"Starting WITHOUT your folders and environments: {error}."
                return replace(NOTHING, warnings=(warning,))
            retry = "" if error.wrong else " Try again in a moment, and tell an administrator if it lasts."
            raise Refusal(
                Why.SCHEDULER,
                f"Your folders could not be found out, and without them nothing is started: {error}.{retry}",
            ) from error

    @property
    def node_group(self) -> str:
        """The node group that the server runs in."""
        return "jupyter"

    def offers(self, rooms: Sequence[NodeCapacity] | None) -> tuple[SizeOption, ...]:
        """Return the sizes that the user may use, each with the reason why it cannot start now."""
        others = self.allocations.others(self.user.name, self.name)
        return menu(self.person(), self.known_sizes().values(), self.known_limits(), others, rooms)

    async def form(self) -> str:
        """Return the form of the spawn page as HTML; empty if there is nothing to choose."""
        sizes = self.known_sizes()
        notice = ""
        try:
            container_config = await self.container_config()
            notice = " ".join(container_config.warnings)
        except Refusal as refusal:
            container_config, notice = NOTHING, refusal.message
        if not (sizes or container_config.environments or notice):
            return ""
        offers = self.offers(await self.rooms() if sizes else None)
        try:
            last = checked_options(self.user_options or {}, self.option_keys)
        except Refusal:
            last = {}
        return render(
            offers,
            container_config.environments,
            sized=bool(sizes),
            default=self.default_size,
            last=last,
            notice=notice,
        )

    # A start.

    async def run_pre_spawn_hook(self) -> None:
        """Decide whether the server starts and in which size, then run the administrator's hook.

        Raises:
            SpawnException: The server does not start; the message says why, and what would.
        """
        try:
            await self.decide()
        except Refusal as refusal:
            if refusal.why in (Why.OPTIONS, Why.FORBIDDEN):
                self._remember({})
            raise spawn_exception(refusal) from None
        after = super().run_pre_spawn_hook()
        if inspect.isawaitable(after):
            await after

    async def decide(self) -> None:
        """Check the options, record the grant, and set the spawner up for it.

        Raises:
            Refusal: The server does not start.
        """
        options = checked_options(self.user_options or {}, self.option_keys)
        await self.read_options(options)
        container_config = await self.container_config()
        environment = _environment(container_config, options.get("environment"))
        sizes = self.known_sizes()
        rooms = await self.rooms() if sizes else None
        # No await from here until the grant is recorded: two starts at once must not get the same last GPU.
        size = None
        if sizes:
            size = choose(self.offers(rooms), sizes, options.get("profile"), self.default_size)
        elif "profile" in options:
            raise Refusal(Why.OPTIONS, f"profile is {options['profile']!r}: there are no sizes here; leave it out.")
        person = self.person()
        grant = Allocation(
            user=person.name,
            server=self.name,
            size=size.name if size else "",
            groups=person.groups,
            devices=self.devices_for(size),
            id=uuid4().hex,
            started_at=datetime.now(UTC).isoformat(),
            node_group=self.node_group,
            gpus=size.count if size and size.resource is not None else 0,
            cpus=float(size.cpu if size else self.cpu_guarantee or self.cpu_limit or 0),
        )
        self.allocations.add(grant)
        self._begin_to_tell()
        self.teller.began(grant)
        self._container_config = container_config
        self.take(size, environment)
        self._remember({**options, "profile": size.name} if size else options)
        self._notes = tuple(_notes(size, environment, container_config))

    async def read_options(self, options: Mapping[str, str]) -> None:
        """Read the options that a subclass adds. Raises Refusal: an option is wrong."""

    def devices_for(self, size: Size | None) -> tuple[int, ...]:  # noqa: ARG002 - for subclasses
        """Return the indices of the GPUs that a server of this size gets, if the spawner assigns them itself."""
        return ()

    def take(self, size: Size | None, environment: ContainerEnvironment | None) -> None:
        """Set the spawner up for a size and an environment. Configured values are replaced, never changed in place."""
        self._size, self._environment = size, environment
        if size is None:
            return
        self.cpu_guarantee, self.cpu_limit = float(size.cpu), float(size.cpu_limit)
        self.mem_guarantee = self.mem_limit = int(size.memory)
        if size.start_timeout is not None:
            self.start_timeout = size.start_timeout

    def _remember(self, options: dict[str, Any]) -> None:
        """Store the options: the Hub shows them, and uses them for the next start if that names none."""
        self.user_options = options
        if self.orm_spawner is not None:
            self.orm_spawner.user_options = options

    # What the Hub asks of a spawner.

    def get_args(self) -> list[str]:
        """Return the server's arguments: the platform's settings of JupyterLab, then the configured ones, which win."""
        return [*LAB_ARGUMENTS, *super().get_args()]

    def get_env(self) -> dict[str, str]:
        """Return the server's variables: the Hub's, the platform's, the chosen environment's; the first wins."""
        env: dict[str, str] = super().get_env()
        for key, value in self._platform_env().items():
            env.setdefault(key, value)
        for key, value in (self._environment.variables if self._environment else {}).items():
            env.setdefault(key, value)
        if self.haienv_root:
            person = self.person()
            own = haienv_variables(self.haienv_root, person.name, person.groups)
            # An administrator's own folders come first.
            own["JUPYTER_PATH"] = joined(env.pop("JUPYTER_PATH", None), own["JUPYTER_PATH"])
            for key, value in own.items():
                env.setdefault(key, value)
        return env

    def _platform_env(self) -> dict[str, str]:
        env = {
            "HAI_URL": self.hai_url,
            "HAI_API_URL": self.hai_api_url,
            "HAI_CULLER_URL": self.culler_url,
            "HAI_IDLE_KEEP": ",".join(self.keep),
            "HAI_SIZE": self._size.name if self._size else "",
            "HAI_ENVIRONMENT": self._environment.name if self._environment else "",
            "HAI_PYTHON": (self._environment.python or "") if self._environment else "",
        }
        return {key: value for key, value in env.items() if value}

    def get_state(self) -> dict[str, Any]:
        """Return the state that the Hub keeps over a restart, with the grant."""
        state: dict[str, Any] = super().get_state()
        if grant := self.allocations.get(self.user.name, self.name):
            state[_STATE] = grant.to_state()
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore the grant of a server that ran before the Hub was started."""
        super().load_state(state)
        if kept := state.get(_STATE):
            self.allocations.add(Allocation.from_state(self.user.name, self.name, kept))
            self._begin_to_tell()

    def clear_state(self) -> None:
        """Remove the grant: the server is gone or has not started."""
        super().clear_state()
        grant = self.allocations.get(self.user.name, self.name)
        self.allocations.remove(self.user.name, self.name)
        if grant is not None:
            self.teller.ended(grant)

    def _begin_to_tell(self) -> None:
        self.teller.begin(self.scheduler_api_url, self.scheduler_token_file, self.log)

    def first_words(self) -> Iterator[dict[str, Any]]:
        """Yield the messages that the page shows as soon as a server starts."""
        for note in self._notes:
            yield {"progress": 5, "message": note}

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the messages that the page shows while the server starts."""
        for event in self.first_words():
            yield event
        async for event in super().progress():
            yield event


def _environment(container_config: ContainerConfig, name: str | None) -> ContainerEnvironment | None:
    found = environment_of(container_config, name)
    if found is None and name is not None:
        names = ", ".join(environment.name for environment in container_config.environments)
        remedy = f"use one of {names}" if names else "leave it out"
        raise Refusal(Why.OPTIONS, f"environment is {name!r}: there is none of that name for you; {remedy}.")
    return found


def _notes(
    size: Size | None, environment: ContainerEnvironment | None, container_config: ContainerConfig
) -> Iterator[str]:
    if size is not None:
        yield f"Size {size.name}: {size.summary}"
    if environment is not None:
        yield f"Environment {environment.name}"
    yield from container_config.warnings
