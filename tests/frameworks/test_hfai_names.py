"""Every name of docs/original.md, with PyTorch, as a program gets it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs/original.md").read_text().partition("## The names")[2].partition("\n## ")[0]
NAMES = sorted({
    name for row in re.findall(r"^\| (`.*?`) \|", TABLE, re.MULTILINE) for name in re.findall(r"`([\w.]+)`", row)
})  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_table_can_be_had(name: str) -> None:
    if name.startswith("hfai.datasets"):
        pytest.importorskip("hai_ffrecord.torch")
    module, _, last = name.rpartition(".")
    if not module or last in ("distributed", "nn", "functional", "pl"):
        importlib.import_module(name)
    else:
        assert getattr(importlib.import_module(module), last) is not None


def test_modules_are_those_of_torch_and_more() -> None:
    import hfai
    import hfai.nccl.distributed as older
    from haiscale.ddp import DistributedDataParallel

    assert older is hfai.distributed
    assert hfai.distributed.ReduceOp is torch.distributed.ReduceOp
    hfai.distributed.set_nccl_opt_level(hfai.distributed.HFAI_NCCL_OPT_LEVEL.AUTO)
    assert hfai.nn.Linear is torch.nn.Linear
    assert hfai.nn.functional.relu is torch.nn.functional.relu
    hfai.nn.functional.set_replace_torch()
    assert hfai.nn.parallel.DistributedDataParallel is DistributedDataParallel
    assert hfai.multiprocessing.Process is torch.multiprocessing.Process
    model = torch.nn.Linear(1, 1)
    assert hfai.nn.to_hfai(model, verbose=True) is model
    names: dict[str, Any] = {}
    exec("from hfai.distributed import *", names)  # as a star import sees it
    assert names["all_reduce"] is torch.distributed.all_reduce
    assert callable(names["set_nccl_opt_level"])
