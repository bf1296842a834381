"""One command several times on a node: `hai submit --ranks-per-node K`, and a rank's share of `srun`."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from hai_client.launching.starting import own_shims, starting
from hai_client.linux.processes import read_table
from hai_client.rank.notices.workers import workers_of
from integration.slurm.conftest import ended, lines_of

EARS = """
import os, signal, sys, time
def say(text):
    with open("heard", "a") as file: file.write(f"{os.environ['LOCAL_RANK']} {text}\\n")
def heard(number, frame):
    say(signal.Signals(number).name)
    if os.path.exists("leave"): sys.exit(int(open("leave").read()))
for number in (signal.SIGTERM, signal.SIGUSR1): signal.signal(number, heard)
say("up")
while True: time.sleep(0.01)
"""
#: A daemon of MPI with two processes, each with its number in the variable that is named.
DAEMON = """
import os, subprocess, sys
code = "import os, time; open('pids', 'a').write(f'{os.getpid()}\\\\n'); time.sleep(60)"
for number in range(2): subprocess.Popen([sys.executable, "-c", code], env={**os.environ, sys.argv[1]: str(number)})
while True: os.wait()
"""
SHOW = "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $MASTER_ADDR"


def test_every_process_knows_which_of_all_it_is(ranks) -> None:
    gang = ranks(2, profile="auto", ranks_per_node=2)
    printed = [sorted(ended(process)[1].splitlines()) for process in gang.launch("sh", "-c", SHOW, each=2)]
    assert printed == [
        ["0 4 0 2 0 127.0.0.1", "1 4 1 2 0 127.0.0.1"],
        ["2 4 0 2 1 127.0.0.1", "3 4 1 2 1 127.0.0.1"],
    ]


def test_under_the_profile_slurm_it_sees_what_srun_gives(ranks) -> None:
    gang = ranks(2, ranks_per_node=2)
    show = "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $SLURM_NTASKS_PER_NODE $SLURM_TASKS_PER_NODE $SLURM_GTIDS"
    printed = [sorted(ended(process)[1].splitlines()) for process in gang.launch("sh", "-c", show, each=2)]
    assert printed == [["0 0 4 2 2(x2) 0,1", "1 1 4 2 2(x2) 0,1"], ["2 0 4 2 2(x2) 2,3", "3 1 4 2 2(x2) 2,3"]]


def test_one_run_of_weights_and_biases_is_the_tasks(ranks) -> None:
    gang = ranks(2, profile="auto", ranks_per_node=2)
    show = "echo $RANK ${WANDB_RUN_ID:-own} ${WANDB_RESUME:-none}"
    printed = [sorted(ended(process)[1].splitlines()) for process in gang.launch("sh", "-c", show, each=2)]
    assert printed == [["0 hai-7 allow", "1 own allow"], ["2 own none", "3 own none"]]
    gang = ranks(1, profile="auto", ranks_per_node=2)
    (process,) = gang.launch("sh", "-c", show, each=2, WANDB_RUN_ID="mine", WANDB_RESUME="must")
    assert sorted(ended(process)[1].splitlines()) == ["0 mine must", "1 mine must"]


def test_the_first_failure_ends_the_others_and_is_the_status(ranks) -> None:
    gang = ranks(1, ranks_per_node=3)
    (process,) = gang.launch("sh", "-c", "test $RANK != 1 || exit 7; exec sleep 60", each=3)
    code, printed = ended(process)
    assert code == 7
    assert printed == "hai-launch: task 1 ended with status 7; the others on this node are ended\n"


def test_who_still_saves_after_a_notice_is_not_disturbed(ranks) -> None:
    gang = ranks(1, ranks_per_node=2)
    gang.notice()
    script = "test $RANK = 0 || { echo no > failed; exit 1; }; while ! test -e saved; do sleep 0.02; done; echo done"
    (process,) = gang.launch("sh", "-c", script, each=2)
    lines_of(gang.root / "failed")
    (gang.root / "saved").touch()
    assert ended(process) == (1, "done\n")


def test_the_supervisor_finds_the_processes_and_not_the_launcher(ranks) -> None:
    gang = ranks(1, ranks_per_node=3)
    (process,) = gang.launch(sys.executable, "-c", EARS, each=3)
    lines_of(gang.root / "heard", 3)
    found = workers_of(read_table(), [process.pid])
    assert len(found.top) == 3
    assert process.pid not in found.top
    assert set(found.top) == found.under_agent


def test_a_signal_of_the_supervisor_is_not_handed_on_a_second_time(ranks) -> None:
    gang = ranks(1, ranks_per_node=2)
    (process,) = gang.launch(sys.executable, "-c", EARS, each=2)
    lines_of(gang.root / "heard", 2)
    # This process is what a supervisor is: the parent of the session's leader.
    process.send_signal(signal.SIGTERM)
    (gang.root / "leave").write_text("0")
    for pid in workers_of(read_table(), [process.pid]).top:
        os.kill(pid, signal.SIGUSR1)
    assert ended(process) == (0, "")
    assert sorted(lines_of(gang.root / "heard", 4)) == ["0 SIGUSR1", "0 up", "1 SIGUSR1", "1 up"]


def test_a_signal_of_another_process_is_handed_on(ranks) -> None:
    gang = ranks(1, ranks_per_node=2)
    (process,) = gang.launch(sys.executable, "-c", EARS, each=2)
    lines_of(gang.root / "heard", 2)
    (gang.root / "leave").write_text("3")
    # A child of this one is not the supervisor.
    assert os.spawnlp(os.P_WAIT, "sh", "sh", "-c", f"kill -USR1 {process.pid}") == 0
    assert ended(process) == (3, "")
    assert sorted(lines_of(gang.root / "heard", 4)) == ["0 SIGUSR1", "0 up", "1 SIGUSR1", "1 up"]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["no-such-program"], 127, "no-such-program: command not found"),
        (["/etc/passwd"], 126, "/etc/passwd: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_started_is_said_once(ranks, command, code: int, said: str) -> None:
    (process,) = ranks(1, ranks_per_node=2).launch(*command, each=2)
    found, printed = ended(process)
    assert found == code
    assert printed.count(said) == 1


def test_what_several_processes_print_keeps_its_lines(ranks) -> None:
    code = "import sys\nfor n in range(500):\n sys.stdout.write('x' * 50); sys.stdout.flush(); print('y' * 50)"
    (process,) = ranks(1, ranks_per_node=4).launch(sys.executable, "-c", code, each=4)
    status, printed = ended(process)
    assert (status, set(printed.splitlines())) == (0, {"x" * 50 + "y" * 50})
    assert len(printed.splitlines()) == 2000


def test_outside_of_a_batch_job_srun_is_the_ranks_own_share(ranks) -> None:
    gang = ranks(2)
    words = ["sh", "-c", "srun -l --ntasks-per-node=2 sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS'; echo $?"]
    printed = [sorted(ended(gang.start(rank, words))[1].splitlines()) for rank in range(2)]
    assert printed == [["0", "0: 0/4", "1: 1/4"], ["0", "2: 2/4", "3: 3/4"]]


def test_srun_divides_gpus_when_it_is_asked_to(ranks) -> None:
    gang = ranks(1)
    words = ["sh", "-c", "srun -n2 --gpus-per-task=2 sh -c 'echo $SLURM_LOCALID $CUDA_VISIBLE_DEVICES'"]
    assert sorted(ended(gang.start(0, words, CUDA_VISIBLE_DEVICES="4,5,6,7"))[1].splitlines()) == ["0 4,5", "1 6,7"]
    words = ["sh", "-c", "srun -n2 sh -c 'echo $CUDA_VISIBLE_DEVICES'"]
    assert ended(gang.start(0, words, CUDA_VISIBLE_DEVICES="4,5"))[1].splitlines() == ["4,5", "4,5"]


def test_tensorflow_and_mpi_are_told_in_their_own_form(ranks) -> None:
    gang = ranks(2, profile="auto", ranks_per_node=2)
    show = 'echo "$TF_CONFIG"; cat $HAI_HOSTFILE'
    printed = [
        ended(process)[1].splitlines() for process in gang.launch("sh", "-c", show, each=2, HAI_PROVIDE="tf,mpi")
    ]
    configs = [json.loads(line) for lines in printed for line in lines if line.startswith("{")]
    workers = ["127.0.0.1:29501", "127.0.0.1:29502", "127.0.0.2:29503", "127.0.0.2:29504"]
    assert [config["cluster"]["worker"] for config in configs] == [workers] * 4
    assert sorted(config["task"]["index"] for config in configs) == [0, 1, 2, 3]
    hosts = [line for lines in printed for line in lines if not line.startswith("{")]
    assert sorted(hosts) == sorted(["127.0.0.1 slots=2", "127.0.0.2 slots=2"] * 4)


def test_a_command_that_runs_once_is_told_as_well(ranks) -> None:
    gang = ranks(1, profile="auto")
    env = gang.environment(0, HAI_PROVIDE="mpi")
    words = starting(
        own_shims(), ["sh", "-c", "cat $HAI_HOSTFILE; echo ${TF_CONFIG:-none}; exit 3"], env, ranks_per_node=None
    )
    assert ended(gang.start(0, words, HAI_PROVIDE="mpi")) == (3, "127.0.0.1 slots=2\nnone\n")
    assert starting(own_shims(), ["true"], gang.environment(0), ranks_per_node=None) == ["true"]
    words = starting(own_shims(), ["no-such-program"], env, ranks_per_node=None)
    code, printed = ended(gang.start(0, words, HAI_PROVIDE="tf"))
    assert (code, printed) == (
        127,
        "hai-provide: no-such-program: No such file or directory; correct the command, or PATH\n",
    )


def test_each_task_of_srun_has_a_file_of_its_own(ranks) -> None:
    gang = ranks(1)
    words = ["sh", "-c", "srun -n2 -o 'out/%j_%t.txt' sh -c 'echo $SLURM_PROCID; echo e >&2'"]
    assert ended(gang.start(0, words)) == (0, "")
    assert {path.name: path.read_text() for path in (gang.root / "out").iterdir()} == {
        "7_0.txt": "0\ne\n",
        "7_1.txt": "1\ne\n",
    }


def test_the_commands_need_no_package_beside_the_tasks_python(ranks, tmp_path: Path) -> None:
    gang = ranks(1)
    words = ["sh", "-c", "cd / && srun -n1 true && scontrol show hostnames 'a[1-2]' | head -n 1 && squeue -h -o %T"]
    assert ended(gang.start(0, words, PYTHONPATH=str(tmp_path / "nothing"))) == (0, "a1\nRUNNING\n")


@pytest.mark.parametrize("variable", ["MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"])
def test_the_supervisor_finds_the_processes_of_mpi_and_not_its_daemon(ranks, variable: str) -> None:
    gang = ranks(1)
    # As `mpirun` does: the daemon of the node starts the processes, which have a number by a variable of its own.
    (gang.root / "prted").write_text(f"#!{sys.executable}\n{DAEMON}")
    (gang.root / "prted").chmod(0o755)
    process = gang.start(0, ["sh", "-c", f"exec srun -n1 -N1 ./prted {variable}"])
    lines_of(gang.root / "pids", 2)
    found = workers_of(read_table(), [process.pid])
    assert sorted(found.top) == sorted(int(line) for line in lines_of(gang.root / "pids", 2))
    assert set(found.top) == found.under_agent


def test_a_launcher_of_mpi_is_no_worker_before_it_has_started_one(ranks) -> None:
    gang = ranks(1)
    (gang.root / "mpirun").write_text("import time; open('up', 'w').write('up\\n'); time.sleep(60)")
    process = gang.start(0, [sys.executable, "mpirun", "program"])
    lines_of(gang.root / "up")
    found = workers_of(read_table(), [process.pid])
    assert (found.top, found.expected) == ([], True)
