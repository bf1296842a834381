"""What the chart gives to the Hub's process: variables, files with secrets, and values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hai_hub.cluster.chart_env import ChartEnv
from unit.hub.cluster.test_servers import VARIABLES


def test_values_are_found_by_their_names_and_nulls_are_none() -> None:
    found = ChartEnv.of(VARIABLES, {"hub": {"db": {"type": "sqlite"}}, "proxy": {}})
    assert (found.value("hub.db.type"), found.value("hub.db.url"), found.value("proxy.https")) == ("sqlite", None, None)
    with pytest.raises(KeyError):
        found.value("nowhere.at.all")


@pytest.mark.parametrize("name", sorted(VARIABLES))
@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_variable_that_is_missing_is_named(name: str, how: str) -> None:
    rest = {key: value for key, value in VARIABLES.items() if key != name}
    with pytest.raises(ValueError, match=f"^{name} is not set: this configuration is for the Hub's pod"):
        ChartEnv.of(rest if how == "missing" else {**rest, name: ""}, {})


def test_secrets_may_be_in_files(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    (tmp_path / "password").write_text("p@ss")
    environ = {name: value for name, value in VARIABLES.items() if name != "HAI_SERVICE_TOKEN"}
    environ |= {
        "HAI_SERVICE_TOKEN_FILE": str(tmp_path / "token"),
        "HAI_HUB_DB_URL": "postgresql://hub@db/hub",
        "HAI_HUB_DB_PASSWORD_FILE": str(tmp_path / "password"),
    }
    found = ChartEnv.of(environ, {})
    assert (found.service_token, found.db_url) == ("from-a-file", "postgresql://hub:p%40ss@db/hub")


def test_what_jupyterhub_makes_itself_may_be_missing_and_no_secret_is_shown() -> None:
    bare = ChartEnv.of(VARIABLES, {})
    assert (bare.proxy_token, bare.cookie_secret, bare.crypt_key, bare.scheduler_config) == ("", "", "", None)
    secrets = {"CONFIGPROXY_AUTH_TOKEN": "hush1", "JPY_COOKIE_SECRET": "hush2", "JUPYTERHUB_CRYPT_KEY": "hush3"}
    full = ChartEnv.of({**VARIABLES, **secrets, "HAI_SCHEDULER_CONFIG": "/config.py"}, {})
    assert (full.proxy_token, full.cookie_secret, full.crypt_key) == ("hush1", "hush2", "hush3")
    assert full.scheduler_config == "/config.py"
    assert "hush" not in repr(full)
    assert "secret" not in repr(bare).replace("secret=", "")


def test_a_scheduler_of_the_hub_gets_its_own_variables_alone() -> None:
    given = {"HAI_DB_URL": "sqlite:///hai", "TZ": "", "HOME": "/home/hub", "JUPYTERHUB_CRYPT_KEY": "hush"}
    found = ChartEnv.of({**VARIABLES, **given}, {})
    assert found.scheduler_environment == {
        "HAI_CHART_VERSION": VARIABLES["HAI_CHART_VERSION"], "HAI_DB_URL": "sqlite:///hai", "HOME": "/home/hub",
    }  # fmt: skip


def test_a_process_reads_the_file_that_a_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HAI_CHART_VALUES", raising=False)
    with pytest.raises(ValueError, match="HAI_CHART_VALUES is not set"):
        ChartEnv.of_process()
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "values.json"
    monkeypatch.setenv("HAI_CHART_VALUES", str(file))
    with pytest.raises(OSError, match=r"values\.json"):
        ChartEnv.of_process()
    file.write_text("not JSON")
    with pytest.raises(ValueError, match="Expecting value"):
        ChartEnv.of_process()
    file.write_text(json.dumps({"hub": {"baseUrl": "/"}}))
    assert ChartEnv.of_process().value("hub.baseUrl") == "/"
