"""Tasks and servers run as the Unix account of their user (`hai up --unix-users`), and cannot reach what is not theirs.

Real accounts, real processes: this needs root.
"""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hai_client
from hai_client.linux.identity import Account, account_named, acting_as, become, lacking_rights
from hai_client.linux.processes import read_table
from hai_scheduler.adapters.local.accounts import Accounts, users_folder
from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.files import LocalFiles
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.adapters.local.unix_identities import UnixIdentities, identity_of
from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.workspace.identity import Identity, NoIdentity
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.secret import Secret
from hai_spawner.containers.local import HaiLocalSpawner
from hai_spawner.containers.menu import Refusal
from kit.code_folders import CODE, store
from kit.waiting import until

ALICE, BOB = "hai-test-a", "hai-test-b"
#: A Python that every account may start; the Python of the tests may lie in root's home.
PYTHON = "/usr/bin/python3"

pytestmark = pytest.mark.skipif(
    bool(lacking_rights()) or os.geteuid() != 0 or shutil.which("useradd") is None, reason="this needs root and useradd"
)


@pytest.fixture(scope="module", autouse=True)
def accounts() -> Iterator[None]:
    """Create the accounts of two users; accounts that exist already stay."""
    made = [name for name in (ALICE, BOB) if account_named(name) is None]
    for name in made:
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", name], check=True)
    yield
    for name in made:
        subprocess.run(["userdel", "--remove", name], check=True, capture_output=True)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every account may enter; pytest's own folders are closed."""
    folder = Path(tempfile.mkdtemp(prefix="hai-unix-users-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def client() -> Iterator[str]:
    """A folder with `hai_client`, which every account may read; this checkout may lie in root's home."""
    folder = Path(tempfile.mkdtemp(prefix="hai-unix-users-"))
    package = folder / "hai_client"
    shutil.copytree(Path(hai_client.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder, package, *package.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield str(folder)
    shutil.rmtree(folder)


class World:
    """A state folder of the service, and the local clusters on it."""

    def __init__(self, place: Path, client: str) -> None:
        self.client = client
        self.state = place / "state"
        self.state.mkdir(mode=0o700)
        (self.state / "service_secret").write_text("the secret of the service")
        self.users = users_folder(self.state)
        self.settings = LocalSettings(
            runs_dir=self.state / "runs",
            nodes=tuple(LocalNode(node=Node(name=f"node-{number}")) for number in range(4)),
            api_url="http://127.0.0.1:9/api",
            path_prefix=(str(Path(sys.executable).parent),),
            term_wait_s=0.3,
            accounts=Accounts.open("{username}", self.users),
        )
        self.cluster = LocalCluster(self.settings)

    def launch(self, number: int, user: str, *command: str, **changes: Any) -> LaunchOrder:
        env = {"HAI_CHECKPOINT_DIR": str(self.users / "checkpoints" / user / str(number)), "PYTHONPATH": self.client}
        base = LaunchOrder(
            run_id=RunId(f"{number}.1"),
            task_id=TaskId(number),
            user=user,
            nodes=("node-1",),
            command=command,
            cwd="/",
            env=env,
            profile="sigterm",
            token=Secret(f"run:{number}.1:token-of-{user}"),
        )
        if "identity" not in changes:
            changes["identity"] = self.identity(user)
        return replace(base, **changes)

    def identity(self, user: str) -> Identity:
        """Who the user is, as the service says it."""
        accounts = self.settings.accounts
        assert accounts is not None
        return identity_of(accounts.of(user))

    async def rank(self, number: int, *states: RankState) -> RankObservation:
        async def look() -> RankObservation | None:
            runs = {run.run_id: run for run in await self.cluster.observe()}
            ranks = runs[RunId(f"{number}.1")].ranks
            return ranks[0] if ranks and ranks[0].state in states else None

        return await until(f"run {number} to be {', '.join(states)}", look)

    async def log(self, number: int) -> list[str]:
        """The lines of the log, without their times."""
        chunk = await self.cluster.read_log(RunId(f"{number}.1"), 0, offset=0, limit=1 << 20)
        return [line.partition(" ")[2] for line in chunk.data.decode().splitlines()]

    async def run(self, number: int, user: str, script: str, **changes: Any) -> tuple[RankObservation, list[str]]:
        """Run a script of `user` to its end; returns the rank as observed, and the lines that it printed."""
        await self.cluster.launch(self.launch(number, user, "sh", "-c", script, **changes))
        return await self.rank(number, RankState.EXITED), await self.log(number)

    async def printed(self, number: int, line: str) -> None:
        async def look() -> bool:
            return line in await self.log(number)

        await until(f"{line!r} to be printed", look)


@pytest.fixture
async def world(place: Path, client: str) -> AsyncIterator[World]:
    world = World(place, client)
    yield world
    for run in await world.cluster.observe():
        await world.cluster.kill(run.run_id)

    async def gone() -> bool:
        return all(run.gone for run in await world.cluster.observe())

    await until("every run to be gone", gone)
    await world.cluster.close()
    assert processes_of(ALICE) == processes_of(BOB) == []


def processes_of(name: str) -> list[int]:
    """The ids of the processes of an account, without zombies."""
    uid, found = pwd.getpwnam(name).pw_uid, []
    for pid, process in read_table().items():
        with suppress(OSError):
            if not process.zombie and Path(f"/proc/{pid}").stat().st_uid == uid:
                found.append(pid)
    return found


# -- who a task is ------------------------------------------------------------------------------------


async def test_a_task_is_its_users(world: World) -> None:
    alice = pwd.getpwnam(ALICE)
    script = (
        'id -u; id -ru; id -G; umask; echo "$HOME $USER $LOGNAME $SHELL"; '
        'grep -E "NoNewPrivs|CapEff" /proc/self/status; '
        "touch ~/here; stat -c '%U %a' ~/here; stat -c '%U %a' $HAI_CHECKPOINT_DIR; pwd; echo by name > /dev/stdout"
    )
    rank, said = await world.run(1, ALICE, script, cwd=alice.pw_dir)
    assert rank.exit_code == 0, said
    assert said == [
        str(alice.pw_uid),
        str(alice.pw_uid),
        str(alice.pw_gid),
        "0077",
        f"{alice.pw_dir} {ALICE} {ALICE} /bin/sh",
        "CapEff:\t0000000000000000",
        "NoNewPrivs:\t1",
        f"{ALICE} 600",
        f"{ALICE} 700",
        alice.pw_dir,
        "by name",
    ]


async def test_what_users_set_themselves_stays(world: World) -> None:
    launch = world.launch(1, ALICE, "sh", "-c", 'echo "$HOME"')
    await world.cluster.launch(replace(launch, env={**launch.env, "HOME": "/tmp"}))
    await world.rank(1, RankState.EXITED)
    assert await world.log(1) == ["/tmp"]


@pytest.fixture
def in_games() -> Iterator[int]:
    """The group `games`, of which Bob is a member for once."""
    subprocess.run(["usermod", "--append", "--groups", "games", BOB], check=True)
    yield grp.getgrnam("games").gr_gid
    subprocess.run(["usermod", "--groups", "", BOB], check=True)


async def test_all_groups_of_the_account_are_the_tasks_and_none_of_the_platforms(world: World, in_games: int) -> None:
    _, said = await world.run(1, BOB, "id -G")
    assert set(map(int, said[0].split())) == {pwd.getpwnam(BOB).pw_gid, in_games}


async def test_a_folder_that_the_account_cannot_enter_is_named(world: World) -> None:
    rank, (said,) = await world.run(1, BOB, "true", cwd=str(world.state))
    assert rank.exit_code == 127
    assert said == (
        f"[hai] the Unix account {BOB} cannot enter the working directory {world.state}: Permission denied; "
        "correct cwd, or its rights"
    )


# -- what is out of its reach -------------------------------------------------------------------------


async def test_a_task_reaches_nothing_of_the_platforms_or_of_other_users(world: World) -> None:
    alices = f'{PYTHON} -c \'import os; open(os.environ["HAI_CHECKPOINT_DIR"] + "/weights", "w").write("hers")\''
    await world.cluster.launch(world.launch(1, ALICE, "sh", "-c", f"{alices}; echo up; sleep 600"))
    await world.printed(1, "up")
    hers = world.users / "checkpoints" / ALICE / "1" / "weights"
    assert hers.read_text() == "hers"
    runtime = world.users / "run" / "1" / "1" / "0"
    rank = world.state / "runs" / "1" / "1" / "0"
    (log,) = (rank / "log").glob("*.log")
    pids = processes_of(ALICE)
    supervisor = int((rank / "lock").read_text())
    files = [hers, runtime / "token", rank / "token", rank / "spec.json", log, world.state / "service_secret"]
    files += [Path(f"/proc/{pid}/environ") for pid in (*pids, supervisor)]
    folders = [hers.parent, hers.parents[1], runtime, world.state, world.state / "runs", world.users / "run"]
    tries = [f'cat "{file}" > /dev/null && echo "READ {file}"' for file in files]
    tries += [f'ls "{folder}" && echo "LISTED {folder}"' for folder in folders]
    tries += [f'touch "{folder}/x" && echo "WROTE {folder}"' for folder in [*folders, world.users]]
    tries += [f"kill -0 {pid} && echo KILLED {pid}" for pid in (*pids, supervisor, os.getpid())]
    tries += ["kill -0 $PPID && echo KILLED the supervisor", "cat $HAI_TOKEN_FILE"]
    end, said = await world.run(2, BOB, "\n".join(tries))
    assert [line for line in said if line.startswith(("READ", "LISTED", "WROTE", "KILLED"))] == []
    # A task may read its own token, which is the last line that it printed.
    assert said[-1] == f"run:2.1:token-of-{BOB}"
    assert end.exit_code == 0
    assert len([line for line in said if "denied" in line.lower() or "permitted" in line.lower()]) == len(tries) - 1
    assert (await world.rank(1, RankState.RUNNING)).state is RankState.RUNNING


async def test_links_that_a_job_leaves_lead_no_further_than_it_could_go_itself(world: World) -> None:
    """The supervisor is root, and writes and removes files in the job's folder."""
    precious = world.state / "precious"
    precious.mkdir()
    (precious / "1.json").write_text('{"kind": "saved", "at": "2026-01-01T00:00:00Z", "step": 666}')
    (precious / "victim").write_text("as it was")
    os.chmod(world.state, 0o711)  # noqa: PTH101  even if the way were open
    os.chmod(precious, 0o711)  # noqa: PTH101
    os.chmod(precious / "1.json", 0o644)  # noqa: PTH101
    script = (
        f"cd $HAI_RUNTIME_DIR; rm -r reports; ln -s {precious} reports; rm -f notice.json*; "
        f"for name in notice.json notice.json.tmp notice.json.spare; do ln -s {precious}/victim $name; done; "
        "echo up; sleep 600"
    )
    await world.cluster.launch(world.launch(1, BOB, "sh", "-c", script))
    await world.printed(1, "up")
    # Two steps of the supervisor; each of them looks for reports.
    began = (await world.rank(1, RankState.RUNNING)).state
    await asyncio.sleep(0.3)
    assert began is RankState.RUNNING
    bob = account_named(BOB)
    runtime = world.users / "run" / "1" / "1" / "0"
    with acting_as(bob):
        from hai_client.rank.shared.safefile import SafeFile

        assert not SafeFile(str(runtime / "notice.json.new" / "x")).write(b"1")
        SafeFile(str(runtime / "notice.json")).write(b'{"kind": "suspend"}')
    assert (precious / "victim").read_text() == "as it was"
    assert (precious / "1.json").exists()
    assert (await world.rank(1, RankState.RUNNING)).checkpoint is None


async def test_what_is_shared_by_platform_and_job_works(world: World) -> None:
    code = "from hai_client import job; job.set_state('half'); job.saved(step=7); job.suspended()"
    await world.cluster.launch(world.launch(1, ALICE, PYTHON, "-c", code))
    rank = await world.rank(1, RankState.EXITED)
    assert rank.exit_code == 0, await world.log(1)
    assert rank.checkpoint is not None
    assert (rank.checkpoint.step, rank.job_state, rank.done) == (7, "half", True)


# -- its end ------------------------------------------------------------------------------------------


async def test_its_end_can_be_ordered_and_nothing_of_it_survives(world: World) -> None:
    daemons = "env -i setsid sh -c 'trap \"\" TERM HUP; (sleep 600 & sleep 600) & sleep 600' & "
    await world.cluster.launch(
        world.launch(1, BOB, "sh", "-c", f"trap '' TERM; {daemons} echo up; while :; do sleep 0.1; done")
    )
    await world.printed(1, "up")
    assert processes_of(BOB)
    await world.cluster.kill(RunId("1.1"))
    assert (await world.rank(1, RankState.EXITED)).exit_code == 137
    assert processes_of(BOB) == []


@pytest.mark.parametrize("both", [False, True], ids=["supervisor", "supervisor and keeper"])
async def test_nothing_survives_the_death_of_the_supervisor_either(world: World, both: bool) -> None:
    await world.cluster.launch(world.launch(1, BOB, "sh", "-c", "setsid sleep 600 & echo up; sleep 600"))
    await world.printed(1, "up")
    keeper = int((world.state / "runs/1/1/0/lock").read_text())
    (supervisor,) = (pid for pid, process in read_table().items() if process.parent == keeper)
    for pid in (keeper, supervisor) if both else (supervisor,):
        os.kill(pid, signal.SIGKILL)
    await world.rank(1, RankState.LOST)
    assert processes_of(BOB) == []


async def test_what_was_the_runs_goes_with_it_and_what_was_saved_stays(world: World) -> None:
    await world.run(
        1, BOB, "echo x > $HAI_CHECKPOINT_DIR/saved; ln -s / $HAI_RUNTIME_DIR/root; chmod 0 $HAI_RUNTIME_DIR"
    )
    assert (world.users / "run" / "1" / "1" / "0").exists()
    await world.cluster.forget(RunId("1.1"))
    assert list((world.users / "run").iterdir()) == []
    assert (world.users / "checkpoints" / BOB / "1" / "saved").read_text() == "x\n"


async def test_what_a_service_that_was_killed_has_half_prepared_is_made_whole(world: World) -> None:
    for half in (world.users / "checkpoints" / BOB, world.users / "run" / "1" / "1" / "0"):
        half.mkdir(mode=0o700, parents=True)
    (world.users / "run" / "1" / "1" / "0" / "token").touch(mode=0o600)
    rank, said = await world.run(
        1, BOB, "cat $HAI_TOKEN_FILE; echo; touch $HAI_CHECKPOINT_DIR/x; ls $HAI_CHECKPOINT_DIR"
    )
    assert (rank.exit_code, said) == (0, [f"run:1.1:token-of-{BOB}", "x"])


# -- who has no account -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("hai-test-nobody", "useradd --create-home hai-test-nobody"),
        ("root", "which is root"),
        ("..", "no name for a folder"),
    ],
)
async def test_who_has_no_account_is_told(world: World, user: str, words: str) -> None:
    assert world.settings.accounts is not None
    with pytest.raises(NoIdentity, match=words):
        await UnixIdentities(world.settings.accounts).of(user)


async def test_a_run_of_nobody_is_never_the_platforms(world: World) -> None:
    with pytest.raises(Temporary, match="not said as whom"):
        await world.cluster.launch(world.launch(1, ALICE, "true", identity=None))


async def test_a_build_for_a_group_runs_as_the_account_of_builds_and_never_as_root(world: World) -> None:
    own = {"HAI_CHECKPOINT_DIR": str(world.users / "checkpoints" / BOB / "1"), "PYTHONPATH": world.client}
    assert world.settings.accounts is not None
    identities = UnixIdentities(world.settings.accounts)
    builder = await identities.of_account(BOB)
    rank, said = await world.run(
        1, ALICE, "id -un; echo $HOME; stat -c %U $HAI_CHECKPOINT_DIR", identity=builder, folders_of=BOB, env=own
    )
    assert (rank.exit_code, said) == (0, [BOB, pwd.getpwnam(BOB).pw_dir, BOB])
    assert not (world.users / "checkpoints" / ALICE).exists(), "the user's own folders are not made for that account"
    with pytest.raises(NoIdentity, match="which is root"):
        await identities.of_account("root")


async def test_a_file_that_a_user_may_not_see_is_not_told_from_one_that_is_not_there(world: World) -> None:
    files = LocalFiles(unix_users=True)
    assert await files.fault(("/nothing/here",), str(world.state / "nothing"), None) is None


async def test_a_template_gives_all_of_them_one_account(world: World) -> None:
    accounts = Accounts.open(BOB, world.users)
    world.cluster = LocalCluster(replace(world.settings, accounts=accounts))
    carol = await UnixIdentities(accounts).of("carol")
    _, said = await world.run(1, "carol", "id -un; stat -c %U $HAI_CHECKPOINT_DIR", identity=carol)
    assert said == [BOB, BOB]


def test_a_state_folder_behind_a_closed_one_is_refused(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ValueError, match=r"closed is closed to them: choose another --state-dir"):
        Accounts.open("{username}", closed / "state-users")


def test_without_the_rights_it_says_which_are_missing(client: str) -> None:
    bob = account_named(BOB)
    assert bob is not None
    code = "from hai_client.linux.identity import lacking_rights; print(*lacking_rights())"
    done = subprocess.run(
        [PYTHON, "-c", code],
        env={"PYTHONPATH": client},
        cwd="/",
        preexec_fn=lambda: become(bob, no_new_privs=True),
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["CAP_CHOWN", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"]


# -- JupyterLab servers -------------------------------------------------------------------------------


def spawner(place: Path, name: str, **more: Any) -> HaiLocalSpawner:
    made = HaiLocalSpawner(
        home_root=str(place / "home"),
        hai_url="http://127.0.0.1:8000",
        hai_api_url="http://127.0.0.1:9/services/hai/api/v1",
        unix_users="{username}",
        **more,
    )
    made.user = SimpleNamespace(name=name, url=f"/user/{name}/", escaped_name=name)
    made.hub = SimpleNamespace(public_host="", api_url="http://127.0.0.1:1/hub/api", base_url="/hub/")
    made.api_token = "secret"
    return made


def test_a_server_is_its_users(place: Path) -> None:
    alice = pwd.getpwnam(ALICE)
    made = spawner(place, ALICE)
    assert "--allow-root" not in made.get_args()
    env = made.get_env()
    assert (env["HOME"], env["USER"], env["SHELL"]) == (alice.pw_dir, ALICE, "/bin/sh")
    script = "id -u; id -G; umask; pwd; grep CapEff /proc/self/status; cat /proc/$PPID/environ"
    done = subprocess.run(
        ["sh", "-c", script],
        env=env,
        preexec_fn=made.make_preexec_fn(ALICE),
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        text=True,
    )
    said = done.stdout.splitlines()
    assert said == [str(alice.pw_uid), str(alice.pw_gid), "0077", alice.pw_dir, "CapEff:\t0000000000000000"]
    assert "ermission denied" in done.stderr, "the Hub's variables are not hers to read"
    assert not (place / "home").exists()


async def test_a_user_without_an_account_is_told_what_to_do(place: Path) -> None:
    with pytest.raises(Refusal, match="useradd --create-home hai-test-nobody") as caught:
        await spawner(place, "hai-test-nobody").decide()
    assert caught.value.status == 403


async def test_an_account_may_lack_a_home(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homeless = Account(name=ALICE, uid=12345, gid=12345, groups=[], home=str(place / "gone"), shell="/bin/sh")
    monkeypatch.setattr("hai_spawner.containers.local_settings.find_account", lambda *_: homeless)
    with pytest.raises(Refusal, match="home folder"):
        await spawner(place, ALICE).decide()


async def test_a_task_starts_in_the_snapshot_of_its_user_alone(world: World) -> None:
    snapshots = SnapshotFolder(
        world.users / "snapshots", SystemClock(), account_of=Accounts("{username}", world.users).of
    )
    await store(snapshots, CODE, ALICE)
    cwd = (await snapshots.folder(ALICE, CODE.digest)).path
    rank, said = await world.run(1, ALICE, "cat train.py; touch new 2>/dev/null || echo closed", cwd=cwd)
    assert (rank.exit_code, said) == (0, ["print(1)", "closed"])
    _, said = await world.run(2, BOB, f"cat {cwd}/train.py 2>/dev/null || echo closed")
    assert said == ["closed"]
