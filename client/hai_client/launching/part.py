"""One node's part of a step: the command to start there, and the numbers of its tasks."""

from __future__ import annotations

from hai_client.launching.agents import starts_mpi, starts_workers
from hai_client.launching.layout import Layout
from hai_client.launching.provide import provided
from hai_client.launching.variables import TORCH, step_variables, torch_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class StepPart:
    """One command, several times, on one node.

    Args:
        command: The program and its arguments.
        layout: All tasks of the step.
        index: The number of this node within the step.
        addresses: Addresses of all nodes of the job, in rank order.
        step: The number of the step.
        env: The variables that every task gets; what makes it one of several is added.
        cwd: The folder to start in; None: this one.
        slurm: Whether tasks see Slurm's variables.
        local_rank: Whether tasks see LOCAL_RANK, beside RANK, WORLD_SIZE and the like. A task with LOCAL_RANK is a
            worker for the rank's supervisor: the task gets the signal of a notice, not the process that started it.
        label: Whether each line begins with the number of its task.
        gpus_per_task: How many of the node's GPUs each task sees; None: all of them.
        end_others: Whether a task that fails ends the others.
        output: Pattern of the file that standard output goes to; None: to this process's.
        error: The same for standard error; None: where standard output goes to, if that is a file.
        append: Whether what such files hold is kept.
    """

    def __init__(
        self,
        *,
        command: list[str],
        layout: Layout,
        index: int,
        addresses: list[str],
        step: str,
        env: dict[str, str],
        cwd: str | None = None,
        slurm: bool = True,
        local_rank: bool = True,
        label: bool = False,
        gpus_per_task: int | None = None,
        end_others: bool = True,
        output: str | None = None,
        error: str | None = None,
        append: bool = False,
    ) -> None:
        self.command = command
        self.layout = layout
        self.index = index
        self.addresses = addresses
        self.step = step
        self.env = env
        self.cwd = cwd
        self.slurm = slurm
        self.local_rank = local_rank
        self.label = label
        self.gpus_per_task = gpus_per_task
        self.end_others = end_others
        self.output = output
        self.error = error
        self.append = append

    @property
    def tasks(self) -> int:
        """The number of tasks on this node."""
        return self.layout.counts[self.index]

    def number(self, local: int) -> int:
        """Return the number of a task within the step."""
        return self.layout.first(self.index) + local

    def environment(self, local: int) -> dict[str, str]:
        """Return all variables of a task."""
        env = dict(self.env)
        if self.slurm:
            env.update(step_variables(self.layout, self.addresses, index=self.index, local=local, step=self.step))
        env.update(torch_variables(self.layout, index=self.index, local=local))
        if starts_mpi(self.command):
            env = {name: value for name, value in env.items() if name not in TORCH}
        elif not self.local_rank or starts_workers(self.command, self.cwd, alone=self.tasks == 1):
            del env["LOCAL_RANK"]
        for name in ("MASTER_ADDR", "MASTER_IP"):
            # What a script has chosen itself stays.
            if env.get(name) in (None, self.addresses[0]):
                env[name] = self.addresses[self.layout.nodes[0]]
        if self.number(local) and env.get("WANDB_RUN_ID") == f"hai-{env.get('HAI_TASK_ID')}":
            # The task's run of Weights & Biases is rank 0's.
            del env["WANDB_RUN_ID"]
        devices = [word for word in env.get("CUDA_VISIBLE_DEVICES", "").split(",") if word]
        hosts = [self.addresses[node] for node in self.layout.nodes]
        env.update(provided(env, hosts, self.layout.counts, self.number(local)))
        if self.gpus_per_task and devices:
            own = devices[local * self.gpus_per_task : (local + 1) * self.gpus_per_task]
            env["CUDA_VISIBLE_DEVICES"] = env["SLURM_STEP_GPUS"] = ",".join(own)
        return env

    def facts(self, local: int) -> dict[str, str]:
        """Return the values for patterns of file names, by their letters."""
        job = self.env.get("SLURM_JOB_ID") or self.env.get("HAI_TASK_ID", "0")
        return {
            "j": job,
            "A": job,
            "a": "0",
            "J": f"{job}.{self.step}",
            "s": self.step,
            "x": self.env.get("SLURM_JOB_NAME") or self.env.get("HAI_TASK_NAME", ""),
            "u": self.env.get("HAI_USER", ""),
            "N": self.addresses[self.layout.nodes[self.index]],
            "n": str(self.index),
            "t": str(self.number(local)),
        }

    def data(self) -> dict[str, Any]:
        """Return the part as values for JSON."""
        return {
            **{name: value for name, value in self.__dict__.items() if name != "layout"},
            "nodes": list(self.layout.nodes),
            "counts": list(self.layout.counts),
        }

    @classmethod
    def of(cls, data: dict[str, Any]) -> StepPart:
        """Return the part from the output of `data`. Raises KeyError, TypeError, ValueError."""
        fields = dict(data)
        return cls(layout=Layout(fields.pop("nodes"), fields.pop("counts")), **fields)
