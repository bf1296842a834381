"""Training code of common frameworks, unchanged: how each way is started, what it needs, and how it must end.

A case is one training of `scripts/` on the real platform. It is interrupted by an urgent task in the middle, started
again, and compared (`drive.py`, `checks.py`). The table of docs/frameworks.md is made of what comes out (`table.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SCRIPTS: Final = Path(__file__).with_name("scripts")
STEPS: Final = 80
#: How a run may have left: its work is saved; it left by itself without evidence of a save; it was ended.
SAVED, UNKNOWN, ENDED = "saved", "unknown", "ended"
RESUMES, WORD = "resumes", "word"
LIGHTNING_HOLDS: Final = "holds at step 13"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One way of training."""

    #: The name of the case in tests and in results.
    name: str
    #: The title of the case in the table.
    title: str
    #: Packages whose versions the table shows.
    packages: tuple[str, ...] = ()
    #: The words after `hai submit`, options included.
    submit: str = ""
    #: Instead: a line for the user's own shell that prints the number of the task last, for what submits by itself.
    shell: str = ""
    #: Whether the Python is that of the venv that is active when submitting, not the environment that an admin has set.
    active: bool = False
    #: Processes that train together.
    world: int = 1
    #: The last step.
    steps: int = STEPS
    #: The case is interrupted when rank 0 has printed this.
    middle: str = "step 12"
    #: What HAI may say about the save. The test checks on the disk in any case whether it is true.
    left: frozenset[str] = frozenset({SAVED})
    #: Whether the training begins again at step 0, because it never saves.
    from_start: bool = False
    #: The files below its folder into which the training prints, if not into the log of the task.
    own_log: str = ""
    #: The file that its framework writes after a checkpoint, and without which it does not find the checkpoint again.
    index: str = ""
    #: Whether the launcher sometimes writes lines to the log twice.
    repeats: bool = False
    #: Steps of each stage; a stage that begins after the notice may do none.
    stage_steps: int = 0
    #: What the platform lacks for a check to pass, by check.
    missing: Mapping[str, str] = field(default_factory=dict)


