"""The generated files of client and panel are what the models of the service say."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_scheduler.api.bindings import plan
from hai_scheduler.api.bindings.__main__ import main, stale

ROOT = Path(__file__).parents[4]


def test_the_generated_files_are_what_the_models_say() -> None:
    assert stale(ROOT) == [], "run `make reference`"


def test_a_stale_file_fails_the_check_and_is_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, text in plan.files().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    root = ["--root", str(tmp_path)]
    assert main([*root, "--check"]) == 0
    schema = tmp_path / "client/hai_client/wire/schema.py"
    schema.write_text(schema.read_text(encoding="utf-8").replace("nodes: int = 1", "nodes: int = 2"), encoding="utf-8")
    (tmp_path / "lab_extension/src/api/types.ts").unlink()
    assert main([*root, "--check"]) == 1
    said = capsys.readouterr().err
    assert "client/hai_client/wire/schema.py is not what the models of the service say: run `make reference`" in said
    assert "lab_extension/src/api/types.ts" in said
    assert main(root) == 0
    assert main([*root, "--check"]) == 0
