"""Converts explanations, decisions and forecasts into models of the wire, without names of other users' tasks."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.convert.tasks import holder_out, verdict_out
from hai_scheduler.api.wire.explain import (
    DecisionOut,
    ExplainOut,
    ForecastAssumption,
    ForecastCost,
    ForecastOut,
    GroupShareOut,
    WhatIfOut,
)
from hai_scheduler.core.explaining.alternatives import WhatIf
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.shares import UserShare
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.messages import fallbacks_of, lacks_fabric, message_of, silence_of
from hai_scheduler.sentences.what_if import share_sentence, what_would
from hai_scheduler.sentences.words import sentences
from hai_scheduler.service.insight.decisions import sentence_of_event
from hai_scheduler.service.insight.explanations import Explanation
from hai_scheduler.service.insight.forecast import Cost, Forecast, assumption_text, sentence_of_forecast
from hai_scheduler.service.shared.caller import Caller


def explain_out(found: Explanation, caller: Caller, now: datetime) -> ExplainOut:
    """Return the model of an explanation: why a task waits, and what would let it start."""
    view = found.view
    verdict = None if view.verdict is None else verdict_out(view.verdict, caller, now)
    say = caller.say
    said = [message_of(say, view.task, view.verdict, view.at)]
    if found.silence is not None:
        said.append(silence_of(say, found.silence, view.task.id))
    if found.no_fabric is not None:
        said.append(lacks_fabric(say, found.no_fabric, view.task.group, view.task.user))
    if (run := view.task.live_run) is not None:
        said += fallbacks_of(say, run)
    return ExplainOut(
        task_id=view.task.id,
        state=view.task.state.value,
        sentence=sentences(say, said),
        verdict=verdict,
        ahead=None if verdict is None or verdict.position is None else verdict.position - 1,
        what_if=[_what_if(change, view.task, caller, now) for change in found.what_if],
        share=None if found.share is None else _share(found.share, caller.say),
        budgets=list(found.budgets),
    )


def _share(share: UserShare, say: Language) -> GroupShareOut:
    return GroupShareOut.of(
        share,
        given=None if share.given is None else round(share.given, 4),
        entitled=round(share.entitled, 4),
        sentence=share_sentence(say, share),
    )


def _what_if(change: WhatIf, task: Task, caller: Caller, now: datetime) -> WhatIfOut:
    suspends = [holder_out(holder, caller) for holder in change.suspends]
    return WhatIfOut.of(change, sentence=what_would(caller.say, change, task, now), suspends=suspends)


def decision_out(say: Language, event: HistoryEvent) -> DecisionOut:
    """Return the model of a line of the decision log."""
    return DecisionOut.of(event, sentence=sentence_of_event(say, event))


def forecast_out(found: Forecast, caller: Caller) -> ForecastOut:
    """Return the model of a forecast."""
    starts = found.starts_at
    return ForecastOut.of(
        found,
        task_id=None if found.hypothetical else found.task.id,
        sentence=sentence_of_forecast(caller.say, found),
        starts_in_s=None if starts is None else max(0.0, (starts - found.at).total_seconds()),
        gpus=[each for each in found.gpus if each],
        suspends=[_cost(cost, caller) for cost in found.suspends],
        cost_s=sum((cost.unsaved + cost.switch).total_seconds() for cost in found.suspends),
        verdict=None if found.verdict is None else verdict_out(found.verdict, caller, found.at),
        assumptions=[
            ForecastAssumption.of(one, sentence=assumption_text(caller.say, one)) for one in found.assumptions
        ],
    )


def _cost(cost: Cost, caller: Caller) -> ForecastCost:
    task = cost.task
    name = task.name if caller.may_see(task.user) else ""
    return ForecastCost.of(cost, task_id=task.id, name=name, user=task.user, gpus=task.gpus)
