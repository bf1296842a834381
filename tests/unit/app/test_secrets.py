"""Addresses with passwords and the shared secret come from the environment, and are shown nowhere."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hai_scheduler.app.config import LEAST_SECRET, ConfigError, HaiScheduler, Settings
from hai_scheduler.app.service_secret import compare_secrets, kept_secret
from hai_scheduler.ports.secret import Secret
from kit.stores import ScratchStore

DATABASE = "postgresql://hai:s3cret@db/hai"
REDIS = "redis://:s3cret@redis:6379/0"


def settings(*words: str) -> Settings:
    return HaiScheduler().settings(["--role", "loop", "--state-dir", "/tmp/state", "--port", "1", *words])


def test_the_environment_wins_over_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = ("--db-url", "sqlite:///other", "--HaiScheduler.redis_url=redis://other")
    found = settings(*written)
    assert found.redis_url is not None
    assert (found.db_url, found.redis_url.reveal()) == ("sqlite:///other", "redis://other")
    monkeypatch.setenv("HAI_DB_URL", DATABASE)
    monkeypatch.setenv("HAI_REDIS_URL", REDIS)
    monkeypatch.setenv("HAI_SERVICE_SECRET", "s3cret" * 8)
    found = settings(*written)
    assert found.redis_url is not None
    assert found.service_secret is not None
    assert (found.db_url, found.redis_url.reveal()) == (DATABASE, REDIS)
    assert found.service_secret.reveal() == "s3cret" * 8
    assert "s3cret" not in repr(found)


def test_files_may_hold_what_variables_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in {
        "HAI_DB_PASSWORD": "s3cret",
        "HAI_REDIS_URL": f"{REDIS}\n",
        "HAI_SERVICE_SECRET": "s3cret" * 8,
    }.items():
        monkeypatch.setenv(f"{name}_FILE", str(tmp_path / name))
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("HAI_DB_URL", "postgresql://hai@db/hai")
    found = settings()
    assert found.redis_url is not None
    assert found.service_secret is not None
    assert (found.db_url, found.redis_url.reveal()) == (DATABASE, REDIS)
    assert found.service_secret.reveal() == "s3cret" * 8


@pytest.mark.parametrize("name", ["HAI_DB_URL", "HAI_REDIS_URL", "HAI_SERVICE_SECRET", "JUPYTERHUB_API_TOKEN"])
def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv(f"{name}_FILE", str(tmp_path / "absent"))
    with pytest.raises(ConfigError, match=f"{name}_FILE: .*absent cannot be read"):
        settings()


def test_alone_there_is_neither_a_bus_nor_a_shared_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HAI_DB_URL", "HAI_REDIS_URL", "HAI_SERVICE_SECRET"):
        monkeypatch.setenv(name, "")
    found = settings()
    assert (found.redis_url, found.service_secret) == (None, None)
    assert found.db_url.endswith("/tmp/state/hai.sqlite")


def test_a_secret_that_could_be_guessed_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAI_SERVICE_SECRET", "s3cret")
    with pytest.raises(ConfigError, match=f"HAI_SERVICE_SECRET: has 6 characters, and needs {LEAST_SECRET}") as caught:
        settings()
    assert "s3cret" not in str(caught.value)


def test_without_one_it_is_made_once_and_kept_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "service_secret"
    made = kept_secret(file)
    assert len(made.reveal()) >= LEAST_SECRET
    assert kept_secret(file).reveal() == made.reveal()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file], "nothing else is left"


async def test_replicas_with_different_secrets_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    store = ScratchStore()
    assert await compare_secrets(store, Secret("one" * 20))
    assert await compare_secrets(store, Secret("one" * 20))
    assert caplog.text == ""
    assert not await compare_secrets(store, Secret("b1tter" * 20))
    assert "HAI_SERVICE_SECRET" in caplog.text
    async with store.read() as tx:
        kept = await tx.settings.get("service_secret_fingerprint")
    assert kept is not None
    assert "b1tter" not in caplog.text + kept
