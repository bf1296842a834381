"""The settings of both spawners, with their defaults and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from traitlets import Bool, CaselessStrEnum, Dict, List, TraitError, Unicode, default, validate
from traitlets.config import Config, Configurable

from hai_spawner.containers.menu import Refusal
from hai_spawner.containers.options import form_options
from hai_spawner.containers.refused import spawn_exception
from hai_spawner.sizes.catalogue import Size, parse_sizes
from hai_spawner.sizes.limits import Limit, parse_limits

if TYPE_CHECKING:
    # The class behind the mixin. At run time it is not Spawner, because JupyterHub refuses a Spawner without `start`.
    from jupyterhub.spawner import Spawner as _Behind
else:
    _Behind = Configurable


class SpawnerSettings(_Behind):
    """What an administrator sets: sizes, limits, addresses. Nothing here depends on a user or on what runs."""

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
    haienv_root = Unicode(
        "",
        config=True,
        help="Folder of all environments of haienv as the user's server sees it (HAIENV_ROOT); absolute. Their kernels "
        "are in JupyterLab's Launcher. Empty: the server's own default, and no kernels.",
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
        help="File with the token of the Hub service that may ask for mounts and environments, and tell which servers "
        "live for the ledger (hai-spawner). Empty: neither.",
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

    @validate("haienv_root")
    def _check_haienv_root(self, proposal: Any) -> Any:
        if proposal.value and (not proposal.value.startswith("/") or ":" in proposal.value):
            raise TraitError(f"haienv_root is {proposal.value!r}: give an absolute path without a colon")
        return proposal.value

    @default("scheduler_api_url")
    def _default_scheduler_api_url(self) -> str:
        return str(self.hai_api_url)

    @default("default_url")
    def _default_default_url(self) -> str:
        return "/lab"

    @default("options_form")
    def _default_options_form(self) -> Any:
        async def form(spawner: Any) -> str:
            return str(await spawner.form())

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

    def known_sizes(self) -> dict[str, Size]:
        """Return all sizes, by name."""
        return parse_sizes(self.sizes, setting=f"{type(self).__name__}.sizes")

    def known_limits(self) -> dict[str, Limit]:
        """Return the limits on numbers of servers, by name of the size. Raises ValueError: a limit is wrong."""
        return parse_limits(self.limits, list(self.known_sizes()), setting=f"{type(self).__name__}.limits")
