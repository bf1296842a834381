"""The tests are a map: who opens a module finds its test by the module's name (CONTRIBUTING.md).

A module that holds logic (BRANCHES branching points or more) has a test file of its name, `test_MODULE.py` or
`test_MODULE_WHAT.py`, anywhere below tests/: beside its room in tests/unit, or with the real thing that it needs.
What a suite of another name proves is listed in elsewhere.toml, with that suite.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = [
    "client/hai_client",
    "client/hfai",
    "client/slurm/hai_slurm",
    "haienv/haienv",
    "hub_config/hai_hub",
    "lab_extension/hai_lab",
    "scheduler_service/hai_scheduler",
    "spawner/hai_spawner",
]
BRANCHES = 10
BRANCHING = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.BoolOp, ast.comprehension, ast.Match)
ELSEWHERE: dict[str, str] = tomllib.loads((Path(__file__).parent / "elsewhere.toml").read_text())
TESTS = {file.stem for file in (ROOT / "tests").rglob("test_*.py")}


def product_modules() -> list[Path]:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    return [
        file for file in files if not file.name.startswith("__") and not {"build", "node_modules"} & set(file.parts)
    ]


def branches(module: Path) -> int:
    return sum(isinstance(node, BRANCHING) for node in ast.walk(ast.parse(module.read_text())))


def has_a_test(module: Path) -> bool:
    name = "test_" + module.stem.strip("_")
    return any(test == name or test.startswith(name + "_") for test in TESTS)


def test_every_module_that_holds_logic_has_a_test_of_its_name() -> None:
    without = [
        name
        for module in product_modules()
        if (name := str(module.relative_to(ROOT))) not in ELSEWHERE
        and branches(module) >= BRANCHES
        and not has_a_test(module)
    ]
    assert not without, (
        f"write tests/unit/.../test_MODULE.py, or name the suite that proves the module in elsewhere.toml: {without}"
    )


def test_what_is_proved_elsewhere_is_a_module_without_a_test_of_its_name_and_its_suite_exists() -> None:
    for name, suite in ELSEWHERE.items():
        assert (ROOT / name).is_file(), f"{name} is gone: remove its line"
        assert (ROOT / suite).exists(), f"{name}: there is no {suite}"
        assert not has_a_test(ROOT / name), f"{name} has a test of its name: remove its line"
