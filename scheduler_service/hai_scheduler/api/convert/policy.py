"""Converts policy numbers into models of the wire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hai_scheduler.api.wire.cluster import AssumptionOut
from hai_scheduler.api.wire.policy import (
    NumberChoiceOut,
    PolicyNumber,
    PolicyOut,
    PolicyValue,
    TrialOut,
    TrialSideOut,
)
from hai_scheduler.sentences.assumptions import assumption
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.service.insight.trial import Trial, TrialAssumption
from hai_scheduler.service.policy.changes import PolicyView
from hai_scheduler.service.policy.numbers import NUMBERS, former_names, written
from hai_scheduler.service.policy.store import NumberOrigin


def policy_out(view: PolicyView, notes: Sequence[str] = ()) -> PolicyOut:
    """Return the model of the policy numbers, in the order of their table, with `notes` as further warnings."""
    return PolicyOut(
        numbers=[
            PolicyNumber(
                name=number.name,
                former=former_names(number.name),
                kind=number.kind.value,
                rule=number.rule,
                help=number.help,
                choices=[NumberChoiceOut(word=choice.word, meaning=choice.meaning) for choice in number.choices],
                default=number.default,
                common=_policy_value(view.default[number.name]),
                groups={group: _policy_value(numbers[number.name]) for group, numbers in view.groups.items()},
            )
            for number in NUMBERS
        ],
        groups=sorted(view.groups),
        trouble=view.trouble,
        warnings=[*view.warnings, *notes],
        version=view.version,
    )


def trial_out(say: Language, trial: Trial) -> TrialOut:
    """Return the model of a trial that has figures."""
    return TrialOut(
        since=trial.since,
        until=trial.until,
        tasks=trial.tasks,
        old=TrialSideOut.model_validate(trial.old),
        new=TrialSideOut.model_validate(trial.new),
        measured=TrialSideOut.model_validate(trial.measured),
        assumptions=[_assumption(say, one) for one in trial.assumptions],
    )


def _assumption(say: Language, found: TrialAssumption) -> AssumptionOut:
    length = None if found.length is None else found.length.total_seconds()
    said = assumption(say, "trial", found.name, count=found.count, length=found.length)
    return AssumptionOut(name=found.name, sentence=said, count=found.count, length_s=length)


def _policy_value(origin: NumberOrigin) -> PolicyValue:
    return PolicyValue(
        value=written(origin.value),
        length_s=origin.value.total_seconds() if isinstance(origin.value, timedelta) else None,
        source=origin.source,
        group=origin.group,
        by=origin.by,
        at=origin.at,
    )
