"""How the scheduler service is started."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from hai_hub.config.services import (
    can_be_apart,
    loop_environment,
    loop_service,
    scheduler_service,
    service_command,
    service_environment,
    up_service,
)
from hai_hub.config.settings import HubSettings


def test_the_command_names_the_folder_the_port_and_only_what_was_asked_for(settings: HubSettings) -> None:
    own = [sys.executable, "-P", "-m", "hai_scheduler", "--role", "api"]
    base = [*own, "--state-dir", str(settings.state_dir), "--port", "21002"]
    assert service_command(settings, "api") == base
    assert service_command(replace(settings, nodes=4, gpus_per_node=8), "api") == [
        *base, "--nodes", "4", "--gpus-per-node", "8"
    ]  # fmt: skip
    by_file = replace(settings, nodes=4, nodes_file=Path("/n.toml"), scheduler_config=Path("/s.py"))
    assert service_command(by_file, "api") == [*base, "--config", "/s.py", "--nodes-file", "/n.toml"]


def test_the_loop_is_told_the_same_and_where_it_tells_its_health(settings: HubSettings) -> None:
    api, loop = (service_command(replace(settings, loop_port=21003, nodes=4), role) for role in ("api", "loop"))
    assert set(loop) - set(api) == {"loop", "--health-port", "21003"}
    assert set(api) - set(loop) == {"api"}


def test_the_loop_gets_no_token(settings: HubSettings, secrets: list[str]) -> None:
    given = {"HOME": "/home/ann", "JUPYTERHUB_API_TOKEN": "another's", "AWS_SECRET_ACCESS_KEY": "x"}
    env = loop_environment(settings, given)
    assert env == {"HOME": "/home/ann", "JUPYTERHUB_SERVICE_PREFIX": "/services/hai/"}
    assert loop_service(settings, given)["environment"] == env


def test_no_secret_is_on_a_command_line_or_in_an_environment(settings: HubSettings, secrets: list[str]) -> None:
    service = scheduler_service(settings, {"HOME": "/home/ann", "AWS_SECRET_ACCESS_KEY": "x", "HAI_TOKEN": "y"})
    shown = " ".join(service["command"]) + repr(service["environment"])
    assert not [secret for secret in secrets if secret in shown]
    assert service["environment"] == {"HOME": "/home/ann"}


def test_both_services_have_the_tokens_from_their_files(settings: HubSettings) -> None:
    assert scheduler_service(settings)["api_token"] == "secret-service-token"
    assert up_service(settings)["api_token"] == "secret-up-token"
    assert "url" not in up_service(settings)


def test_a_cluster_is_reached_as_it_is_from_a_terminal(settings: HubSettings) -> None:
    """The setting `HaiKubernetes.kubeconfig` says that the variable is enough."""
    found = {"KUBECONFIG": "/etc/hai/admin"}
    assert scheduler_service(settings, found)["environment"] == found


def test_a_service_apart_is_known_to_the_hub_and_not_started_by_it(settings: HubSettings) -> None:
    below, apart = scheduler_service(settings), scheduler_service(replace(settings, service_apart=True))
    assert set(below) - set(apart) == {"command", "environment"}
    assert apart["timeout"] < below["timeout"], "a Hub that is started again must not wait for it"
    same = set(apart) - {"timeout"}
    assert {name: apart[name] for name in same} == {name: below[name] for name in same}


def test_a_service_apart_gets_the_hubs_words_and_nothing_else_of_the_environment(settings: HubSettings) -> None:
    given = {"HOME": "/home/ann", "PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "x", "JUPYTERHUB_API_TOKEN": "another's"}
    env = service_environment(settings, given)
    assert env["JUPYTERHUB_API_TOKEN"] == "secret-service-token"
    assert env["JUPYTERHUB_API_URL"] == "http://127.0.0.1:21001/hub/api"
    assert {name: env[name] for name in env if not name.startswith("JUPYTERHUB_")} == {
        "HOME": "/home/ann",
        "PATH": "/bin",
    }


def test_a_service_is_apart_unless_the_administrator_changes_what_it_is_told() -> None:
    assert can_be_apart({})
    assert can_be_apart({"JupyterHub": {"authenticator_class": "dummy"}, "Spawner": {"ip": "0.0.0.0"}})
    assert can_be_apart({"JupyterHub": {"base_url": "/lab/", "hub_ip": "10.0.0.1"}}), "these are known to `hai up`"
    assert not can_be_apart({"JupyterHub": {"hub_connect_url": "http://10.0.0.1"}})
    assert not can_be_apart({"JupyterHub": {"services": []}})
