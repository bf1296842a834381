"""`hfai.client` in processes of its own: in a task, outside of one, and in a rehearsal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.waiting import wait_for

ROOT = Path(__file__).parents[4]
NOTICE = {"kind": "suspend", "reason": "turn_over", "message": "", "at": "2126-01-01T00:00:00Z"}
#: Longer than anything takes on a busy machine.
PATIENCE = 60.0


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HAI_", "HFAI_", "MARSV2_"))}
    path = os.pathsep.join([str(ROOT / "client/hfai"), str(ROOT / "client")])
    return kept | {"PYTHONPATH": path} | variables


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def said(code: str, **variables: str) -> str:
    done = run(code, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def task(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """The variables of a rank of task 41, whose runtime folder is `tmp_path`."""
    (tmp_path / "reports").mkdir()

    def variables(rank: int = 0, **more: str) -> dict[str, str]:
        return {
            "HAI_TASK_ID": "41",
            "HAI_TASK_NAME": "mae",
            "HAI_USER": "ann",
            "HAI_RANK": str(rank),
            "HAI_NODES": "2",
            "HAI_NODE_LIST": "node-1,node-2",
            "HAI_RUNTIME_DIR": str(tmp_path),
            **more,
        }

    return variables


def reports(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "reports").glob("*.json"))]


def tell(folder: Path) -> None:
    (folder / "notice.json").write_text(json.dumps({**NOTICE, "deadline": "2126-01-01T00:02:00Z"}))


def test_outside_of_a_task_everything_is_harmless() -> None:
    done = run(
        "import hfai, hfai.client as c\n"
        "print(c.receive_suspend_command(), c.go_suspend(), c.get_whole_life_state(), c.set_whole_life_state(3))\n"
        "print(c.set_watchdog_time(60), c.set_priority(c.EXP_PRIORITY.HIGH), c.disable_warn(c.WARN_TYPE.LOG))\n"
        "print(c.nb_name(), c.task_id(), c.rank(), c.node_name(), c.user_name())\n"
        "hfai.go_suspend(); hfai.go_suspend()"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False None None False\nNone False False\nNO_CLUSTER -1 0 NAN_NODE \n"
    assert done.stderr.count("go_suspend does nothing here") == 1, "each function says it once"


def test_importing_it_loads_neither_torch_nor_numpy() -> None:
    code = "import sys, hfai, hf_env, hfai_env, haiscale, hfreduce.torch as r; r.set_log_level('info')\n"
    assert said(code + "print({'torch', 'numpy'} & set(sys.modules))") == "set()\n"


def test_set_env_says_once_which_python_runs() -> None:
    done = run("import hf_env, hfai_env; hf_env.set_env('202111'); hfai_env.set_env('hdmn')")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 1)
    assert sys.prefix in done.stderr


def test_in_a_task_it_knows_who_it_is(task) -> None:
    code = "import hfai; print(hfai.nb_name(), repr(hfai.task_id()), hfai.rank(), hfai.client.node_name())"
    assert said(code, **task(1)) == "mae '41' 1 node-2\n"


def test_the_notice_is_seen_on_the_node_of_rank_0_alone(task, tmp_path: Path) -> None:
    code = "import hfai; print(hfai.receive_suspend_command())"
    assert said(code, **task(0)) == "False\n"
    tell(tmp_path)
    assert said(code, **task(0)) == "True\n"
    assert said(code, **task(1)) == "False\n"


def test_the_other_nodes_count_as_polling_from_the_start_and_rank_0s_from_the_first_question(
    task, tmp_path: Path
) -> None:
    mark = tmp_path / "polling"
    said("import hfai", **task(0))
    assert not mark.exists(), "a script that never asks is not taken for one that does"
    said("import hfai; hfai.client.receive_suspend_command()", **task(0))
    assert mark.exists()
    mark.unlink()
    said("import hfai", **task(1))
    assert mark.exists(), "rank 0 speaks for this node"


def test_the_state_is_kept_as_a_number(task, tmp_path: Path) -> None:
    code = "import hfai; print(hfai.get_whole_life_state(), hfai.set_whole_life_state(12), hfai.get_whole_life_state())"
    assert said(code, **task(0)) == "0 True 12\n"
    assert [report["text"] for report in reports(tmp_path)] == ["12"]
    assert said(code, **task(0, HAI_STATE="12")) == "12 False 12\n"
    assert len(reports(tmp_path)) == 1, "what is kept already is not reported again"
    assert said("import hfai; print(hfai.get_whole_life_state())", **task(0, HAI_STATE="epoch 3")) == "0\n"


def test_going_speaks_for_all_and_waits_until_the_platform_ends_it(task, tmp_path: Path) -> None:
    tell(tmp_path)
    code = "import hfai\nassert hfai.receive_suspend_command()\nhfai.go_suspend()\nprint('went on', flush=True)"
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, env=environment(**task(0)), stdout=subprocess.PIPE, text=True) as process:
        try:
            (report,) = wait_for("a report", lambda: reports(tmp_path))
            assert (report["kind"], report["all_ranks"]) == ("done", True)
            assert process.poll() is None, "it does not end by itself, so that nothing comes after the training"
            # The question has taken SIGTERM over; having spoken, the process dies of it again.
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == -signal.SIGTERM
            assert process.stdout is not None
            assert process.stdout.read() == ""
        finally:
            process.kill()


@pytest.mark.parametrize(("node", "rank"), [(0, 0), (0, 3), (1, 4)])
def test_where_every_trainer_goes_rank_0_speaks_when_it_has_saved(task, tmp_path: Path, node: int, rank: int) -> None:
    """Trainers of rank 0 and 3 on one node, both of which ask, and of rank 4 on another, which has agreed with them."""
    tell(tmp_path)
    if node == 0:
        (tmp_path / "hfai-rank-0-polls").touch()
    code = (
        "import sys, types\n"
        "dist = types.ModuleType('torch.distributed')\n"
        "dist.is_available = dist.is_initialized = lambda: True\n"
        f"dist.get_rank = lambda: {rank}\n"
        "sys.modules['torch.distributed'] = dist\n"
        "import hfai\nprint(hfai.receive_suspend_command(), flush=True)\nhfai.go_suspend()"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, env=environment(**task(node)), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{node == 0}\n"
            if rank == 0:
                assert wait_for("a report", lambda: reports(tmp_path))[0]["all_ranks"] is True
            # It has its own meaning back once the process waits, whether it has spoken or not.
            while process.poll() is None:
                process.send_signal(signal.SIGTERM)
                time.sleep(0.01)
            assert process.wait() == -signal.SIGTERM
            assert len(reports(tmp_path)) == (1 if rank == 0 else 0)
        finally:
            process.kill()


def test_a_rehearsal_of_the_original_is_told_and_leaves() -> None:
    code = (
        "import hfai\nwhile not hfai.receive_suspend_command(): pass\n"
        "print(hfai.set_whole_life_state(4), hfai.get_whole_life_state(), flush=True)\nhfai.go_suspend()\nprint('on')"
    )
    rehearsal = {"HFAI_SIMULATE": "1", "SIMULATE_SUSPEND": "0.05", "MARSV2_WHOLE_LIFE_STATE": "7"}
    assert said(code, **rehearsal) == "True 7\n"
    assert said("import hfai; print(hfai.receive_suspend_command())", HFAI_SIMULATE="1") == "False\n"
    done = run("import hfai; hfai.receive_suspend_command()", HFAI_SIMULATE="1", SIMULATE_SUSPEND="soon")
    assert "SIMULATE_SUSPEND is 'soon'; it must be a number of seconds" in done.stderr


def test_the_watchdog_says_once_that_there_is_none(task) -> None:
    done = run("import hfai; hfai.set_watchdog_time(60); print(hfai.set_watchdog_time(60)['success'])", **task(0))
    assert done.stdout == "0\n"
    assert done.stderr.count("has no effect") == 1
    assert "--time-limit" in done.stderr
    assert "it must be a whole number" in run("import hfai; hfai.set_watchdog_time('60')").stderr


def test_without_a_login_the_priority_stays_and_it_says_how_to_change_it(task, tmp_path: Path) -> None:
    nowhere = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    code = "import hfai; print(hfai.set_priority(hfai.EXP_PRIORITY.LOW))"
    done = run(code, **task(0), **nowhere)
    assert done.stdout == "False\n", done.stderr
    assert "hai priority 41 LOW" in done.stderr
    done = run("import hfai; hfai.set_priority(0, raise_exception=True)", **task(0), **nowhere)
    assert "NotLoggedIn" in done.stderr
    assert "it must be a number of EXP_PRIORITY" in run("import hfai; hfai.set_priority(31)", **task(0)).stderr


def test_an_exception_in_a_trainer_ends_the_command_that_started_it(task, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import os, time\nfrom multiprocessing import get_context\nimport hfai\n"
        "context = get_context('spawn')\nhfai.client.bind_hf_except_hook(context.Process)\n"
        "hfai.client.bind_hf_except_hook(context.Process)\n"
        "def train(number):\n"
        "    if number == 1:\n        raise ArithmeticError('loss is nan')\n"
        "    while os.getppid() == int(os.environ['STARTED_BY']): time.sleep(0.05)\n"
        "if __name__ == '__main__':\n    os.environ['STARTED_BY'] = str(os.getpid())\n"
        "    started = [context.Process(target=train, args=(n,), daemon=True) for n in range(2)]\n"
        "    [one.start() for one in started]\n    [one.join() for one in started]\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment(**task(0)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == -signal.SIGTERM
    assert "ArithmeticError: loss is nan" in done.stderr


def test_a_name_that_is_missing_says_where_the_list_is() -> None:
    assert "docs/original.md" in run("import hfai; hfai.prof").stderr
    done = run("from hfai.pl import ModelCheckpointHF")
    assert "hfai.pl.ModelCheckpointHF is not part of hai-hfai; leave the callback out" in done.stderr
