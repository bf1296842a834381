"""Which commands only start the processes that train."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_client.launching.agents import starts_workers


@pytest.mark.parametrize(
    ("command", "alone", "found"),
    [
        (["torchrun", "train.py"], False, True),
        (["/venv/bin/torchrun", "train.py"], False, True),
        (["python", "-m", "torch.distributed.run", "train.py"], False, True),
        (["python", "/venv/bin/accelerate", "launch"], False, True),
        (["python", "train.py"], True, False),
        (["python", "train.py", "--from", "torchrun"], True, False),
        (["bash", "-c", "torchrun train.py"], True, True),
        (["bash", "-ec", "exec accelerate launch train.py"], True, True),
        (["bash", "-c", "torchrun train.py"], False, False),
        (["bash", "-c", "python train.py"], True, False),
        (["bash", "run.sh"], True, True),
        (["./run.sh"], True, True),
        (["bash", "-e", "plain.sh", "torchrun"], True, False),
        (["bash", "missing.sh"], True, False),
        (["./program"], True, False),
        (["bash"], True, False),
    ],
)
def test_a_launcher_is_known_also_in_a_script(tmp_path: Path, command: list[str], alone: bool, found: bool) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/bash\nset -e\nsource x\n  torchrun --nproc-per-node 2 train.py\n")
    (tmp_path / "plain.sh").write_text("#!/bin/sh\n# not torchrun\npython train.py\n")
    (tmp_path / "program").write_bytes(b"\x7fELF torchrun")
    assert starts_workers(command, str(tmp_path), alone=alone) is found
