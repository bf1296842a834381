"""Converts explanations, decisions and forecasts into models of the wire, without names of other users' tasks."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.convert.tasks import holder_out, verdict_out
from hai_scheduler.api.wire.explain import (
    DecisionOut,
    ExplainOut,
    ForecastCost,
    ForecastOut,
    GroupShareOut,
    WhatIfOut,
)
from hai_scheduler.core.explaining.alternatives import WhatIf
from hai_scheduler.core.explaining.explain import share_sentence, what_would
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.shares import UserShare
from hai_scheduler.service.insight.decisions import DecisionLine
from hai_scheduler.service.insight.explanations import Explanation
from hai_scheduler.service.insight.forecast import Cost, Forecast
from hai_scheduler.service.shared.caller import Caller


def explain_out(found: Explanation, caller: Caller, now: datetime) -> ExplainOut:
    """Return the model of an explanation: why a task waits, and what would let it start."""
    view = found.view
    verdict = None if view.verdict is None else verdict_out(view.verdict, caller, now)
    return ExplainOut(
        task_id=view.task.id,
        state=view.task.state.value,
        sentence=view.message if found.silence is None else f"{view.message} {found.silence}",
        verdict=verdict,
        ahead=None if verdict is None or verdict.position is None else verdict.position - 1,
        what_if=[_what_if(change, view.task, caller, now) for change in found.what_if],
        share=None if found.share is None else _share(found.share),
        budgets=list(found.budgets),
    )


def _share(share: UserShare) -> GroupShareOut:
    return GroupShareOut.of(
        share,
        given=None if share.given is None else round(share.given, 4),
        entitled=round(share.entitled, 4),
        sentence=share_sentence(share),
    )


def _what_if(change: WhatIf, task: Task, caller: Caller, now: datetime) -> WhatIfOut:
    suspends = [holder_out(holder, caller) for holder in change.suspends]
    return WhatIfOut.of(change, sentence=what_would(change, task, now), suspends=suspends)


def decision_out(decision: DecisionLine) -> DecisionOut:
    """Return the model of a line of the decision log."""
    return DecisionOut.of(decision.event, sentence=decision.sentence)


def forecast_out(found: Forecast, caller: Caller) -> ForecastOut:
    """Return the model of a forecast."""
    starts = found.starts_at
    return ForecastOut.of(
        found,
        task_id=None if found.hypothetical else found.task.id,
        starts_in_s=None if starts is None else max(0.0, (starts - found.at).total_seconds()),
        gpus=[each for each in found.gpus if each],
        suspends=[_cost(cost, caller) for cost in found.suspends],
        cost_s=sum((cost.unsaved + cost.switch).total_seconds() for cost in found.suspends),
        verdict=None if found.verdict is None else verdict_out(found.verdict, caller, found.at),
    )


def _cost(cost: Cost, caller: Caller) -> ForecastCost:
    task = cost.task
    name = task.name if caller.may_see(task.user) else ""
    return ForecastCost.of(cost, task_id=task.id, name=name, user=task.user, gpus=task.gpus)
