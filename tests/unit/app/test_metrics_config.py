"""What metrics may name: checked, and a wrong value is refused by its name."""

from __future__ import annotations

import pytest
from traitlets.config import Config

from hai_scheduler.app.metrics_config import MetricsLabels, MetricsLabelsError
from hai_scheduler.service.shared.settings import LabelSettings


def settings(**traits: object) -> LabelSettings:
    return MetricsLabels(config=Config({"MetricsLabels": traits})).frozen()


def test_nothing_is_named_unless_it_is_asked_for() -> None:
    assert settings() == LabelSettings(groups=frozenset(), by_user=False)


def test_groups_and_users_may_be_named() -> None:
    assert settings(groups=["training", "a100-80g"], by_user=True) == LabelSettings(
        groups=frozenset({"training", "a100-80g"}), by_user=True
    )


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([f"g{number}" for number in range(21)], r"MetricsLabels.groups has 21 node groups: give 20 at most"),
        (["a b"], r"MetricsLabels.groups: 'a b' is no name of a node group: `hai nodes` shows their names"),
        ([""], "MetricsLabels.groups: ''"),
        (['x"} 1'], "is no name of a node group"),
    ],
)
def test_a_wrong_value_is_refused_with_its_remedy(groups: list[str], message: str) -> None:
    with pytest.raises(MetricsLabelsError, match=message):
        settings(groups=groups)
