"""The options of `srun` and `sbatch`, and what HAI does with each.

One table for both: what a script may say in a line `#SBATCH`, on the command line of `sbatch`, and to `srun`. The page
for users is made from it (docs/users.md, "Coming from Slurm"). Some options are used, some are left out because HAI
does without them, which is said in a line; those without which a job would be another one are refused, with a remedy.
"""

from __future__ import annotations

import re

from hai_slurm.shared.getting import BadOption, KnownOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

USED, IGNORED, REFUSED = "used", "ignored", "refused"
SBATCH, SRUN, BOTH = "sbatch", "srun", "both"
#: What is written after the name of an option for `KnownOptions`.
_VALUES = {"no": "", "yes": "=", "maybe": "=?"}


class Option:
    """One option.

    `value` says whether it takes one: `no`, `yes`, or `maybe` (only after `=`). `where` is the command that knows it.
    `about` is what HAI makes of it, for used ones; why it does without, for ignored ones; the remedy, for refused ones.
    """

    def __init__(self, name: str, short: str, value: str, where: str, fate: str, about: str) -> None:
        self.name, self.short, self.value, self.where, self.fate, self.about = name, short, value, where, fate, about


_WHOLE = "a task has all processors and memory of its nodes"
_ONE_CLUSTER = "there is one cluster"
_MAIL = "HAI sends no mail; `hai logs -f` and the panel show how it goes"
_ROWS = (
    # name, short, value, where, fate, about
    ("nodes", "N", "yes", BOTH, USED, "nodes of the task; of a range the smaller number. srun: of the step"),
    ("ntasks", "n", "yes", BOTH, USED, "processes that `srun` starts"),
    ("ntasks-per-node", "", "yes", BOTH, USED, "processes that `srun` starts on each node"),
    ("cpus-per-task", "c", "yes", BOTH, USED, "`SLURM_CPUS_PER_TASK` alone; processors are not divided"),
    ("gpus-per-node", "", "yes", BOTH, USED, "GPUs on each node, as `--gpus` of `hai submit`; none: whole nodes"),
    ("gres", "", "yes", BOTH, USED, "`gpu[:type]:K` as `--gpus-per-node`; other kinds are refused"),
    ("gpus", "G", "yes", BOTH, USED, "all GPUs: divided by the nodes"),
    ("gpus-per-task", "", "yes", BOTH, USED, "how many GPUs each task sees in `CUDA_VISIBLE_DEVICES`"),
    ("ntasks-per-gpu", "", "yes", SBATCH, USED, "processes that `srun` starts for each GPU that is asked for"),
    ("time", "t", "yes", SBATCH, USED, "`--time-limit`, over all runs of the task; 0: none"),
    ("job-name", "J", "yes", BOTH, USED, "the name; what a name may not hold becomes `-`"),
    ("output", "o", "yes", BOTH, USED, "a copy of the output, beside `hai logs`; `%j %A %a %x %u %N %n %t %s %J %%`"),
    ("error", "e", "yes", BOTH, USED, "the same for standard error"),
    ("open-mode", "", "yes", BOTH, USED, "`append` or `truncate`; a task that is resumed appends"),
    ("signal", "", "yes", SBATCH, USED, "`[B:]NAME[@SECONDS]`: what a task gets when it must leave, not at its end"),
    ("requeue", "", "no", SBATCH, USED, "every task is resumed: nothing to ask for"),
    ("partition", "p", "yes", SBATCH, USED, "the node group"),
    ("qos", "q", "yes", SBATCH, USED, "the priority, by name or number: `HIGH`"),
    ("chdir", "D", "yes", BOTH, USED, "the folder to start in"),
    ("checkpoint-dir", "", "yes", SBATCH, USED, "where it saves, as for `hai submit`; Slurm had it until 19.05"),
    ("export", "", "yes", BOTH, USED, "`ALL` (as in Slurm, what is set here), `NONE`, or names and `NAME=value`"),
    ("comment", "", "yes", SBATCH, USED, "a tag"),
    ("hold", "H", "no", SBATCH, USED, "not started before `scontrol release`"),
    ("wait", "W", "no", SBATCH, USED, "wait for its end, and end with its status"),
    ("parsable", "", "no", SBATCH, USED, "print the number alone"),
    ("test-only", "", "no", SBATCH, USED, "`hai submit --dry-run`"),
    ("wrap", "", "yes", SBATCH, USED, "a line of shell in place of a script"),
    ("quiet", "Q", "no", BOTH, USED, "no lines about what is left out"),
    ("label", "l", "no", SRUN, USED, "each line begins with the number of its task"),
    ("kill-on-bad-exit", "K", "maybe", SRUN, USED, "whether a task that fails ends the others: 1, unless 0 is given"),
    ("nodelist", "w", "yes", SRUN, USED, "on these nodes of the job, by the names of `$SLURM_JOB_NODELIST`"),
    ("exclude", "x", "yes", SRUN, USED, "on none of these nodes of the job"),
    ("relative", "r", "yes", SRUN, USED, "from this node of the job on"),
    ("nodelist", "w", "yes", SBATCH, REFUSED, "nodes cannot be chosen: leave it out, or name a group (--partition)"),
    ("exclude", "x", "yes", SBATCH, IGNORED, "nodes that fail are avoided by the scheduler"),
    ("dependency", "d", "yes", SBATCH, REFUSED, "HAI knows no dependencies: submit it when the other one is done"),
    ("array", "a", "yes", SBATCH, REFUSED, "HAI knows no arrays: submit the script in a loop, once for each index"),
    ("begin", "b", "yes", SBATCH, REFUSED, "a start cannot be put off: submit it with --hold, and release it later"),
    ("constraint", "C", "yes", BOTH, REFUSED, "nodes are alike within a group: name the right one with --partition"),
    ("reservation", "", "yes", BOTH, REFUSED, "HAI has no reservations: leave it out"),
    ("licenses", "L", "yes", BOTH, REFUSED, "HAI counts no licences: leave it out"),
    ("container", "", "yes", BOTH, REFUSED, "name an environment: hai submit --environment, see `hai environments`"),
    ("container-image", "", "yes", BOTH, REFUSED, "name an environment: hai submit --environment"),
    ("container-mounts", "", "yes", BOTH, REFUSED, "name an environment: hai submit --environment"),
    ("container-workdir", "", "yes", BOTH, REFUSED, "name an environment: hai submit --environment, and --chdir"),
    ("container-name", "", "yes", BOTH, REFUSED, "name an environment: hai submit --environment"),
    ("container-id", "", "yes", BOTH, REFUSED, "name an environment: hai submit --environment"),
    ("tres-per-task", "", "yes", BOTH, REFUSED, "name GPUs with --gpus-per-task and processors with --cpus-per-task"),
    ("tres-per-node", "", "yes", BOTH, REFUSED, "name GPUs with --gpus-per-node"),
    ("gpus-per-socket", "", "yes", BOTH, REFUSED, "name GPUs with --gpus-per-node"),
    ("deadline", "", "yes", BOTH, REFUSED, "HAI knows no such limit: leave it out, and see `hai submit --dry-run`"),
    ("nodefile", "F", "yes", SBATCH, REFUSED, "nodes cannot be chosen: leave it out, or name a group (--partition)"),
    ("bb", "", "yes", BOTH, REFUSED, "HAI has no burst buffers: leave it out"),
    ("bbf", "", "yes", BOTH, REFUSED, "HAI has no burst buffers: leave it out"),
    ("uid", "", "yes", BOTH, REFUSED, "a task is the user's who submits it: leave it out"),
    ("gid", "", "yes", BOTH, REFUSED, "a task has its user's groups: leave it out"),
    ("het-group", "", "yes", SRUN, REFUSED, "all nodes of a task are alike: leave it out"),
    ("multi-prog", "", "no", SRUN, REFUSED, "all tasks run one command: branch on $SLURM_PROCID in a script"),
    ("pty", "", "maybe", SRUN, REFUSED, "a task has no terminal: leave it out"),
    ("mem", "", "yes", BOTH, IGNORED, _WHOLE),
    ("mem-per-cpu", "", "yes", BOTH, IGNORED, _WHOLE),
    ("mem-per-gpu", "", "yes", BOTH, IGNORED, _WHOLE),
    ("mem-bind", "", "yes", BOTH, IGNORED, _WHOLE),
    ("cpu-bind", "", "yes", BOTH, IGNORED, "processes are not bound to processors"),
    ("cpus-per-gpu", "", "yes", BOTH, IGNORED, _WHOLE),
    ("gpu-bind", "", "yes", BOTH, IGNORED, "every task sees all GPUs of its node; --gpus-per-task divides them"),
    ("gpu-freq", "", "yes", BOTH, IGNORED, "clocks are the admin's"),
    ("cpu-freq", "", "yes", BOTH, IGNORED, "clocks are the admin's"),
    ("distribution", "m", "yes", BOTH, IGNORED, "tasks lie on nodes block by block"),
    ("exclusive", "", "maybe", BOTH, IGNORED, "without GPUs asked for, a task has whole nodes"),
    ("oversubscribe", "s", "no", BOTH, IGNORED, "nodes are shared by GPUs alone"),
    ("overlap", "", "no", BOTH, IGNORED, "steps may run side by side"),
    ("overcommit", "O", "no", BOTH, IGNORED, "as many tasks as you like run on a node"),
    ("exact", "", "no", BOTH, IGNORED, _WHOLE),
    ("threads-per-core", "", "yes", BOTH, IGNORED, _WHOLE),
    ("ntasks-per-core", "", "yes", BOTH, IGNORED, _WHOLE),
    ("ntasks-per-socket", "", "yes", BOTH, IGNORED, _WHOLE),
    ("hint", "", "yes", BOTH, IGNORED, _WHOLE),
    ("tmp", "", "yes", BOTH, IGNORED, _WHOLE),
    ("switches", "", "yes", BOTH, IGNORED, "a gang is placed close together anyway"),
    ("contiguous", "", "no", BOTH, IGNORED, "a gang is placed close together anyway"),
    ("account", "A", "yes", BOTH, IGNORED, "quota is your user's and your groups'"),
    ("nice", "", "maybe", SBATCH, IGNORED, "name a priority with --qos"),
    ("priority", "", "yes", SBATCH, IGNORED, "name a priority with --qos"),
    ("wckey", "", "yes", BOTH, IGNORED, "HAI keeps no such accounts"),
    ("mail-type", "", "yes", SBATCH, IGNORED, _MAIL),
    ("mail-user", "", "yes", SBATCH, IGNORED, _MAIL),
    ("no-requeue", "", "no", SBATCH, IGNORED, "others may take the nodes: then it is resumed; `hai stop` ends it"),
    ("time-min", "", "yes", SBATCH, IGNORED, "a turn is as long as it is"),
    ("ntasks-per-gpu", "", "yes", SRUN, IGNORED, "see --ntasks and --gpus-per-task"),
    ("clusters", "M", "yes", BOTH, IGNORED, _ONE_CLUSTER),
    ("cluster", "", "yes", BOTH, IGNORED, _ONE_CLUSTER),
    ("cluster-constraint", "", "yes", SBATCH, IGNORED, _ONE_CLUSTER),
    ("prefer", "", "yes", BOTH, IGNORED, "nodes are alike within a group"),
    ("tres-bind", "", "yes", BOTH, IGNORED, "processes are not bound"),
    ("sockets-per-node", "", "yes", BOTH, IGNORED, _WHOLE),
    ("cores-per-socket", "", "yes", BOTH, IGNORED, _WHOLE),
    ("extra-node-info", "B", "yes", BOTH, IGNORED, _WHOLE),
    ("mincpus", "", "yes", BOTH, IGNORED, _WHOLE),
    ("core-spec", "S", "yes", BOTH, IGNORED, _WHOLE),
    ("thread-spec", "", "yes", BOTH, IGNORED, _WHOLE),
    ("use-min-nodes", "", "no", BOTH, IGNORED, "of a range the smaller number is taken anyway"),
    ("spread-job", "", "no", BOTH, IGNORED, "a gang is placed close together"),
    ("segment", "", "yes", BOTH, IGNORED, "a gang is placed close together anyway"),
    ("wait-all-nodes", "", "yes", SBATCH, IGNORED, "a gang starts on all nodes at once anyway"),
    ("stepmgr", "", "no", BOTH, IGNORED, "steps are started by the task itself anyway"),
    ("oom-kill-step", "", "maybe", BOTH, IGNORED, "see --kill-on-bad-exit"),
    ("resv-ports", "", "maybe", BOTH, IGNORED, "MASTER_PORT is free on each node"),
    ("delay-boot", "", "yes", BOTH, IGNORED, "nodes are the admin's"),
    ("power", "", "yes", BOTH, IGNORED, "nodes are the admin's"),
    ("acctg-freq", "", "yes", BOTH, IGNORED, "what a task uses is measured anyway: `hai top`"),
    ("extra", "", "yes", BOTH, IGNORED, "HAI keeps no such text: see --comment"),
    ("mcs-label", "", "yes", BOTH, IGNORED, "see docs/users.md"),
    ("ignore-pbs", "", "no", SBATCH, IGNORED, ""),
    ("bcast", "", "maybe", SRUN, IGNORED, "tasks see the same files on all nodes"),
    ("task-prolog", "", "yes", SRUN, IGNORED, "put it into the command"),
    ("task-epilog", "", "yes", SRUN, IGNORED, "put it into the command"),
    ("time", "t", "yes", SRUN, IGNORED, "a step lasts as long as its task may"),
    ("get-user-env", "", "maybe", SBATCH, IGNORED, "see --export"),
    ("export-file", "", "yes", SBATCH, IGNORED, "see --export"),
    ("propagate", "", "maybe", BOTH, IGNORED, "limits are the node's"),
    ("profile", "", "yes", BOTH, IGNORED, "see docs/users.md"),
    ("kill-on-invalid-dep", "", "yes", SBATCH, IGNORED, "HAI knows no dependencies"),
    ("no-kill", "k", "maybe", BOTH, IGNORED, "a gang that loses a node is resumed as a whole"),
    ("reboot", "", "no", BOTH, IGNORED, "nodes are the admin's"),
    ("verbose", "v", "no", BOTH, IGNORED, ""),
    ("input", "i", "yes", BOTH, IGNORED, "tasks have no standard input"),
    ("unbuffered", "u", "no", SRUN, IGNORED, ""),
    ("mpi", "", "yes", SRUN, IGNORED, "there is no PMI: start a program of MPI with mpirun"),
    ("wait", "W", "yes", SRUN, IGNORED, "see --kill-on-bad-exit"),
    ("jobid", "", "yes", SRUN, IGNORED, "a step belongs to its own task"),
    ("immediate", "I", "maybe", SRUN, IGNORED, ""),
    ("disable-status", "X", "no", SRUN, IGNORED, ""),
    ("accel-bind", "", "yes", SRUN, IGNORED, "see --gpus-per-task"),
    ("network", "", "yes", BOTH, IGNORED, "the network is the admin's"),
)
OPTIONS = tuple(Option(*row) for row in _ROWS)


