from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_client.cli import completion, verbs

Hai = Callable[..., Any]

DRIVER = """
set -u
hai() { {python} -m hai_client "$@"; }
source <(hai completion bash)
COMP_WORDS=({words})
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
COMPREPLY=()
_hai_words
printf '%s\\n' "${COMPREPLY[@]:-}"
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["hai", "su"], {"submit", "suspend"}),
        (["hai", "submit", "--gr"], {"--group", "--grace"}),
        (["hai", "submit", "--profile", ""], {"auto", "sigterm", "cooperative", "slurm", "kill"}),
        (["hai", "submit", "-p", "VER"], {"VERY_HIGH"}),
        (["hai", "priority", "dig"], {"digits"}),
        (["hai", "status", ""], {"digits", "llm"}),
        (["hai", "status", "--json", "l"], {"llm"}),
        (["hai", "logs", "--run", ""], {""}),
        (["hai", "priority", "--json", "digits", "VER"], {"VERY_HIGH"}),
        (["hai", "admin", "quota", "set", "public", "EXT"], {"EXTREME_HIGH"}),
        (["hai", "admin", "drain", "node-"], {"node-1", "node-2", "node-3"}),
        (["hai", "admin", "quota", ""], {"list", "set", "delete"}),
        (
            ["hai", "admin", "quota", "set", "--"],
            {"--help", "--json", "--url", "--group", "--ceiling", "--until", "--for"},
        ),
        (["hai", "admin", "policy", ""], {"set", "unset"}),
        (["hai", "admin", "mounts", ""], {"list", "set", "remove"}),
        (["hai", "submit", "--env"], {"--env", "--env-latest", "--environment"}),
        (["hai", "submit", "--envi"], {"--environment"}),
        (["hai", "quota", "set", "HI"], {"HIGH"}),
        (["hai", "submit", "--", "./tr"], {"./train.sh"}),
        (["hai", "run", "exp"], {"exp.yml"}),
        (["hai", "completion", "z"], {"zsh"}),
    ],
    ids=lambda item: " ".join(item) if isinstance(item, list) else "",
)
def test_bash_completes(
    platform: Any, fake: Any, clean_environment: Path, words: list[str], expected: set[str]
) -> None:
    platform.add("digits")
    platform.add("llm")
    for name in ("train.sh", "exp.yml"):
        (clean_environment / name).touch()
    quoted = " ".join(f"'{word}'" for word in words)
    script = DRIVER.replace("{python}", f"'{sys.executable}'").replace("{words}", quoted)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(clean_environment), "HAI_URL": platform.url,
        "HAI_TOKEN": fake.TOKEN, "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    result = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stderr == ""
    assert set(result.stdout.split("\n")[:-1]) == expected


@pytest.mark.parametrize(
    ("shell", "check"), [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])]
)
def test_a_script_is_good_shell(shell: str, check: list[str], tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    script = tmp_path / "script"
    script.write_text(completion.SHELLS[shell]())
    result = subprocess.run([*check, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_knows_every_verb(shell: str) -> None:
    script = completion.SHELLS[shell]()
    assert all(verb.name in script for verb in verbs.VERBS)
    assert "hai __complete" in script


def test_names_are_offered_once_and_trouble_is_silent(hai: Hai, platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    platform.add("digits")
    platform.add("digits")
    assert hai("__complete", "tasks").out == "digits\n"
    for words in (["__complete"], ["__complete", "dragons"], ["--url", "http://127.0.0.1:1", "__complete", "tasks"]):
        result = hai(*words)
        assert (result.code, result.out, result.err) == (0, "", "")
    monkeypatch.setenv("HAI_TOKEN", "wrong")
    assert hai("__complete", "nodes").code == 0
