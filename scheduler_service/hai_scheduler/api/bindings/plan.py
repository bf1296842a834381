"""Decides which models client and panel get, under which names, and in which files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hai_scheduler.api.bindings import asked, constants, python, typescript
from hai_scheduler.api.bindings.catalogue import Model, read
from hai_scheduler.api.wire import (
    audit,
    cluster,
    costs,
    environments,
    events,
    explain,
    fabrics,
    logs,
    metrics,
    notifications,
    overview,
    people,
    platform,
    policy,
    problem,
    profiles,
    quota,
    reports,
    runs,
    secrets,
    snapshots,
    storage,
    tasks,
)
from hai_scheduler.service.tasks.asked_fields import asked_fields
from hai_scheduler.service.tasks.submission import Submission

#: Answers and bodies that the client knows; models that they refer to are written too.
CLIENT: Final[Sequence[type]] = (
    Submission,
    tasks.TaskDetail,
    tasks.TaskPage,
    runs.RunList,
    logs.LogPage,
    logs.LogHits,
    metrics.TaskSeriesOut,
    profiles.RecordingList,
    metrics.ClusterUseOut,
    events.EventPage,
    cluster.NodeList,
    cluster.ClusterOut,
    cluster.HealthOut,
    quota.QuotaList,
    quota.MeOut,
    explain.ExplainOut,
    explain.DecisionPage,
    explain.ForecastOut,
    policy.PolicyOut,
    policy.TrialOut,
    policy.TrialProgressOut,
    overview.OverviewOut,
    overview.QueueOut,
    cluster.MarkPreviewOut,
    tasks.TaskActionResults,
    storage.MountRuleList,
    fabrics.FabricList,
    fabrics.FabricTriedOut,
    environments.EnvironmentList,
    environments.EnvironmentDetail,
    storage.ContainerConfigOut,
    snapshots.SnapshotRules,
    snapshots.SnapshotState,
    reports.UsageReportOut,
    reports.NodesReport,
    costs.RateList,
    costs.BudgetList,
    people.UserList,
    people.UserDetail,
    people.ArchiveOut,
    audit.AuditPage,
    platform.PlatformHealth,
    platform.VersionsOut,
    notifications.NotificationRulesOut,
    notifications.NotificationPage,
    secrets.SecretList,
    secrets.ResealedOut,
)
#: The same for the panel.
PANEL: Final[Sequence[type]] = (
    problem.Problem,
    Submission,
    tasks.TaskDetail,
    tasks.TaskPage,
    logs.LogPage,
    logs.LogExtents,
    logs.LogHits,
    metrics.TaskSeriesOut,
    metrics.ClusterUseOut,
    events.EventOut,
    cluster.ClusterOut,
    cluster.NodeList,
    quota.MeOut,
    explain.ExplainOut,
    explain.DecisionPage,
    policy.PolicyOut,
    policy.PolicyTrial,
    policy.TrialOut,
    policy.TrialProgressOut,
    overview.OverviewOut,
    overview.QueueOut,
    cluster.NodeList,
    cluster.MarkPreviewIn,
    cluster.MarkPreviewOut,
    tasks.TagsPut,
    tasks.TaskActions,
    tasks.TaskActionResults,
    environments.EnvironmentList,
    environments.BuildSubmit,
    profiles.RecordingSubmit,
    profiles.RecordingList,
    reports.UsageReportOut,
    reports.NodesReport,
    problem.CollisionProblem,
    people.UserList,
    people.UserDetail,
    people.ArchiveOut,
    audit.AuditPage,
    platform.PlatformHealth,
    quota.QuotaList,
    storage.MountRuleList,
    costs.RateList,
    costs.BudgetList,
    notifications.NotificationRulesPut,
    notifications.NotificationRulesOut,
    notifications.NotificationPage,
    secrets.SecretList,
)
#: The client's names of models, where they are not the model's name without `Out`.
CLIENT_NAMES: Final[Mapping[str, str]] = {
    "TaskSubmit": "TaskRequest",
    "TaskDetail": "Task",
    "ExplainOut": "Explanation",
}
#: The same for the panel, without its prefix `I`.
PANEL_NAMES: Final[Mapping[str, str]] = {"ExplainOut": "Explanation"}
#: Fields (model, name) whose null has a meaning (no limit): the client refuses an answer without them.
ASKED: Final = frozenset({("QuotaOut", "limit"), ("OwnQuota", "limit")})

_BY: Final = "Written by `make reference` from the models of the service: change those, not this."
_CONSTANTS: Final = "Words, numbers and patterns that the service, the client and the panel have in common."
_ASKED: Final = "Fields of a submission that are asked for, and shown, by their definition alone."
_FIELDS: Final = f"""{_BY} Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire."""

#: The modules of `hai_client.wire`: first line, and modules of `api.wire` whose models each has.
_MODULES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "schema": (
        "Bodies that the service sends and accepts, as frozen dataclasses.",
        ("snapshot_ref", "submission", "tasks", "runs", "logs", "events", "cluster", "overview", "quota"),
    ),
    "identities": ("Who the processes of a user are, as frozen dataclasses.", ("identities",)),
    "explain": ("Explanations, decisions and forecasts, as frozen dataclasses.", ("explain",)),
    "metrics": ("The metrics of tasks, as frozen dataclasses.", ("metrics",)),
    "profiles": ("Recordings of running tasks, as frozen dataclasses.", ("profiles",)),
    "notifications": ("Notifications and rules of users, as frozen dataclasses.", ("notifications",)),
    "policy": ("Policy numbers, as frozen dataclasses.", ("policy",)),
    "reports": ("Reports, rates and budgets, as frozen dataclasses.", ("reports", "costs")),
    "people": (
        "Users, the audit and the platform's health for admins, as frozen dataclasses.",
        ("people", "audit", "platform"),
    ),
    "storage": (
        "Mount rules, fabrics, images, environments, snapshots and secrets, as frozen dataclasses.",
        ("storage", "fabrics", "environments", "snapshots", "secrets"),
    ),
}


def client_name(model: str) -> str:
    """Return the client's name of a model."""
    return CLIENT_NAMES.get(model, model.removesuffix("Out"))


