"""Endpoints on why a task waits, what was decided on it, and when it would start."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.api.convert.explain import decision_out, explain_out, forecast_out
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.explain import DecisionPage, ExplainOut, ForecastAsk, ForecastOut
from hai_scheduler.api.wire.params import Nothing, TaskEventQuery
from hai_scheduler.service.shared.errors import Invalid


async def explain(ask: Ask[Nothing, Nothing]) -> ExplainOut:
    """Return why a task waits and what would let it start, or what it does."""
    found = await ask.platform.insight.explanations.explain(ask.caller, ask.path["task"])
    return explain_out(found, ask.caller, ask.platform.world.clock.now())


async def decisions(ask: Ask[TaskEventQuery, Nothing]) -> DecisionPage:
    """Return what was decided on a task."""
    found = await ask.platform.insight.decisions.of_task(
        ask.caller, ask.path["task"], after=ask.query.after, limit=ask.query.limit
    )
    return DecisionPage(items=[decision_out(ask.caller.say, event) for event in found])


async def forecast(ask: Ask[Nothing, ForecastAsk]) -> ForecastOut:
    """Return when a task would start."""
    body, forecasts = ask.body, ask.platform.insight.forecasts
    if (body.task is None) == (body.submit is None):
        raise Invalid("task", body.task, "give either `task`, an id or a name, or `submit`, a task not submitted yet")
    horizon = None if body.horizon_s is None else timedelta(seconds=body.horizon_s)
    if body.submit is not None:
        found = await forecasts.of_submission(ask.caller, body.submit, horizon=horizon)
    else:
        found = await forecasts.of_task(ask.caller, str(body.task), horizon=horizon)
    return forecast_out(found, ask.caller)
