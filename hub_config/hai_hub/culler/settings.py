"""The culler's settings as an administrator writes them, and their form as JSON for the culler's environment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from traitlets import Bool, List, TraitError, Unicode, default
from traitlets.config import Config, Configurable

from hai_client.durations import parse_duration
from hai_client.errors import Invalid
from hai_hub.culler.decision import CullPolicy

NEVER: Final = "never"
#: Words for `keep`. The culler itself looks at tasks; JupyterLab's server extension looks at kernels and terminals.
KEPT: Final = ("tasks", "kernels", "terminals")
#: Servers report activity to the Hub every 5 minutes (JUPYTERHUB_ACTIVITY_INTERVAL): owners of servers in use would see
#: a shorter warning for no reason.
_SHORTEST_WARNING: Final = timedelta(minutes=1)
#: Settings of spawners are found in these sections; the last one wins.
_SPAWNERS: Final = ("HaiSpawnerMixin", "HaiLocalSpawner", "HaiKubeSpawner")
_OF_A_SIZE: Final = ("lifetime", "longest", "idle")


@dataclass(frozen=True, slots=True, kw_only=True)
class CullPolicies:
    """The policies of all servers."""

    usual: CullPolicy = field(default_factory=CullPolicy)  #: Policy of servers whose size has none of its own.
    sizes: Mapping[str, CullPolicy] = field(default_factory=dict)  #: Policies by name of the size.

    def of(self, size: str) -> CullPolicy:
        """Return the policy of a size."""
        return self.sizes.get(size, self.usual)

    @property
    def asks_for_tasks(self) -> bool:
        """Whether any policy depends on who has live tasks."""
        return any(policy.keep_for_tasks and policy.idle is not None for policy in (self.usual, *self.sizes.values()))

    def to_json(self) -> str:
        """Return the policies as JSON, for an environment variable."""
        plain = {"usual": self.usual, **{f"size:{name}": policy for name, policy in self.sizes.items()}}
        return json.dumps({name: _plain(policy) for name, policy in plain.items()})

    @classmethod
    def from_json(cls, text: str) -> CullPolicies:
        """Return the policies from what `to_json` wrote."""
        read = {name: _policy(plain) for name, plain in json.loads(text).items()}
        sizes = {name.removeprefix("size:"): policy for name, policy in read.items() if name.startswith("size:")}
        return cls(usual=read["usual"], sizes=sizes)


def _plain(policy: CullPolicy) -> dict[str, Any]:
    return {
        name: value.total_seconds() if isinstance(value, timedelta) else value for name, value in asdict(policy).items()
    }


def _policy(plain: Mapping[str, Any]) -> CullPolicy:
    spans = {name: None if value is None else timedelta(seconds=value) for name, value in plain.items()}
    return CullPolicy(**spans | {"keep_for_tasks": bool(plain["keep_for_tasks"])})  # type: ignore[arg-type]


class HaiCulling(Configurable):
    """When servers end by themselves."""

    enabled = Bool(False, config=True, help="Whether servers end by themselves.")
    lifetime = Unicode(
        "24h",
        config=True,
        help="How long a server runs from its start or its last renewal; never: no limit. A size may have its own.",
    )
    longest = Unicode(
        NEVER,
        config=True,
        help="How long a server runs from its start, with all renewals; never: no limit. A size may have its own.",
    )
    idle = Unicode(
        "3h",
        config=True,
        help="How long a server may be idle before it ends; never: no limit. A size may have its own.",
    )
    warn = Unicode("10m", config=True, help="How long before its end a server's owner is warned in JupyterLab.")
    keep = List(
        Unicode(),
        config=True,
        help="What keeps a server from being idle: tasks (live tasks of its owner), kernels (a busy one), terminals "
        "(an open one).",
    )

    @default("keep")
    def _default_keep(self) -> list[str]:
        return ["tasks", "kernels"]

    def policies(self, config: Config) -> CullPolicies:
        """Return the configured policies, with those of sizes.

        Args:
            config: Configuration in which the spawner's `sizes` are found.

        Raises:
            ValueError: A setting is wrong; the message names the setting, its value and the remedy.
        """
        if unknown := [word for word in self.keep if word not in KEPT]:
            raise ValueError(f"HaiCulling.keep has {unknown[0]!r}: use {', '.join(KEPT)}")
        warn = _span("HaiCulling.warn", self.warn)
        if warn is None or warn < _SHORTEST_WARNING:
            raise ValueError(f"HaiCulling.warn is {self.warn!r}: give at least 1m")
        usual = CullPolicy(
            lifetime=_span("HaiCulling.lifetime", self.lifetime),
            longest=_span("HaiCulling.longest", self.longest),
            idle=_span("HaiCulling.idle", self.idle),
            warn=warn,
            keep_for_tasks="tasks" in self.keep,
        )
        return CullPolicies(usual=usual, sizes=dict(_of_sizes(config, usual)))

    @property
    def kept_in_the_server(self) -> list[str]:
        """The words of `keep` that JupyterLab's server extension looks at."""
        return [word for word in self.keep if word != "tasks"]


def read_culling(config: Config) -> HaiCulling:
    """Return the culler's settings from a configuration. Raises ValueError: a setting has the wrong type."""
    try:
        return HaiCulling(config=config)
    except TraitError as error:
        raise ValueError(f"HaiCulling: {error}") from error


def _of_sizes(config: Config, usual: CullPolicy) -> Iterable[tuple[str, CullPolicy]]:
    sizes: dict[str, Any] = {}
    where = ""
    for section in _SPAWNERS:
        if section in config and "sizes" in config[section]:
            sizes, where = dict(config[section]["sizes"]), f"{section}.sizes"
    for name, table in sizes.items():
        own = {
            key: _span(f"{where}[{name!r}].{key}", table[key])
            for key in _OF_A_SIZE
            if isinstance(table, Mapping) and table.get(key) is not None
        }
        if own:
            yield str(name), replace(usual, **own)  # type: ignore[arg-type]


def _span(where: str, text: object) -> timedelta | None:
    if text == NEVER:
        return None
    try:
        seconds = parse_duration(str(text), field=where)
    except Invalid as error:
        raise ValueError(str(error)) from error
    if seconds <= 0:
        raise ValueError(f"{where} is {text!r}: give a length of time, such as 12h, or never")
    return timedelta(seconds=seconds)
