"""How long servers may be there, as an administrator writes it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from traitlets.config import Config

from hai_hub.culler.decision import CullPolicy
from hai_hub.culler.settings import CullPolicies, read_culling

HOUR = timedelta(hours=1)


def book(sizes: dict[str, Any] | None = None, section: str = "HaiKubeSpawner", **given: Any) -> CullPolicies:
    c = Config()
    for name, value in given.items():
        c.HaiCulling[name] = value
    if sizes is not None:
        c[section].sizes = sizes
    return read_culling(c).policies(c)


def test_a_day_and_three_hours_are_usual() -> None:
    usual = CullPolicy(lifetime=24 * HOUR, longest=None, idle=3 * HOUR, warn=HOUR / 6, keep_for_tasks=True)
    assert book() == CullPolicies(usual=usual)


def test_a_size_has_terms_of_its_own_for_what_it_names() -> None:
    policy = book(
        {"gpu-1": {"cpu": 1, "lifetime": "12h", "idle": "never"}, "small": {"cpu": 1}}, lifetime="2d", warn="5m"
    )
    assert policy.of("small").lifetime == 48 * HOUR
    gpu = policy.of("gpu-1")
    assert (gpu.lifetime, gpu.idle, gpu.warn) == (12 * HOUR, None, timedelta(minutes=5))


def test_terms_are_the_same_after_their_way_to_the_service() -> None:
    policy = book({"size:x": {"longest": "90m"}}, idle="never", keep=["kernels"])
    assert CullPolicies.from_json(policy.to_json()) == policy
    assert policy.usual.keep_for_tasks is False


@pytest.mark.parametrize(
    ("given", "asks"), [({}, True), ({"idle": "never"}, False), ({"keep": []}, False)], ids=["yes", "never idle", "no"]
)
def test_the_scheduler_is_asked_only_where_it_matters(given: dict[str, Any], asks: bool) -> None:
    assert book(**given).asks_for_tasks is asks


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lifetime": "a day"}, "HaiCulling.lifetime: 'a day' is not a length of time"),
        ({"idle": "0s"}, "HaiCulling.idle is '0s': give a length of time, such as 12h, or never"),
        ({"warn": "never"}, "HaiCulling.warn is 'never': give at least 1m"),
        ({"warn": "30s"}, "HaiCulling.warn is '30s'"),
        ({"keep": ["jobs"]}, "HaiCulling.keep has 'jobs': use tasks, kernels, terminals"),
        ({"enabled": "maybe"}, "HaiCulling: "),
        ({"sizes": {"a": {"idle": "soon"}}}, "HaiKubeSpawner.sizes['a'].idle: 'soon' is not"),
    ],
    ids=["lifetime", "nothing", "no warning", "short warning", "keep", "type", "size"],
)
def test_what_is_wrong_is_named_with_its_value_and_the_remedy(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as refused:
        book(**given)
    assert words in str(refused.value)