def panel_name(model: str) -> str:
    """Return the panel's name of a model."""
    return f"I{PANEL_NAMES.get(model, model.removesuffix('Out'))}"


def files() -> dict[str, str]:
    """Return the text of every generated file, by its path from the root of the repository."""
    return {**_client(), **_panel()}


def _client() -> dict[str, str]:
    models = read(CLIENT)
    homes = {model.name: _home(model) for model in models}
    names = {model.name: client_name(model.name) for model in models}
    found = {
        f"client/hai_client/wire/{home}.py": python.module(
            f"{title}\n\n{_FIELDS}",
            [model for wanted in of for model in models if model.module == wanted],
            names=names,
            homes=homes,
            home=home,
            asked=ASKED,
        )
        for home, (title, of) in _MODULES.items()
    }
    return {
        **found,
        "client/hai_client/constants.py": constants.in_python(f"{_CONSTANTS}\n\n{_BY}"),
        "client/hai_client/cli/language/asked_fields.py": asked.in_python(f"{_ASKED}\n\n{_BY}", asked_fields()),
    }


def _home(model: Model) -> str:
    return next(home for home, (_, modules) in _MODULES.items() if model.module in modules)


def _panel() -> dict[str, str]:
    models = read(PANEL)
    names = {model.name: panel_name(model.name) for model in models}
    types = [
        f"/** Bodies that the service sends and accepts. {_BY} Times are RFC 3339, `_s` fields are seconds. */",
        "",
        constants.types_in_typescript(),
        typescript.interfaces(models, names=names, words=constants.WORDS),
        "",
    ]
    return {
        "lab_extension/src/api/constants.ts": constants.in_typescript(f"{_CONSTANTS} {_BY}"),
        "lab_extension/src/api/types.ts": "\n".join(types),
        "lab_extension/src/text/askedFields.ts": asked.in_typescript(f"{_ASKED} {_BY}", asked_fields()),
    }