CASES: Final = (
    Case(
        name="plain-loop",
        title="PyTorch, a loop that saves now and then, no handler",
        packages=("torch",),
        submit="--checkpoint-dir checkpoints -- python plain_loop.py",
        middle="step 25",
    ),
    Case(
        name="watched-loop",
        title="the same, with its own folder named by `--watch`",
        packages=("torch",),
        submit="--watch checkpoints -- python plain_loop.py",
        middle="step 25",
    ),
    Case(
        name="active-venv",
        title="the same, submitted from an active venv, nothing set up by an admin",
        packages=("torch",),
        submit="--checkpoint-dir checkpoints -- python plain_loop.py",
        active=True,
        middle="step 25",
    ),
    Case(
        name="handler",
        title="PyTorch, a loop that saves on SIGTERM",
        packages=("torch",),
        submit="--checkpoint-dir checkpoints -- python handler.py",
    ),
    Case(
        name="in-place",
        title="PyTorch, `torch.save` in place, slow, the notice in the middle of saving",
        packages=("torch",),
        submit="--checkpoint-dir checkpoints -- python in_place.py",
        middle="saving step 20",
    ),
    Case(
        name="never-saves",
        title="a script that never saves",
        submit="--checkpoint-dir checkpoints -- python never_saves.py",
        steps=400,
        left=frozenset({UNKNOWN}),
        from_start=True,
    ),
    Case(
        name="torchrun",
        title="torchrun, DistributedDataParallel, a snapshot after each epoch, no handler",
        packages=("torch",),
        submit="--nodes 2 --checkpoint-dir checkpoints -- torchrun --nproc-per-node 2 ddp.py",
        world=4,
        middle="step 25",
    ),
    Case(
        name="ranks-per-node",
        title="the same on one node without a launcher, `--ranks-per-node 2`",
        packages=("torch",),
        submit="--ranks-per-node 2 --checkpoint-dir checkpoints -- python ddp.py",
        world=2,
        middle="step 25",
    ),
    Case(
        name="sdk-loop",
        title="DistributedDataParallel in `hai_client.torch.Loop`, without a launcher",
        packages=("torch",),
        submit="--nodes 2 --ranks-per-node 2 --checkpoint-dir checkpoints -- python sdk_loop.py",
        world=4,
    ),
    Case(
        name="lightning",
        title="Lightning on one node",
        packages=("lightning", "torch"),
        submit="--profile slurm -- python lightning_train.py",
        middle=LIGHTNING_HOLDS,
    ),
    Case(
        name="lightning-2x2",
        title="Lightning with `devices=2` on two nodes",
        packages=("lightning", "torch"),
        submit="--nodes 2 --profile slurm --ranks-per-node 2 -- python lightning_train.py --nodes 2 --devices 2",
        world=4,
        middle=LIGHTNING_HOLDS,
    ),
    Case(
        name="lightning-sbatch",
        title="Lightning's script for Slurm, `sbatch` and `srun`, `devices=2` on two nodes",
        packages=("lightning", "torch"),
        shell='eval "$(hai slurm env)" && sbatch lightning.sbatch',
        world=4,
        middle=LIGHTNING_HOLDS,
    ),
    Case(
        name="hf-trainer",
        title="Hugging Face Trainer under torchrun on two nodes, saving every twenty steps",
        packages=("transformers", "accelerate", "torch"),
        submit="--nodes 2 --checkpoint-dir checkpoints -- "
        "torchrun --nproc-per-node 1 hf_train.py --output_dir checkpoints",
        world=2,
        middle="step 25",
    ),
    Case(
        name="hf-trainer-jit",
        title="the same with `--enable_jit_checkpoint true`, which waits three seconds before it saves",
        packages=("transformers", "accelerate", "torch"),
        submit="--nodes 2 --checkpoint-dir checkpoints -- torchrun --nproc-per-node 1 hf_train.py "
        "--output_dir checkpoints --enable_jit_checkpoint true",
        world=2,
    ),
    Case(
        name="accelerate",
        title="`accelerate launch` on two nodes, `save_state` every twenty steps",
        packages=("accelerate", "torch"),
        submit="--nodes 2 --checkpoint-dir checkpoints -- bash accelerate_launch.sh accelerate_train.py",
        world=2,
        middle="step 25",
    ),
    Case(
        name="mpi-sbatch",
        title="MPICH's `mpirun` in a script for Slurm, mpi4py, two processes on each of two nodes, saving on SIGUSR1",
        packages=("mpich", "mpi4py"),
        shell='eval "$(hai slurm env)" && sbatch --checkpoint-dir checkpoints mpi.sbatch',
        world=4,
    ),
    Case(
        name="submitit",
        title="submitit's `AutoExecutor`, unchanged",
        packages=("submitit",),
        shell='eval "$(hai slurm env)" && python submit_with_submitit.py',
        own_log="submitit_log/*_log.out",
    ),
    Case(
        name="jax",
        title="JAX on two nodes, its preemption service",
        packages=("jax",),
        submit="--nodes 2 --checkpoint-dir checkpoints -- python jax_train.py --coordinator",
        world=2,
    ),
    Case(
        name="jax-slurm",
        title="JAX on two nodes, `jax.distributed.initialize()` alone",
        packages=("jax",),
        submit="--nodes 2 --checkpoint-dir checkpoints --profile slurm --signal TERM -- python jax_train.py",
        world=2,
    ),
    Case(
        name="ray",
        title="Ray Train on one node, reporting a checkpoint every twenty steps",
        packages=("ray", "torch"),
        submit="--checkpoint-dir checkpoints -- python ray_train.py",
        index="checkpoints/training/checkpoint_manager_snapshot.json",
        middle="step 25",
        repeats=True,
    ),
    Case(
        name="notebook",
        title="a notebook whose cells save now and then",
        packages=("nbclient", "ipykernel"),
        submit="--checkpoint-dir checkpoints -- python -m hai_client.notebook train.ipynb --output out.ipynb",
        left=frozenset({SAVED, UNKNOWN}),
        middle="step 25",
    ),
    Case(
        name="notebook-file",
        title="the same, submitted as a file",
        packages=("nbclient", "ipykernel"),
        submit="--checkpoint-dir checkpoints -- train.ipynb",
        left=frozenset({SAVED, UNKNOWN}),
        middle="step 25",
    ),
    Case(
        name="stages",
        title="a shell script of three stages, without `set -e`",
        submit="--checkpoint-dir checkpoints -- bash stages.sh",
        steps=45,
        middle="step 22",
        stage_steps=15,
    ),
)
