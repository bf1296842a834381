"""What the scheduler makes of its pod: the service reads configuration, variables and files as it does there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.api.server.auth import Auth
from hai_scheduler.app.config import HaiScheduler, Settings
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from kit.helm.pods import ELSEWHERE, environment, secrets_of
from kit.helm.rendering import Render

Read = Callable[[dict[str, Any]], tuple[Settings, dict[str, dict[str, str]]]]


@pytest.fixture
def read(render: Render, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    def settings(scheduler: dict[str, Any]) -> tuple[Settings, dict[str, dict[str, str]]]:
        made = render({"scheduler": {"separate": True, **scheduler}})
        secrets = secrets_of(made)
        (pod,) = (pod for name, pod in made.pods() if name == "api")
        for name, text in environment(pod, secrets, tmp_path).items():
            monkeypatch.setenv(name, text)
        file = tmp_path / "config.json"
        file.write_text(made.one("ConfigMap", "scheduler")["data"]["config.json"])
        words = ["--role", "api", "--config", str(file), "--KubernetesSettings.api_url=http://hai"]
        return HaiScheduler().settings(words), secrets

    return settings


def test_it_comes_to_its_own_database_as_its_own_role(read: Read) -> None:
    found, secrets = read({})
    password = secrets["postgresql"]["scheduler-password"]
    wanted = (
        f"postgresql://scheduler:{password}@postgresql.platform.svc:5432/hai?connect_timeout=5&tcp_user_timeout=10000"
    )
    assert found.db_url == wanted
    assert found.redis_url is not None
    assert found.redis_url.reveal() == f"redis://:{secrets['redis']['password']}@redis.platform.svc:6379/0"


def test_it_signs_by_the_secret_of_all_replicas_and_asks_the_hub_by_its_token(read: Read) -> None:
    found, secrets = read({})
    assert found.service_secret is not None
    assert found.service_secret.reveal() == secrets["hub"]["service-secret"]
    auth = Auth.from_environment(run_tokens=RunTokens(Secret("s")), cookie_secret=Secret("c"))
    assert auth.hub.api_token == secrets["hub"]["service-token"]


def test_addresses_of_databases_elsewhere_come_from_their_secret(read: Read) -> None:
    elsewhere = {"existingSecret": {"name": "databases", "key": "x"}}
    found, _ = read({"db": {"type": "postgres", **elsewhere}, "redis": {"type": "external", **elsewhere}})
    assert found.db_url == ELSEWHERE
    assert found.redis_url is not None
    assert found.redis_url.reveal() == ELSEWHERE
