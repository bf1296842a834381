"""Batch jobs: the script runs on rank 0, and `srun` in it on all ranks."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from hai_slurm.tasks import wire
from integration.slurm.conftest import SHIMS, ended, lines_of
from integration.slurm.test_launcher import EARS

BASH = "#!/bin/bash\n"


def test_the_script_runs_once_and_its_steps_on_all_nodes(ranks) -> None:
    script = BASH + (
        "echo once $SLURM_JOB_NUM_NODES $SLURM_NTASKS $SLURM_STEP_ID $1\n"
        "srun -l sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $LOCAL_RANK $HAI_RANK $SLURM_STEP_ID'\n"
        "srun -N1 sh -c 'echo $SLURM_STEP_ID $SLURM_STEP_NUM_NODES'\n"
    )
    first, second = ranks(2).batch(script, "--ntasks-per-node=2")
    code, printed = ended(first)
    assert code == 0
    lines = printed.splitlines()
    assert lines[0] == "once 2 4"
    assert sorted(lines[1:5]) == ["0: 0/4 0 0 0", "1: 1/4 1 0 0", "2: 2/4 0 1 0", "3: 3/4 1 1 0"]
    assert sorted(lines[5:]) == ["1 1", "1 1"]
    assert ended(second) == (0, "")


def test_the_output_of_a_step_can_be_taken_as_a_word(ranks) -> None:
    script = BASH + (
        'nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))\n'
        'echo "${#nodes[@]} ${nodes[1]} $(srun -N1 -n1 -w "${nodes[1]}" sh -c \'echo $HAI_RANK; echo aside >&2\' 2>/dev/null)"\n'  # noqa: E501
    )
    assert ended(ranks(2).batch(script)[0]) == (0, "2 127.0.0.2 1\n")


def test_a_rank_that_comes_late_hears_that_the_job_is_over(ranks) -> None:
    gang = ranks(2)
    first = gang.start(0, [f"{SHIMS}/hai-batch", "--", BASH + "echo over > over; exit 3"])
    lines_of(gang.root / "over")
    second = gang.start(1, [f"{SHIMS}/hai-batch", "--", BASH])
    assert (ended(first)[0], ended(second)[0]) == (3, 0)


def test_a_script_of_other_bytes_is_what_was_submitted(ranks) -> None:
    """`sbatch` sends a script that is not UTF-8 with a character for each byte."""
    gang = ranks(1)
    script = b"#!/bin/bash\nprintf 'donn\xe9es' > bytes\n".decode("latin-1")
    assert ended(gang.batch(script, "--encoding=latin-1")[0]) == (0, "")
    assert (gang.root / "bytes").read_bytes() == b"donn\xe9es"


def test_the_status_is_the_scripts(ranks) -> None:
    first, second = ranks(2).batch(BASH + "srun sh -c 'test $SLURM_PROCID = 0 || exit 6'; exit $(($? + 1))")
    assert (ended(first)[0], ended(second)[0]) == (7, 0)


def test_a_failing_task_ends_those_on_the_other_nodes(ranks) -> None:
    first, second = ranks(2).batch(BASH + "srun sh -c 'test $SLURM_PROCID = 0 && exit 5; exec sleep 60'; exit $?")
    assert ended(first)[0] == 5
    assert ended(second)[0] == 0


def test_steps_can_run_side_by_side_and_end_with_the_script(ranks) -> None:
    script = BASH + "srun -w 127.0.0.1 sleep 60 &\nsrun -w 127.0.0.2 sh -c 'echo mine $HAI_RANK'\n"
    first, second = ranks(2).batch(script)
    assert ended(first) == (0, "mine 1\n")
    assert ended(second)[0] == 0


def test_what_srun_is_sent_reaches_the_tasks_of_all_nodes(ranks) -> None:
    gang = ranks(2)
    script = (
        BASH
        + f'srun {sys.executable} -c "$EARS" & pid=$!\n'
        + "while [ ! -e go ]; do sleep 0.02; done\nkill -USR1 $pid; wait $pid"
    )
    first, _ = gang.batch(script, EARS=EARS)
    lines_of(gang.root / "heard", 2)
    (gang.root / "leave").write_text("4")
    (gang.root / "go").touch()
    assert ended(first)[0] == 4
    assert sorted(lines_of(gang.root / "heard", 4)) == ["0 SIGUSR1", "0 SIGUSR1", "0 up", "0 up"]


def test_after_a_notice_no_further_step_is_started(ranks) -> None:
    gang = ranks(2)
    gang.notice()
    first, _ = gang.batch(BASH + "srun echo never; exit $?")
    assert ended(first) == (143, "srun: the task was told to leave: no further step is started\n")


def test_the_shell_alone_is_told_where_the_script_says_so(ranks) -> None:
    gang = ranks(1)
    script = BASH + (
        "trap 'echo shell heard; kill -TERM $pid; wait $pid; exit 0' USR1\n"
        "srun sh -c 'echo ${LOCAL_RANK:-none} > up; exec sleep 60' & pid=$!\nwait $pid\n"
    )
    (first,) = gang.batch(script, "--signal-shell")
    assert lines_of(gang.root / "up") == ["none"]
    first.send_signal(signal.SIGUSR1)
    assert ended(first) == (0, "shell heard\n")


def test_a_script_without_steps_gets_the_signal_itself(ranks) -> None:
    gang = ranks(1)
    (first,) = gang.batch(
        BASH + f'LOCAL_RANK=0 {sys.executable} -c "$EARS"\n', EARS=EARS.replace("'LOCAL_RANK'", "'X'"), X="x"
    )
    lines_of(gang.root / "heard", 1)
    (gang.root / "leave").write_text("0")
    first.send_signal(signal.SIGUSR1)
    assert ended(first)[0] == 0
    assert lines_of(gang.root / "heard", 2) == ["x up", "x SIGUSR1"]


def test_a_copy_of_the_output_goes_where_the_script_says(ranks) -> None:
    gang = ranks(1)
    (first,) = gang.batch(BASH + "echo out; echo err >&2", "--output=o_%j_%x.txt", "--error=e.txt")
    code, printed = ended(first)
    assert (code, sorted(printed.splitlines())) == (0, ["err", "out"])
    assert [(gang.root / name).read_text() for name in ("o_7_n.txt", "e.txt")] == ["out\n", "err\n"]
    (again,) = gang.batch(BASH + "echo more", "--output=o_%j_%x.txt", HAI_RESTARTS="1")
    assert ended(again)[0] == 0
    assert (gang.root / "o_7_n.txt").read_text() == "out\nmore\n"


def test_a_stranger_gets_nothing_from_the_server(ranks) -> None:
    gang = ranks(1)
    (first,) = gang.batch(BASH + "echo up > up; while [ ! -e go ]; do sleep 0.02; done")
    lines_of(gang.root / "up")
    assert wire.find("127.0.0.1", b"run:guess", gang.run.run_id) is None
    found = wire.find("127.0.0.1", gang.token.read_bytes().strip(), gang.run.run_id)
    assert found is not None
    found.close()
    (gang.root / "go").touch()
    assert ended(first) == (0, "")


def test_the_script_is_the_one_that_was_submitted(ranks, tmp_path: Path) -> None:
    (first,) = ranks(1).batch(f"#!{sys.executable}\nimport os\nprint('python', os.environ['SLURM_JOB_ID'])\n")
    assert ended(first) == (0, "python 7\n")


def test_mpirun_hands_no_numbers_of_torch_on_to_its_processes(ranks) -> None:
    gang = ranks(2)
    # Hydra starts its daemon with srun, once a node, and hands on the variables of the script besides.
    daemon = gang.root / "hydra_pmi_proxy"
    daemon.write_text("#!/bin/sh\necho ${RANK-none} ${WORLD_SIZE-none} ${LOCAL_RANK-none} $SLURM_NODEID\n")
    daemon.chmod(0o755)
    script = (
        BASH + "echo ${RANK-none} ${WORLD_SIZE-none} ${NODE_RANK-none}\nsrun -N2 -n2 --input none ./hydra_pmi_proxy"
    )
    first, _ = gang.batch(script, "--ntasks-per-node=2")
    code, printed = ended(first)
    assert code == 0
    script_sees, *daemons = printed.splitlines()
    assert script_sees == "none none none"
    assert sorted(daemons) == ["none none none 0", "none none none 1"]
