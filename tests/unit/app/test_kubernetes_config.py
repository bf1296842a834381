"""The settings of a Kubernetes cluster."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest
from traitlets.config import Config

from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.kubernetes.shared_logs import SharedLogs
from hai_scheduler.app import kubernetes_config
from hai_scheduler.app.config import ConfigError, HaiScheduler
from hai_scheduler.app.kubernetes_config import KubernetesError, KubernetesSettings
from hai_scheduler.app.opening import open_kubernetes
from kit.memory.clock import VirtualClock

GIVEN = {"namespace": "runs", "api_url": "http://hai.jupyter:8090/services/hai/api/v1/"}
#: Fields that need no setting.
FIXED = {"haienv_root", "log_parts"}


def test_a_claim_of_environments_needs_the_folder_at_which_ranks_see_it() -> None:
    given = KubernetesSettings(
        config=Config({"KubernetesSettings": {**GIVEN, "haienv_claim": "envs", "haienv_image": "lab"}})
    )
    found = given.frozen("/envs/")
    assert (found.haienv_claim, found.haienv_root) == ("envs", "/envs")
    with pytest.raises(KubernetesError, match=r"haienv_claim: is 'envs': say where .* HaiScheduler.haienv_root"):
        given.frozen()


def test_a_claim_of_environments_needs_an_image_that_makes_folders_for_builds() -> None:
    given = KubernetesSettings(config=Config({"KubernetesSettings": {**GIVEN, "haienv_claim": "envs"}}))
    with pytest.raises(KubernetesError, match="haienv_claim: is 'envs': set haienv_image too"):
        given.frozen("/envs")


def test_copies_on_nodes_need_the_shared_volume_and_an_image() -> None:
    given = {**GIVEN, "haienv_local_claim": "disk"}
    with pytest.raises(KubernetesError, match="haienv_local_claim: is 'disk': set haienv_claim and haienv_image too"):
        KubernetesSettings(config=Config({"KubernetesSettings": given})).frozen("/envs")


def settings(**values) -> ClusterSettings:
    return KubernetesSettings(config=Config({"KubernetesSettings": {**GIVEN, **values}})).frozen()


def test_what_is_not_set_has_the_adapters_own_defaults() -> None:
    chosen, plain = settings(), ClusterSettings(**GIVEN)
    different = {
        name for name in (field.name for field in fields(plain)) if getattr(chosen, name) != getattr(plain, name)
    }
    assert different == {"api_url", "tolerations"}
    assert chosen.api_url == "http://hai.jupyter:8090/services/hai/api/v1"


def test_every_field_can_be_set_and_says_what_it_means() -> None:
    traits = KubernetesSettings.class_own_traits(config=True)
    assert set(traits) | FIXED == {field.name for field in fields(ClusterSettings)}
    assert all(trait.help for trait in traits.values())


def test_values_are_turned_into_what_the_adapter_takes(tmp_path: Path) -> None:
    chosen = settings(
        start_timeout="15m", ignored_groups=["lab"], image_pull_secrets=["a"], log_dir=str(tmp_path), log_claim="logs"
    )
    assert chosen.start_timeout == timedelta(minutes=15)
    assert (chosen.ignored_groups, chosen.image_pull_secrets) == (frozenset({"lab"}), ("a",))
    assert chosen.log_dir == tmp_path
    chosen = settings(foreign_pods=["ops", "*"], drain_taints=["nvidia.com/gpu-xid-error"])
    assert (chosen.foreign_pods, chosen.drain_taints) == (("ops", "*"), frozenset({"nvidia.com/gpu-xid-error"}))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("api_url", "", "api_url: is '': write the address that pods reach"),
        ("namespace", "Runs!", "namespace: is 'Runs!'"),
        ("image_glibc", "new", "image_glibc: is 'new': write for example 2.31"),
        ("image_machine", "X 86", "image_machine: is 'X 86': write for example x86_64"),
        ("cpu_share", 1.5, "cpu_share: is 1.5: write a part of the node"),
        ("haienv_makers", 0, "haienv_makers: is 0: write a number greater than 0"),
        ("internet", "proxy", "internet: is 'proxy': write the address of the proxy too"),
        ("proxy", "proxy:3128", "proxy: is 'proxy:3128': write http://HOST:PORT"),
        ("proxy", "http://proxy", "proxy: is 'http://proxy': write http://HOST:PORT"),
        ("no_proxy", ["a,b"], "no_proxy: is ['a,b']: write a host, or a suffix"),
        ("haienv_build_variables", {"UV_OFFLINE": 1}, "haienv_build_variables: is {'UV_OFFLINE': 1}: write names"),
        ("run_as_user", 0, "run_as_user: is 0: write a number greater than 0"),
        ("shm_size", "16GB", "16GB"),
        ("groups", {"training": "gpu>3"}, "gpu>3"),
        ("extra_labels", {"app.kubernetes.io/managed-by": "me"}, "app.kubernetes.io/managed-by is the platform's own"),
        ("extra_labels", {"hai.jupyter.org/run": "7"}, "hai.jupyter.org/run is the platform's own"),
        ("extra_labels", {"team": "a b"}, "'a b' is no value of a label"),
        ("extra_labels", {"-team": "a"}, "'-team' is no key"),
        ("extra_labels", {"team": 7}, "write keys and values as text"),
        ("extra_annotations", {"hai.jupyter.org/killed": "now"}, "hai.jupyter.org/killed is the platform's own"),
        ("extra_annotations", {"a/b/c": ""}, "'a/b/c' is no key"),
        ("foreign_pods", ["all", "kube_system"], "foreign_pods: is ['all', 'kube_system']: write names"),
        ("foreign_pods", ["**"], 'or "*" for all'),
        ("drain_taints", ["karpenter.sh/disrupted:NoSchedule"], "the key of a taint alone, such as"),
        ("log_claim", "logs", "name both the folder"),
        ("watch_for", "20s", "at most half of stale_after, which is 30s"),
        ("start_timeout", "soon", "start_timeout"),
        ("binding", "glue", "glue"),
    ],
)
def test_a_wrong_value_names_the_setting_and_the_remedy(name, value, words) -> None:
    with pytest.raises(Exception, match=r".") as error:
        settings(**{name: value})
    assert words in str(error.value)
    assert name in str(error.value)


def test_a_password_of_a_proxy_is_refused_and_not_shown() -> None:
    with pytest.raises(ValueError, match=r"KubernetesSettings\.proxy: has a user or a password") as refused:
        settings(proxy="http://ann:canary@proxy:3128")
    assert "canary" not in str(refused.value)


def test_there_is_one_file_of_authorities() -> None:
    with pytest.raises(ValueError, match="authorities_secret: is 'b': leave it out, or authorities_config_map"):
        settings(authorities_config_map="a", authorities_secret="b")


def test_without_a_name_the_namespace_is_the_services_own(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(kubernetes_config, "OWN_NAMESPACE", tmp_path / "namespace")
    with pytest.raises(ValueError, match="name the namespace of the runs"):
        settings(namespace="")
    (tmp_path / "namespace").write_text("jupyter\n")
    assert settings(namespace="").namespace == "jupyter"


def test_a_laptop_has_no_kubernetes_settings(tmp_path: Path) -> None:
    arguments = ["--role", "loop", "--state-dir", str(tmp_path), "--port", "1"]
    assert HaiScheduler().settings(arguments).kubernetes is None
    more = [f"--KubernetesSettings.{name}={value}" for name, value in GIVEN.items()]
    assert HaiScheduler().settings([*arguments, "--cluster", "kubernetes", *more]).kubernetes == settings()


def test_a_wrong_setting_ends_the_service_with_its_name(tmp_path: Path) -> None:
    arguments = ["--role", "loop", "--state-dir", str(tmp_path), "--port", "1", "--cluster", "kubernetes"]
    with pytest.raises(ConfigError, match=r"KubernetesSettings\.api_url"):
        HaiScheduler().settings([*arguments, "--KubernetesSettings.namespace=runs"])


async def test_without_the_package_the_remedy_is_named(monkeypatch) -> None:
    for name in [name for name in sys.modules if name.startswith("hai_scheduler.adapters.kubernetes.c")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes.aio", None)
    with pytest.raises(ConfigError, match=r"pip install 'hai-platform\[kubernetes\]'"):
        await open_kubernetes(settings(), SharedLogs(Path("/x")), VirtualClock(), acts=True)


def test_a_machine_without_kubernetes_does_not_import_it() -> None:
    code = "import sys, hai_scheduler.app.api; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
