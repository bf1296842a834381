"""The table of docs/original.md names what hai-hfai has, and all of what scripts in public call."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from docs.kit import ROOT, text_of

SOURCE = ROOT / "client/hfai"
TABLE = text_of("docs/original.md").partition("## The names")[2].partition("\n## ")[0]
NAMED = sorted({
    name for row in re.findall(r"^\| (`.*?`) \|", TABLE, re.MULTILINE) for name in re.findall(r"`([\w.]+)`", row)
})  # fmt: skip
#: What was counted in the scripts of ten public repositories.
COUNTED = [
    "hfai.client.receive_suspend_command", "hfai.client.go_suspend", "hfai.client.bind_hf_except_hook",
    "hfai.receive_suspend_command", "hfai.go_suspend", "hfai.set_watchdog_time",
    "hfai.distributed.set_nccl_opt_level", "hfai.distributed.HFAI_NCCL_OPT_LEVEL", "hfai.nccl.distributed",
    "hfai.multiprocessing.spawn", "hfai.nn.to_hfai", "hfai.nn.functional.set_replace_torch",
    "hfai.nn.parallel.DistributedDataParallel", "hfai.checkpoint.init", "hfai.datasets.ImageNet",
    "hfai.datasets.CLUEForMLM", "hfai.datasets.CLUEForCLS", "hfai.datasets.GoogleConceptualCaption",
    "hfai.datasets.CocoCaption", "haiscale.ddp.DistributedDataParallel", "haiscale.fsdp.FullyShardedDataParallel",
    "haiscale.fsdp.BackwardPrefetch", "haiscale.pipeline.partition", "haiscale.pipeline.make_subgroups",
    "haiscale.pipeline.PipeDream", "haiscale.pipeline.GPipe", "haiscale.pipeline.Interleaved1F1B",
    "haiscale.pipeline.SequentialModel", "hf_env.set_env", "hfai_env.set_env", "hfreduce.torch.set_log_level",
]  # fmt: skip


def test_what_scripts_call_is_in_the_table() -> None:
    assert sorted(set(COUNTED) - set(NAMED)) == []


@pytest.mark.parametrize("name", NAMED)
def test_a_name_of_the_table_is_in_the_package(name: str) -> None:
    """Read from the source: importing most of it needs PyTorch."""
    assert is_module(name) or defines(*name.rpartition(".")[::2]), f"{name} is not in {SOURCE}"


def file_of(module: str) -> Path | None:
    path = SOURCE.joinpath(*module.split("."))
    found = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]
    return found[0] if found else None


def is_module(name: str) -> bool:
    return file_of(name) is not None


def defines(module: str, name: str) -> bool:
    file = file_of(module)
    if file is None:
        return False
    made = {word for node in ast.parse(file.read_text(encoding="utf-8")).body for word in names_of(node)}
    # `hfai.datasets` finds datasets in a register.
    return name in made or (module == "hfai.datasets" and defines("hfai.datasets.known", name))


def names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    return set()