class Words:
    """The parsed options.

    `given` has the values of the used options by name, an empty text for those without one; `notes` are sentences on
    what is left out; `rest` is what comes after the options.
    """

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self.notes: list[str] = []
        self.rest: list[str] = []

    def number(self, name: str, *, least: int = 1) -> int | None:
        """Return the value of an option as a whole number; None: the option was not given. Raises BadOption."""
        text = self.given.get(name)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
            raise BadOption(f"--{name}={text}: give a whole number of {least} or more")
        return int(text)


def read(words: Sequence[str], where: str, into: Words | None = None, *, at: str = "") -> Words:
    """Parse options up to the first word that is no option. Raises BadOption.

    Args:
        words: The words.
        where: `srun` or `sbatch`.
        into: Options that were parsed before; later ones win.
        at: The place of the words for error messages, such as `line 3: `.
    """
    found = Words() if into is None else into
    known = {option.name: option for option in OPTIONS if option.where in (where, BOTH)}
    spelled = {option.name: option.name + _VALUES[option.value] for option in known.values()}
    letters = {option.short: spelled[option.name] for option in known.values() if option.short}
    given, found.rest = KnownOptions(letters, spelled).split(words, anywhere=False, at=at)
    for name, value in given:
        _note(known[name], value, found, at)
    return found


def of_environment(env: Mapping[str, str]) -> list[str]:
    """Return the options of `sbatch` that variables give: `SBATCH_PARTITION` is `--partition`, as in Slurm."""
    found = []
    for option in OPTIONS:
        name = "SBATCH_" + ("TIMELIMIT" if option.name == "time" else option.name.upper().replace("-", "_"))
        if option.where in (SBATCH, BOTH) and option.value == "yes" and env.get(name):
            found.append(f"--{option.name}={env[name]}")
    return found


def _note(option: Option, value: str, found: Words, at: str) -> None:
    shown = f"--{option.name}" + (f"={value}" if value else "")
    if option.fate == REFUSED:
        raise BadOption(f"{at}{shown}: {option.about}")
    if option.fate == IGNORED:
        # `--cpu-bind=none`, `--input=none`, `--mpi=none`: that is what happens. Launchers of MPI ask for it.
        if option.about and value.lower() != "none":
            found.notes.append(f"{at}{shown} is left out: {option.about}")
        return
    found.given[option.name] = value
