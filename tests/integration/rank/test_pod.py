"""A rank as a pod: real processes, started from the zip application."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from kit.interpreters import interpreter
from kit.waiting import wait_for

#: A job that prints which signal came, and leaves when it may.
EARS = """
import os, signal, sys, time
def say(text):
    os.write(1, text.encode() + b"\\n")
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda number, _: say("heard " + signal.Signals(number).name))
say("up")
while not os.path.exists("go"):
    time.sleep(0.01)
sys.exit(5)
"""
SAVES = """
import time
from hai_client import job
print("in " + job.node_list[job.rank], flush=True)
while not job.should_suspend():
    time.sleep(0.01)
print("told " + job.notice().reason, flush=True)
job.suspended(step=7, path="/ckpt/7")
"""
ALONE = {"nodes": ["n-b"]}
FIRST = {"HAI_RANK": "0"}


def test_the_command_starts_when_all_ranks_are_up_and_knows_the_master(pod, service) -> None:
    pod.start("sh", "-c", "env; exit 3", env={"OWN": "container"})
    time.sleep(0.3)
    assert pod.log() == []
    service.gather("10.0.0.1", "10.0.0.2")
    assert pod.wait() == 3
    env = dict(line.partition("=")[::2] for line in pod.log())
    assert (env["MASTER_ADDR"], env["MASTER_IP"], env["PET_MASTER_ADDR"]) == ("10.0.0.1",) * 3
    assert (env["RANK"], env["HAI_RANK"], env["HAI_NODE_NAME"], env["OWN"]) == ("1", "1", "n-b", "container")
    assert env["HAI_RUNTIME_DIR"] == str(pod.run / "runtime")
    assert not {"HAI_POD_IP", "HAI_RUN_DIR", "HAI_TERMINATION_LOG", "HAI_GPUS", "HAI_TERMINATION_GRACE"} & set(env)
    assert (pod.message()["state"], pod.message()["exit_code"]) == ("exited", 3)
    assert service.tokens == {"Bearer run:41.2:abc"}


def test_a_rank_that_is_alone_does_not_wait_for_others(pod, service) -> None:
    service.stop()
    pod.start("sh", "-c", "echo $MASTER_ADDR", env={**FIRST, "HAI_LOG_DIR": str(pod.folder / "shared")}, **ALONE)
    assert pod.wait() == 0
    assert pod.log(pod.folder / "shared") == ["10.0.0.2"]


def test_a_rank_that_cannot_have_the_network_of_its_fabric_says_so_before_others_are_up(pod, service) -> None:
    pod.start("sh", "-c", "exit 0", memlock_bytes=2**60, env={"NCCL_IB_DISABLE": "1"})
    wait_for("a report on the network", lambda: "network" in service.kinds())
    service.gather("10.0.0.1", "10.0.0.2")
    assert pod.wait() == 0
    said = [line for line in pod.sent() if "RDMA will fall back to TCP" in line]
    assert len(said) == service.kinds().count("network")
    assert all(line.startswith("[hai] ") for line in said)


def test_a_command_that_fails_on_a_closed_network_is_told_why(pod, service) -> None:
    pod.start("sh", "-c", "echo 'curl: (28) Connection timed out'; exit 28", env=FIRST, internet="none", **ALONE)
    assert pod.wait() == 28
    first, second = pod.sent()
    assert first == "curl: (28) Connection timed out"
    assert second.startswith("[hai] if that was an address outside of the cluster: tasks of this platform do not reach")


@pytest.mark.parametrize("nodes", [["n-b"], ["n-b", "n-c"]], ids=["alone", "of a gang"])
def test_a_pod_that_was_made_after_its_run_was_over_never_starts_its_command(pod, service, nodes) -> None:
    service.wanted = 410
    pod.start("touch", "started", env=FIRST, nodes=nodes)
    assert pod.wait() == 143
    assert not (pod.folder / "started").exists()


def test_a_service_that_comes_late_is_found(pod, service) -> None:
    service.stop()
    pod.start("echo", "started")
    time.sleep(0.5)
    service.gather("10.0.0.1", "10.0.0.2")
    service.start()
    assert pod.wait() == 0
    assert pod.sent() == ["started"]


@pytest.mark.parametrize("answer", [204, 410], ids=["evicted", "killed"])
def test_a_pod_that_is_ended_while_it_waits_never_starts_its_command(pod, service, answer) -> None:
    service.leaving = answer
    process = pod.start("touch", "started")
    wait_for("a request with a token", lambda: service.tokens)
    process.terminate()
    assert pod.wait() == 143
    assert not (pod.folder / "started").exists()
    assert pod.message()["exit_code"] == 143
    assert service.kinds() == ["leaving"]
    assert "the command was not started" in pod.sent()[0]


def test_a_pod_that_is_ended_while_it_waits_for_a_service_that_is_away_is_no_failure_of_its_user(pod, service) -> None:
    process = pod.start("touch", "started", env={"HAI_TERMINATION_GRACE": "8"})
    wait_for("a request with a token", lambda: service.tokens)
    service.stop()
    process.terminate()
    assert pod.wait() == 125
    assert pod.message()["start_error"] == "its pod was ended before the run began"


@pytest.mark.parametrize(
    ("command", "code", "sentence"),
    [
        (["no-such-command"], 127, "[hai] no-such-command: command not found"),
        (["/etc/passwd"], 126, "[hai] /etc/passwd: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_executed_is_the_users(pod, command, code, sentence) -> None:
    pod.start(*command, env=FIRST, **ALONE)
    assert pod.wait() == code
    assert (pod.message()["exit_code"], pod.message()["start_error"]) == (code, None)
    assert pod.sent()[0].startswith(sentence)


def test_a_missing_working_directory_is_the_users(pod) -> None:
    pod.start("true", env=FIRST, cwd="/no/such/folder", **ALONE)
    assert pod.wait() == 127
    assert "cannot enter the working directory /no/such/folder" in pod.sent()[0]


@pytest.mark.parametrize(
    ("env", "changes", "sentence"),
    [
        ({"HAI_RANK": ""}, {}, "the pod's variable HAI_RANK is ''; it must be a whole number"),
        ({"HAI_RANK": "2"}, {}, "HAI_RANK is 2; the run has ranks 0 to 1"),
        ({}, {"schema": 9}, "schema is 9"),
        ({}, {"nodes": None}, "spec.json"),
        ({"HAI_RUN_DIR": "/proc/none"}, {}, "/proc/none"),
    ],
    ids=["no rank", "no such rank", "another schema", "no nodes", "nowhere to write"],
)
def test_a_pod_that_was_made_wrongly_is_the_platforms(pod, env, changes, sentence) -> None:
    pod.start("true", env=env, **changes)
    assert pod.wait() == 125
    assert pod.message()["exit_code"] is None
    assert sentence in pod.message()["start_error"]
    (line,) = (pod.folder / "output").read_text().splitlines()
    assert sentence in line


def test_a_rank_is_not_started_twice(pod) -> None:
    pod.run.mkdir(parents=True)
    (pod.run / "status.json").write_text("{}")
    pod.start("touch", "started", env=FIRST, **ALONE)
    assert pod.wait() == 125
    assert "no rank is started twice" in pod.message()["start_error"]
    assert not (pod.folder / "started").exists()


def test_the_job_in_a_pod_speaks_to_the_platform(pod, service) -> None:
    service.gather("10.0.0.1", "10.0.0.2")
    pod.start(sys.executable, "-c", SAVES, profile="cooperative")
    wait_for("the line to reach the service", lambda: pod.sent() == ["in n-b"])
    service.notify()
    assert pod.wait() == 0
    assert pod.sent() == ["in n-b", "told turn_over"]
    message = pod.message()
    assert (message["done"], message["checkpoint"]["step"], message["exit_code"]) == (True, 7, 0)
    assert message["notified_at"] is not None
    assert service.kinds()[:1] == ["received"]


class TestSigterm:
    """SIGTERM from the kubelet, whatever the reason for it."""

    @pytest.fixture
    def rank(self, pod, service):
        pod.start(sys.executable, "-c", EARS, env=FIRST, **ALONE)
        wait_for("the command to be up", lambda: pod.log() == ["up"])
        return pod

    def test_it_is_a_notice_that_the_service_hears_of(self, rank, service) -> None:
        rank.process.terminate()
        wait_for("the command to hear SIGTERM", lambda: "heard SIGTERM" in rank.log())
        (report,) = [report for report in service.reports if report["kind"] == "leaving"]
        assert 40 < report["seconds"] <= 60
        notice = json.loads((rank.run / "runtime" / "notice.json").read_text())
        assert (notice["kind"], notice["reason"]) == ("suspend", "evicted")
        assert rank.message()["notified_at"] is not None
        (rank.folder / "go").touch()
        assert rank.wait() == 5
        assert "received" not in service.kinds(), "the service has told it nothing"

    def test_it_is_a_notice_though_the_service_is_away(self, rank, service) -> None:
        service.stop()
        rank.process.terminate()
        wait_for("the command to hear SIGTERM", lambda: "heard SIGTERM" in rank.log())
        service.start()
        wait_for("the report that it leaves", lambda: "leaving" in service.kinds())
        (rank.folder / "go").touch()
        assert rank.wait() == 5
        assert rank.sent() == ["up", "heard SIGTERM"]

    def test_it_ends_a_run_that_the_service_has_killed(self, rank, service) -> None:
        service.leaving = 410
        rank.process.terminate()
        assert rank.wait() == 137
        assert rank.sent() == ["up", "heard SIGTERM"]
        assert not (rank.run / "runtime" / "notice.json").exists()

    def test_a_second_one_ends_it(self, rank, service) -> None:
        rank.process.terminate()
        wait_for("the command to hear SIGTERM", lambda: "heard SIGTERM" in rank.log())
        rank.process.terminate()
        assert rank.wait() == 137
        assert rank.message()["exit_code"] == 137

    def test_after_the_deadline_of_a_notice_it_ends_it(self, rank, service) -> None:
        service.notify(deadline="2020-01-01T00:00:00Z")
        wait_for("the command to hear SIGTERM", lambda: "heard SIGTERM" in rank.log())
        assert rank.process.poll() is None
        rank.process.terminate()
        assert rank.wait() == 137
        assert "leaving" not in service.kinds()

    def test_before_the_deadline_of_a_notice_the_job_goes_on_saving(self, rank, service) -> None:
        service.notify()
        wait_for("the command to hear SIGTERM", lambda: "heard SIGTERM" in rank.log())
        rank.process.terminate()
        wait_for("the report that it leaves", lambda: "leaving" in service.kinds())
        told = rank.run / "runtime" / "notice.json"
        wait_for("an earlier deadline", lambda: not json.loads(told.read_text())["deadline"].startswith("2126"))
        (rank.folder / "go").touch()
        assert rank.wait() == 5
        assert rank.log().count("heard SIGTERM") == 1


def test_when_the_pods_time_is_over_the_command_is_ended_by_itself(pod, service) -> None:
    # 6 s: less what is set aside for the end, 0.7 s are left to save.
    pod.start(sys.executable, "-c", EARS, env={**FIRST, "HAI_TERMINATION_GRACE": "6"}, **ALONE)
    wait_for("the command to be up", lambda: pod.log() == ["up"])
    before = time.monotonic()
    pod.process.terminate()
    assert pod.wait() == 137
    assert time.monotonic() - before < 6, "or the kubelet would have ended it"
    assert pod.sent()[:2] == ["up", "heard SIGTERM"]


def test_a_long_log_is_all_sent_before_the_pod_ends_though_the_service_went_away_meanwhile(pod, service) -> None:
    lines = 30_000
    pod.start("sh", "-c", f"seq 1 {lines}; while [ ! -e go ]; do sleep 0.05; done; echo end", env=FIRST, **ALONE)
    wait_for("a part of the log", lambda: service.log)
    service.stop()
    (pod.folder / "go").touch()
    wait_for("the pod's last message", lambda: pod.message().get("state") == "exited")
    assert pod.process.poll() is None, "it waits for the service"
    service.start()
    assert pod.wait() == 0
    assert pod.sent() == [*map(str, range(1, lines + 1)), "end"]


def test_a_pod_does_not_wait_without_end_for_a_service_that_is_away(pod, service) -> None:
    service.stop()
    pod.start("echo", "lost", env={**FIRST, "HAI_TERMINATION_GRACE": "1"}, **ALONE)
    assert pod.wait() == 0
    assert pod.message()["exit_code"] == 0


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_log_on_a_shared_volume_is_not_sent_and_the_service_may_read_it(pod, service, mask) -> None:
    shared = pod.folder / "logs" / "41.2" / "0"
    before = os.umask(mask)
    try:
        pod.start("sh", "-c", "umask", env={**FIRST, "HAI_LOG_DIR": str(shared)}, **ALONE)
    finally:
        os.umask(before)
    assert pod.wait() == 0
    assert pod.log(shared) == [f"{mask:04o}"]
    assert service.log == b""
    made = (shared.parent, shared, *shared.iterdir())
    assert [path.stat().st_mode & 0o777 for path in made] == [0o755, 0o755, 0o644]


def test_slurms_commands_are_programs_in_a_pod_too(pod, service) -> None:
    command = "scontrol show hostnames; scontrol requeue; echo $SLURM_PROCID $SLURM_NTASKS"
    service.gather("10.0.0.1", "10.0.0.2")
    pod.start("sh", "-c", command, profile="slurm")
    assert pod.wait() == 0
    assert pod.sent() == ["10.0.0.1", "10.0.0.2", "1 2"]
    assert pod.message()["done_all"] is True


def test_a_batch_script_and_its_steps_run_in_a_pod(pod) -> None:
    script = "#!/bin/sh\nsrun --label --ntasks=2 sh -c 'echo $SLURM_NTASKS'; exit 3\n"
    own = {**FIRST, "HAI_POD_IP": "127.0.0.1"}
    pod.start("hai-batch", "--ntasks-per-node=2", "--", script, profile="slurm", env=own, **ALONE)
    assert pod.wait() == 3
    assert sorted(pod.sent()) == ["0: 2", "1: 2"]


def test_a_command_runs_several_times_in_a_pod(pod, service) -> None:
    service.gather("10.0.0.1", "10.0.0.2")
    pod.start("sh", "-c", "echo $RANK/$WORLD_SIZE $LOCAL_RANK $HAI_NODE_ADDRESSES", ranks_per_node=2)
    assert pod.wait() == 0
    assert sorted(pod.sent()) == ["2/4 0 10.0.0.1,10.0.0.2", "3/4 1 10.0.0.1,10.0.0.2"]


def test_a_rank_runs_on_python_3_8(pod, service) -> None:
    python = interpreter("3.8")
    pod.python = python
    service.gather("10.0.0.1", "10.0.0.2")
    pod.start(python, "-c", SAVES, env={"PATH": f"{Path(python).parent}:/usr/bin:/bin"})
    wait_for("the line to reach the service", lambda: pod.sent() == ["in n-b"])
    pod.process.send_signal(signal.SIGTERM)
    assert pod.wait() in (0, 143)
    assert pod.sent() == ["in n-b", "told evicted"]
    assert pod.message()["checkpoint"]["step"] == 7
    assert (pod.folder / "output").read_text() == ""


def test_the_record_of_a_pod_says_what_was_caught_and_which_checkpoint_was_seen(pod, service, tmp_path) -> None:
    code = (
        "import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
        "open(os.environ['HAI_CHECKPOINT_DIR'] + '/model.pt', 'w').write('1')\ntime.sleep(600)\n"
    )
    checkpoints = tmp_path / "checkpoints"
    variables = {"HAI_CHECKPOINT_DIR": str(checkpoints)}
    pod.start(sys.executable, "-c", code, env=FIRST, task_env=variables, profile="auto", patience_s=300, **ALONE)
    wait_for("the command to be up", lambda: "up" in pod.log())
    service.notify()
    wait_for("the message that it was told", lambda: pod.message().get("notified_at"))
    (pod.folder / "go").touch()
    assert pod.wait() == 143
    message = pod.message()
    assert (message["signal"], message["caught"], message["signalled"]) == (15, False, True)
    assert (message["checkpoint"]["source"], message["checkpoint"]["path"]) == ("seen", str(checkpoints / "model.pt"))
