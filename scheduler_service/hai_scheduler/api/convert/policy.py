"""Converts policy numbers into models of the wire."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.api.wire.cluster import AssumptionOut
from hai_scheduler.api.wire.policy import (
    PolicyNumber,
    PolicyOut,
    PolicyValue,
    TrialOut,
)
from hai_scheduler.sentences.assumptions import assumption
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.service.insight.trial import Trial, TrialAssumption
from hai_scheduler.service.platform.policy_changes import PolicyView
from hai_scheduler.service.shared.policy_numbers import NUMBERS, written
from hai_scheduler.service.shared.policy_store import NumberOrigin


def policy_out(view: PolicyView) -> PolicyOut:
    """Return the model of the policy numbers, in the order of their table."""
    return PolicyOut(
        numbers=[
            PolicyNumber.of(
                number,
                common=_policy_value(view.default[number.name]),
                groups={group: _policy_value(numbers[number.name]) for group, numbers in view.groups.items()},
            )
            for number in NUMBERS
        ],
        groups=sorted(view.groups),
        trouble=view.trouble,
        warnings=list(view.warnings),
        version=view.version,
    )


def trial_out(say: Language, trial: Trial) -> TrialOut:
    """Return the model of a trial that has figures."""
    return TrialOut.of(trial, assumptions=[_assumption(say, one) for one in trial.assumptions])


def _assumption(say: Language, found: TrialAssumption) -> AssumptionOut:
    said = assumption(say, "trial", found.name, count=found.count, length=found.length)
    return AssumptionOut.of(found, sentence=said)


def _policy_value(origin: NumberOrigin) -> PolicyValue:
    value = origin.value
    return PolicyValue.of(origin, value=written(value), length_s=value if isinstance(value, timedelta) else None)
