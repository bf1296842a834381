"""`hai cluster`: what it runs, what it shows, and how it says that something is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hai_client.errors import HaiError, Invalid
from hai_hub.cluster.command import command
from unit.hub.cluster.helm_kit import NEW, OLD


def test_config_prints_every_value_with_what_it_means(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["config"]) == 0
    text = capsys.readouterr().out
    assert "  # Replicas of the Deployment that schedules: one leads, the others stand by.\n  replicas: 2\n" in text


def test_config_names_what_is_wrong_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("scheduler:\n  replica: 3\n")
    assert command(["config", str(file)]) == 2
    assert "line 2: scheduler.replica: there is no such value; did you mean replicas?" in capsys.readouterr().out
    file.write_text("scheduler:\n  replicas: 3\n")
    assert command(["config", str(file)]) == 0


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"none\.yaml: cannot be read: No such file"):
        command(["config", str(tmp_path / "none.yaml")])


def test_nothing_is_run_with_wrong_values(calls: Path, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("hubb: {}\nproxyy: {}\n")
    with pytest.raises(Invalid, match=r"line 1: hubb: .*\(and 1 more problem\)"):
        command(["up", "-f", str(file)])
    assert not calls.exists()


def test_up_installs_waits_and_says_what_to_do_next(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["up", "--namespace", "lab"]) == 0
    install, *_, notes = [line for line in calls.read_text().splitlines() if line.startswith("helm ")]
    assert install.startswith("helm upgrade hai ")
    for word in ("--install", "--create-namespace", "--wait", "--namespace lab", "--reset-then-reuse-values"):
        assert word in install
    assert notes == "helm get notes hai --namespace lab"
    assert capsys.readouterr().out == "what to do next\n"


def test_upgrade_needs_an_installation(calls: Path) -> None:
    with pytest.raises(Invalid, match="there is no release hai in hai; `hai cluster up` installs it"):
        command(["upgrade"])


@pytest.mark.parametrize("verb", ["upgrade", "dry-run"])
def test_a_value_of_before_that_the_chart_does_not_have_is_named_before_anything_changes(
    verb: str, calls: Path, installed: Callable[[str], None]
) -> None:
    installed(OLD)
    calls.with_name("calls.rendered").write_text(json.dumps({"manifest": NEW}))
    calls.with_name("calls.kept").write_text("scheduler:\n  replica: 3\n")
    said = (
        r"^values chosen before, line 3: scheduler.replica: there is no such value; did you mean replicas\?; "
        r"`helm get values hai --namespace hai > values.yaml` .* --reset-values -f values.yaml$"
    )
    with pytest.raises(Invalid, match=said):
        command([verb])
    assert "--install" not in calls.read_text()
    assert command([verb, "--reset-values"]) == 0
    (install,) = [words for words in calls.read_text().splitlines() if "--install" in words]
    assert "--reset-values" in install.split()
    assert "--reset-then-reuse-values" not in install


def test_an_upgrade_says_how_to_go_back(
    calls: Path, installed: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    installed(OLD)
    assert command(["upgrade", "--context", "gpu", "--wait", "5m"]) == 0
    back = "to go back: helm rollback hai 3 --wait --timeout 5m --namespace hai --kube-context gpu\n"
    assert capsys.readouterr().out.endswith(back)
    # What there is now is asked for before it changes.
    (history, install) = [
        words for words in calls.read_text().splitlines() if "history" in words or "--install" in words
    ]
    assert history.startswith("helm history hai ")
    assert install.startswith("helm upgrade hai ")


def test_an_upgrade_that_fails_says_it_too(deaf: Callable[[int], list[float]]) -> None:
    deaf(10**6)
    with pytest.raises(HaiError, match=r"does not answer yet: .*; to go back: helm rollback hai 3 --wait .*hai$"):
        command(["upgrade", "--wait", "30s"])


def test_dry_run_shows_what_would_change(
    calls: Path, installed: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    installed(OLD)
    calls.with_name("calls.rendered").write_text(json.dumps({"manifest": NEW}))
    assert command(["dry-run"]) == 0
    text = capsys.readouterr().out
    assert "changed  ConfigMap hai/a" in text
    assert "added    Service hai/new" in text
    assert "removed  Service other/gone" in text
    assert text.endswith("4 objects would change\n")


def test_down_asks_unless_told_not_to(calls: Path, installed: Callable[[str], None]) -> None:
    installed(OLD)
    with pytest.raises(Invalid, match="nobody is here to ask: say --yes"):
        command(["down"])
    assert "uninstall" not in calls.read_text()


def test_down_ends_runs_after_the_scheduler_and_keeps_data(
    calls: Path, installed: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    installed(OLD)
    assert command(["down", "--yes"]) == 0
    uninstall, delete = calls.read_text().splitlines()[-2:]
    assert uninstall.startswith("helm uninstall hai")
    assert delete == "kubectl -n work delete services --selector app.kubernetes.io/managed-by=hai --wait=false"
    assert "are kept" in capsys.readouterr().out


def test_down_deletes_data_only_when_told(calls: Path, installed: Callable[[str], None]) -> None:
    installed(OLD)
    assert command(["down", "--yes", "--delete-data"]) == 0
    text = calls.read_text()
    assert "delete secrets,persistentvolumeclaims --selector app.kubernetes.io/name=hai" in text
    assert "delete namespace work" in text


@pytest.mark.parametrize("verb", ["up", "upgrade"])
def test_it_returns_when_the_scheduler_answers_and_not_before(
    verb: str, calls: Path, deaf: Callable[[int], list[float]]
) -> None:
    waited = deaf(3)
    assert command([verb]) == 0
    asked = [line for line in calls.read_text().splitlines() if line.startswith("kubectl -n hai exec deployment/hub")]
    assert (len(asked), len(waited)) == (4, 3)
    assert "/health/ready" in calls.read_text()


def test_a_scheduler_that_does_not_answer_in_time_is_an_error_with_its_last_words(
    deaf: Callable[[int], list[float]],
) -> None:
    waited = deaf(10**6)
    with pytest.raises(
        HaiError, match=r"does not answer yet: .*The state database does not answer\..*; look at: "
    ) as error:
        command(["up", "--wait", "30s"])
    assert not isinstance(error.value, Invalid)
    assert 29 <= sum(waited) <= 31


def test_a_wait_that_is_no_length_of_time_is_refused_before_anything_is_done(calls: Path) -> None:
    with pytest.raises(Invalid, match="--wait: 'soon' is not a length of time"):
        command(["up", "--wait", "soon"])
    assert not calls.exists()
