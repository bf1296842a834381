"""Add spot containers to a spawner: servers that are tasks, beside the servers that the spawner starts itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hai_spawner.containers.menu import Refusal, Why
from hai_spawner.containers.refused import spawn_exception
from hai_spawner.spot.form import render_spot
from hai_spawner.spot.options import read_spot, spot_of_form, wants_spot
from hai_spawner.spot.scheduler import SchedulerError
from hai_spawner.spot.server import SpotServer

if TYPE_CHECKING:
    # The class behind the mixin.
    from hai_spawner.containers.mixin import HaiSpawnerMixin as _Behind
else:
    _Behind = object

_STATE: Final = "spot"


class SpotMixin(_Behind):
    """Comes before one of HAI's spawner classes, and handles requests and kept state of spot containers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.spot = SpotServer(self, parent=self)
        #: Whether this server is a spot container.
        self._is_spot = False

    def spot_cwd(self, configured: str) -> str:
        """Return the folder that a spot container starts in."""
        return configured or "/"

    # What is asked for.

    async def form(self) -> str:
        """Return the form with the choice of a spot container; empty for a default server without other choices."""
        form = await super().form()
        if not (form or self.name):
            return ""
        defaults, checked = self.spot.defaults, False
        if wants_spot(self.user_options):
            try:
                defaults, checked = read_spot(self.user_options, defaults), True
            except Refusal:
                checked = False
        waiting = self.spot.record.task if self.spot.record else None
        return form + render_spot(defaults, checked=checked, waiting=waiting)

    def run_options_from_form(self, form_data: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the options of the page's form."""
        return self._split(form_data, super().run_options_from_form)

    def options_from_query(self, query_data: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the options of a URL's query."""
        return self._split(query_data, super().options_from_query)

    def _split(self, form: Mapping[str, Sequence[Any]], read: Any) -> dict[str, Any]:
        try:
            spot, rest = spot_of_form(form)
        except Refusal as refusal:
            raise spawn_exception(refusal) from None
        options: dict[str, Any] = read(rest)
        if spot is None:
            return options
        # The page sends a size as well, but sizes do not apply to spot containers.
        options.pop("profile", None)
        return {**options, "spot": spot}

    async def decide(self) -> None:
        """Check the options of a spot container; other servers are decided by the classes behind.

        Raises:
            Refusal: The server does not start.
        """
        self._is_spot = wants_spot(self.user_options)
        if not self._is_spot:
            if isinstance(self.user_options, Mapping) and "spot" in self.user_options:
                self.user_options = {key: value for key, value in self.user_options.items() if key != "spot"}
            await super().decide()
            return
        if self.internal_ssl:
            raise Refusal(Why.OPTIONS, "spot: there are none on a Hub that encrypts its servers (internal_ssl).")
        options = read_spot(self.user_options, self.spot.defaults)
        self.spot.options = options
        self._remember(options.to_user_options())
        self.start_timeout = self.spot.start_timeout

    # What the Hub does with a server.

    async def start(self) -> Any:
        """Start the server, itself or by a task; returns its address.

        Raises:
            SpawnException: The server does not start; the message says why.
        """
        if self._is_spot:
            return await self.spot.start()
        try:
            await self.spot.give_up()
        except SchedulerError as error:
            text = f"This server's task in the queue cannot be stopped: {error}. Try again in a moment."
            raise spawn_exception(Refusal(Why.SCHEDULER, text)) from None
        return await super().start()

    async def poll(self) -> int | None:
        """Return None while the server is up, else an exit status."""
        return await self.spot.poll() if self._is_spot else await super().poll()

    async def stop(self, now: bool = False) -> None:
        """Stop the server; the task of a spot container is stopped for good."""
        if self._is_spot:
            await self.spot.stop()
        else:
            await super().stop(now)

    async def get_url(self) -> str:
        """Return the server's URL; for a spot container it is the one that the Hub has stored."""
        return str(self.server.url if self._is_spot else await super().get_url())

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the messages that the page shows while the server starts."""
        events = self.spot.progress() if self._is_spot else super().progress()
        async for event in events:
            yield event

    async def delete_forever(self) -> None:
        """Stop the server's task, because the server is being removed from the Hub."""
        try:
            await self.spot.give_up()
        except SchedulerError as error:
            self.log.warning("Task of %s is not stopped, it ends when its turn comes: %s", self._log_name, error)
        answer = super().delete_forever()
        if answer is not None:
            await answer

    # What the Hub keeps.

    def get_state(self) -> dict[str, Any]:
        """Return the state that outlives a restart of the Hub and the end of a turn, with the task."""
        state: dict[str, Any] = super().get_state()
        if self.spot.record is not None:
            state[_STATE] = self.spot.record.to_state()
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore the task of the server."""
        super().load_state(state)
        self.spot.load(state.get(_STATE))
        self._is_spot = self.spot.record is not None and self.spot.record.run is not None

    def clear_state(self) -> None:
        """Forget the run, because the server is not up. Its task, if there is one, goes on waiting."""
        super().clear_state()
        if self.spot.record is not None:
            self.spot.record = self.spot.record.without_run
