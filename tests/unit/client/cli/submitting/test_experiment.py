"""`hai run`: an experiment file is read by the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unit.client.conftest import Hai


def sent(platform: Any) -> dict[str, Any]:
    (call,) = platform.said("POST", "/tasks")
    body: dict[str, Any] = call.body
    return body


def test_an_experiment_takes_gpus_from_the_command_line(hai: Hai, platform: Any, clean_environment: Path) -> None:
    file = clean_environment / "x.yml"
    file.write_text("spec:\n  workspace: /shared\n")
    assert hai("run", str(file), "--gpus", "4").code == 0
    assert sent(platform)["gpus"] == 4


def test_an_experiment_file_is_read_by_the_service_and_its_folder_taken_from_here(
    hai: Hai, platform: Any, clean_environment: Path
) -> None:
    text = "version: 2\nname: digits\nspec:\n  workspace: code\n"
    Path("digits.yml").write_text(text)
    assert hai("run", "digits.yml", "-n", "4", "-g", "a100", "-p", "50").code == 0
    (parsed,) = platform.said("POST", "/tasks/parse")
    assert (parsed.body, parsed.headers["content-type"]) == (text, "application/yaml")
    body = sent(platform)
    assert (body["cwd"], body["nodes"]) == (str(clean_environment / "code"), 4)
    assert (body["group"], body["priority"]) == ("a100", "EXTREME_HIGH")


def test_an_absolute_workspace_is_kept(hai: Hai, platform: Any) -> None:
    Path("digits.yml").write_text("spec:\n  workspace: /shared/code\n")
    hai("run", "digits.yml")
    assert sent(platform)["cwd"] == "/shared/code"
