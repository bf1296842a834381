"""The common part of both spawners: sizes, limits, environments, and the decision whether a server starts."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from jupyterhub.spawner import SpawnException
from traitlets import Bool, CaselessStrEnum, Dict, List, TraitError, Unicode, default, validate
from traitlets.config import Config, Configurable

from hai_spawner.containers.form import render
from hai_spawner.containers.former_settings import FormerSettings
from hai_spawner.containers.menu import Refusal, SizeOption, Why, choose, menu
from hai_spawner.containers.options import checked_options, form_options
from hai_spawner.containers.places import Environment, Places, PlacesError, ask
from hai_spawner.sizes.allocations import Allocation, Allocations
from hai_spawner.sizes.capacity import NodeCapacity
from hai_spawner.sizes.catalogue import Person, Size, parse_sizes
from hai_spawner.sizes.limits import Limit, parse_limits

if TYPE_CHECKING:
    # The class behind the mixin. At run time it is not Spawner, because JupyterHub refuses a Spawner without `start`.
    from jupyterhub.spawner import Spawner as _Behind
else:
    _Behind = Configurable

#: Arguments of JupyterLab on a platform: no requests to other sites, no installation of extensions from the browser.
LAB_ARGUMENTS: Final = (
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
_STATE: Final = "hai"


class HaiSpawnerMixin(FormerSettings, _Behind):
    """Adds sizes, limits, environments and folders of development containers to a spawner class.

    The decision is made in `run_pre_spawn_hook`. The Hub calls that for every start, from the page or by REST, after an
    administrator's hooks and before it reads `start_timeout`.
    """

    sizes = Dict(
        config=True,
        help="""Sizes of development containers: a table for each size, by its name. Fields: title, description,
        cpu (cores, such as 2), cpu_limit, memory (such as 8Gi), resource (such as nvidia.com/gpu or
        nvidia.com/mig-1g.10gb), count, image, node_selector, allow (a table of groups, roles and admins; without
        it all users may), start_timeout (seconds), lifetime, longest and idle (such as 12h), order. Empty: no choice.
        """,
    )
    default_size = Unicode(
        "", config=True, help="The size of a server whose user chooses none; empty: the first that could start."
    )
    limits = Dict(
        config=True,
        help="""Most servers at once: a table for each size, and for * (all sizes together), with the numbers
        user (for one user), users (the same by name), group (for all members of a group together) and groups (the
        same by name). A server starts only if none of the limits that apply is used up.
        """,
    )
    hai_url = Unicode("", config=True, help="Address of the Hub as the user's server reaches it (HAI_URL).")
    hai_api_url = Unicode("", config=True, help="Address of the scheduler's REST interface (HAI_API_URL).")
    culler_url = Unicode(
        "",
        config=True,
        help="Address of the service that ends idle servers, as the user's server reaches it (HAI_CULLER_URL).",
    )
    keep = List(
        Unicode(),
        config=True,
        help="What counts as activity in the user's server: kernels (a busy one), terminals (an open one).",
    )
    ask_scheduler = Bool(
        False, config=True, help="Whether to ask the scheduler service for a user's folders and environments."
    )
    scheduler_api_url = Unicode(
        config=True, help="Address of the scheduler's REST interface as the Hub reaches it (default: hai_api_url)."
    )
    scheduler_token_file = Unicode(
        "",
        config=True,
        help="File with the token of the Hub service that may ask for mounts and environments (hai-spawner).",
    )
    without_scheduler = CaselessStrEnum(
        ["refuse", "proceed"],
        "refuse",
        config=True,
        help="What to do when the scheduler service does not answer: refuse to start, or proceed without the folders "
        "and tell the user.",
    )

    #: Options that a request may have. A subclass may add others.
    option_keys: ClassVar[frozenset[str]] = frozenset({"profile", "environment"})
    #: The grants of all servers of this Hub.
    ledger: ClassVar[Allocations] = Allocations()

    # Attributes of the spawner class behind this one.
    name: str
    user: Any
    user_options: dict[str, Any]
    orm_spawner: Any
    log: Any

    _size: Size | None = None
    _environment: Environment | None = None
    _places: Places = Places()
    _notes: tuple[str, ...] = ()

    @classmethod
    def check_config(cls, config: Config) -> None:
        """Check sizes and limits when the Hub starts.

        Raises:
            ValueError: A size or a limit is wrong; the message names the field, its value and the remedy.
        """
        found: dict[str, Any] = {"sizes": {}, "limits": {}, "default_size": ""}
        for section in (klass.__name__ for klass in reversed(cls.mro())):
            if section in config:
                found |= {name: config[section][name] for name in found if name in config[section]}
        sizes = parse_sizes(dict(found["sizes"]), setting=f"{cls.__name__}.sizes")
        parse_limits(dict(found["limits"]), list(sizes), setting=f"{cls.__name__}.limits")
        if found["default_size"] and found["default_size"] not in sizes:
            known = ", ".join(sizes) or "none are configured"
            message = f"{cls.__name__}.default_size is {found['default_size']!r}: there is no such size ({known})"
            raise ValueError(message)

    @validate("sizes")
    def _check_sizes(self, proposal: Any) -> Any:
        try:
            parse_sizes(proposal.value, setting=f"{type(self).__name__}.sizes")
        except ValueError as error:
            raise TraitError(str(error)) from error
        return proposal.value

    @default("scheduler_api_url")
    def _default_scheduler_api_url(self) -> str:
        return str(self.hai_api_url)

    @default("default_url")
    def _default_default_url(self) -> str:
        return "/lab"

    @default("options_form")
    def _default_options_form(self) -> Any:
        async def form(spawner: HaiSpawnerMixin) -> str:
            return await spawner.form()

        return form

    @default("options_from_form")
    def _default_options_from_form(self) -> Any:
        def read(form: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
            try:
                return form_options(form, self.option_keys)
            except Refusal as refusal:
                raise spawn_exception(refusal) from None

        return read

    @default("apply_user_options")
    def _default_apply_user_options(self) -> Any:
        # The Hub warns if options are not applied. `decide` applies them, after an administrator's hooks.
        return lambda _spawner, _options: None

    # What a user is offered.

    def known_sizes(self) -> dict[str, Size]:
        """Return all sizes, by name."""
        return parse_sizes(self.sizes, setting=f"{type(self).__name__}.sizes")

    def known_limits(self) -> dict[str, Limit]:
        """Return the limits on numbers of servers, by name of the size.

        Raises:
            ValueError: A limit is wrong.
        """
        return parse_limits(self.limits, list(self.known_sizes()), setting=f"{type(self).__name__}.limits")

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

    async def places(self) -> Places:
        """Return the folders and environments of the user.

        Raises:
            Refusal: The scheduler service gives none, and `without_scheduler` is `refuse`, or the service refused the
                user.
        """
        if not self.ask_scheduler:
            return Places()
        person = self.person()
        try:
            return await ask(
                self.scheduler_api_url,
                self.scheduler_token_file,
                user=person.name,
                groups=person.groups,
                node_group=self.places_group,
            )
        except PlacesError as error:
            self.log.warning("No places for %s: %s", person.name, error)
            if self.without_scheduler == "proceed" and not error.wrong:
                return Places(warnings=(f"Starting WITHOUT your folders and environments: {error}.",))
            retry = "" if error.wrong else " Try again in a moment, and tell an administrator if it lasts."
            message = f"Your folders could not be found out, and without them nothing is started: {error}.{retry}"
            raise Refusal(Why.SCHEDULER, message) from error

    @property
    def places_group(self) -> str:
        """The node group that the server runs in."""
        return "jupyter"

    def offers(self, rooms: Sequence[NodeCapacity] | None) -> tuple[SizeOption, ...]:
        """Return the sizes that the user may use, each with the reason why it cannot start now."""
        others = self.ledger.others(self.user.name, self.name)
        return menu(self.person(), self.known_sizes().values(), self.known_limits(), others, rooms)

    async def form(self) -> str:
        """Return the form of the spawn page as HTML; empty if there is nothing to choose."""
        sizes = self.known_sizes()
        notice = ""
        try:
            places = await self.places()
            notice = " ".join(places.warnings)
        except Refusal as refusal:
            places, notice = Places(), refusal.message
        if not (sizes or places.environments or notice):
            return ""
        offers = self.offers(await self.rooms() if sizes else None)
        try:
            last = checked_options(self.user_options or {}, self.option_keys)
        except Refusal:
            last = {}
        return render(
            offers, places.environments, sized=bool(sizes), default=self.default_size, last=last, notice=notice
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
        places = await self.places()
        environment = _environment(places, options.get("environment"))
        sizes = self.known_sizes()
        rooms = await self.rooms() if sizes else None
        # No await from here until the grant is recorded: two starts at once must not get the same last GPU.
        size = None
        if sizes:
            size = choose(self.offers(rooms), sizes, options.get("profile"), self.default_size)
        elif "profile" in options:
            raise Refusal(Why.OPTIONS, f"profile is {options['profile']!r}: there are no sizes here; leave it out.")
        person = self.person()
        self.ledger.add(
            Allocation(
                user=person.name,
                server=self.name,
                size=size.name if size else "",
                groups=person.groups,
                devices=self.devices_for(size),
            )
        )
        self._places = places
        self.take(size, environment)
        self._remember({**options, "profile": size.name} if size else options)
        self._notes = tuple(_notes(size, environment, places))

    async def read_options(self, options: Mapping[str, str]) -> None:
        """Read the options that a subclass adds.

        Raises:
            Refusal: An option is wrong.
        """

    def devices_for(self, size: Size | None) -> tuple[int, ...]:  # noqa: ARG002 - for subclasses
        """Return the indices of the GPUs that a server of this size gets, if the spawner assigns them itself."""
        return ()

    def take(self, size: Size | None, environment: Environment | None) -> None:
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
        if grant := self.ledger.get(self.user.name, self.name):
            state[_STATE] = grant.to_state()
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore the grant of a server that ran before the Hub was started."""
        super().load_state(state)
        if kept := state.get(_STATE):
            self.ledger.add(Allocation.from_state(self.user.name, self.name, kept))

    def clear_state(self) -> None:
        """Remove the grant: the server is gone or has not started."""
        super().clear_state()
        self.ledger.remove(self.user.name, self.name)

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


def spawn_exception(refusal: Refusal) -> SpawnException:
    """Return a refusal as JupyterHub's exception: shown as it is, counted by its reason, without a traceback."""
    return SpawnException(refusal.message, reason=str(refusal.why), status_code=refusal.status)


def _environment(places: Places, name: str | None) -> Environment | None:
    found = places.environment(name)
    if found is None and name is not None:
        names = ", ".join(environment.name for environment in places.environments)
        remedy = f"use one of {names}" if names else "leave it out"
        raise Refusal(Why.OPTIONS, f"environment is {name!r}: there is none of that name for you; {remedy}.")
    return found


def _notes(size: Size | None, environment: Environment | None, places: Places) -> Iterator[str]:
    if size is not None:
        yield f"Size {size.name}: {size.summary}"
    if environment is not None:
        yield f"Environment {environment.name}"
    yield from places.warnings
