"""Which models the client and the panel read, what they call them, and in which files they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel

from hai_scheduler.api.bindings import constants, python, typescript
from hai_scheduler.api.bindings.catalogue import Model, read
from hai_scheduler.api.wire import cluster as cluster_schemas
from hai_scheduler.api.wire import events as events_schemas
from hai_scheduler.api.wire import explain as explain_schemas
from hai_scheduler.api.wire import logs as logs_schemas
from hai_scheduler.api.wire import policy as policy_schemas
from hai_scheduler.api.wire import problem as problem_schemas
from hai_scheduler.api.wire import quota as quota_schemas
from hai_scheduler.api.wire import runs as run_schemas
from hai_scheduler.api.wire import storage as storage_schemas
from hai_scheduler.api.wire import tasks as schemas

#: Answers and bodies that the client knows; the models that they need come with them.
CLIENT: Final[Sequence[type[BaseModel]]] = (
    schemas.TaskSubmit,
    schemas.TaskDetail,
    schemas.TaskPage,
    run_schemas.RunList,
    logs_schemas.LogPage,
    logs_schemas.LogHits,
    events_schemas.EventPage,
    cluster_schemas.NodeList,
    cluster_schemas.ClusterOut,
    cluster_schemas.HealthOut,
    quota_schemas.QuotaList,
    quota_schemas.MeOut,
    explain_schemas.ExplainOut,
    explain_schemas.DecisionPage,
    explain_schemas.ForecastOut,
    policy_schemas.PolicyOut,
    storage_schemas.MountRuleList,
    storage_schemas.EnvironmentList,
    storage_schemas.PlacesOut,
)
#: The same of the panel.
PANEL: Final[Sequence[type[BaseModel]]] = (
    problem_schemas.Problem,
    schemas.TaskSubmit,
    schemas.TaskDetail,
    schemas.TaskPage,
    logs_schemas.LogPage,
    logs_schemas.LogHits,
    events_schemas.EventOut,
    cluster_schemas.ClusterOut,
    quota_schemas.MeOut,
    explain_schemas.ExplainOut,
    explain_schemas.DecisionPage,
    policy_schemas.PolicyOut,
)
#: What the client calls a model, where that is not its name without `Out`.
CLIENT_NAMES: Final[Mapping[str, str]] = {
    "TaskSubmit": "TaskRequest",
    "TaskDetail": "Task",
    "ExplainOut": "Explanation",
    "OfferedEnvironment": "Offered",
}
#: The same of the panel, before its `I`.
PANEL_NAMES: Final[Mapping[str, str]] = {"ExplainOut": "Explanation"}
#: Fields (model, name) whose null has a meaning, so that the client refuses an answer without them: no limit.
ASKED: Final = frozenset({("QuotaOut", "limit"), ("OwnQuota", "limit")})

_BY: Final = "Written by `make reference` from the models of the service: change those, not this."
_CONSTANTS: Final = "Words, numbers and patterns that the service, the client and the panel have in common."
_FIELDS: Final = f"""{_BY} Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire."""

#: The client's modules of dataclasses: first line, and modules of the service whose models each has.
_MODULES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "schema": (
        "What the service sends and takes, as frozen dataclasses.",
        ("schemas", "run_schemas", "quota_schemas"),
    ),
    "explain_schema": ("Explanations, decisions and forecasts, as frozen dataclasses.", ("explain_schemas",)),
    "policy_schema": ("Policy numbers, as frozen dataclasses.", ("policy_schemas",)),
    "storage_schema": ("Mount rules and environments, as frozen dataclasses.", ("storage_schemas",)),
}


def client_name(model: str) -> str:
    """The client's name of a model."""
    return CLIENT_NAMES.get(model, model.removesuffix("Out"))


def panel_name(model: str) -> str:
    """The panel's name of a model."""
    return f"I{PANEL_NAMES.get(model, model.removesuffix('Out'))}"


def files() -> dict[str, str]:
    """Write every generated file; its text by its path from the root of the repository."""
    return {**_client(), **_panel()}


def _client() -> dict[str, str]:
    models = read(CLIENT)
    homes = {model.name: _home(model) for model in models}
    names = {model.name: client_name(model.name) for model in models}
    found = {
        f"client/hai_client/{home}.py": python.module(
            f"{title}\n\n{_FIELDS}",
            [model for wanted in of for model in models if model.module == wanted],
            names=names,
            homes=homes,
            home=home,
            asked=ASKED,
        )
        for home, (title, of) in _MODULES.items()
    }
    return {**found, "client/hai_client/constants.py": constants.in_python(f"{_CONSTANTS}\n\n{_BY}")}


def _home(model: Model) -> str:
    return next(home for home, (_, modules) in _MODULES.items() if model.module in modules)


def _panel() -> dict[str, str]:
    models = read(PANEL)
    names = {model.name: panel_name(model.name) for model in models}
    types = [
        f"/** What the service sends and takes. {_BY} Times are RFC 3339, `_s` fields are seconds. */",
        "",
        constants.types_in_typescript(),
        typescript.interfaces(models, names=names, words=constants.WORDS),
        "",
    ]
    return {
        "lab_extension/src/api/constants.ts": constants.in_typescript(f"{_CONSTANTS} {_BY}"),
        "lab_extension/src/api/types.ts": "\n".join(types),
    }
