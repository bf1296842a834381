"""Which registries a service asks for digests of images."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.adapters.images.registries import Registries
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.app.opening import registries_of
from kit.memory.clock import VirtualClock


def settings(**fields: Any) -> ClusterSettings:
    return ClusterSettings(namespace="runs", api_url="http://hai", **fields)


def test_registries_are_asked_as_the_settings_say() -> None:
    hosts = frozenset({"registry:5000"})
    found = registries_of(settings(registry_timeout=timedelta(seconds=7), insecure_registries=hosts), VirtualClock())
    assert isinstance(found, Registries)
    assert (found.patience_s, found.insecure, found.auth_file) == (7.0, hosts, None)


@pytest.mark.parametrize("fields", [{"resolve_images": False}, {"image_pull_policy": "Never"}])
def test_nobody_is_asked_where_no_digest_is_wanted(fields: dict[str, Any]) -> None:
    assert registries_of(settings(**fields), VirtualClock()) is None
