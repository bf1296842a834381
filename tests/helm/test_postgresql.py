"""The chart's own PostgreSQL: Hub and scheduler have a role and a database each, and no way to the other's.

What the chart mounts is run against a real server of this machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hai_scheduler.store.store import open_store
from kit.databases import PostgresServer, own_postgres
from kit.helm.rendering import Render

Connect = Callable[..., psycopg.Connection[Any]]
OWN = {"hub": "jupyterhub", "scheduler": "hai"}
PASSWORDS = {
    "password": "of-the-superuser",
    "hub-password": "of-the-hub'$(x)\\",
    "scheduler-password": "of-the-scheduler",
}


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with own_postgres() as found:
        found.start()
        yield found


@pytest.fixture
def connect(server: PostgresServer) -> Connect:
    def as_user(user: str, database: str, password: str | None = None) -> psycopg.Connection[Any]:
        return psycopg.connect(host=str(server.folder), user=user, dbname=database, password=password, autocommit=True)

    return as_user


@pytest.fixture
def files(render: Render, tmp_path: Path) -> Path:
    """What the pod of the database has in /etc/hai."""
    folder = tmp_path / "postgresql"
    folder.mkdir()
    for name, text in render({}).one("ConfigMap", "postgresql")["data"].items():
        (folder / name).write_text(text)
    (tmp_path / "passwords").mkdir()
    for name, text in PASSWORDS.items():
        (tmp_path / "passwords" / name).write_text(text)
    return tmp_path


@pytest.fixture
def make_roles(server: PostgresServer, files: Path) -> Callable[[], subprocess.CompletedProcess[str]]:
    """Run the hook as the kubelet does; the server of these tests listens on its socket alone."""
    ready = files / "bin" / "pg_isready"
    ready.parent.mkdir()
    ready.write_text("#!/bin/sh\nexit 0\n")
    ready.chmod(0o755)
    environ = {
        "PATH": f"{ready.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PGHOST": str(server.folder),
        "HAI_PASSWORDS": str(files / "passwords"),
        "HAI_HOOK_LOG": str(files / "log"),
        "HAI_HOOK_PAUSE": "0",
    }
    (files / "log").touch()

    def run() -> subprocess.CompletedProcess[str]:
        script = files / "postgresql" / "roles.sh"
        return subprocess.run(["sh", script], env=environ, capture_output=True, text=True, check=False)

    return run


def test_each_has_its_own_database_and_may_not_enter_the_others(make_roles: Any, connect: Connect, files: Path) -> None:
    assert make_roles().returncode == 0, (files / "log").read_text()
    for role, database in OWN.items():
        with connect(role, database) as own:
            own.execute("CREATE TABLE things (id serial PRIMARY KEY)")
            own.execute("INSERT INTO things DEFAULT VALUES")
        for other in {"jupyterhub", "hai", "postgres", "template1"} - {database}:
            with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
                connect(role, other)


FORBIDDEN = (
    "CREATE ROLE more",
    "CREATE DATABASE more",
    "ALTER ROLE {role} SUPERUSER",
    "ALTER ROLE {other} PASSWORD 'x'",
    "SET ROLE hai",
    "SET ROLE {other}",
    "GRANT hai TO {role}",
    "SELECT * FROM pg_authid",
    "SELECT pg_read_file('/etc/passwd')",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "ALTER SYSTEM SET log_statement = 'all'",
    "DROP DATABASE {other_database}",
    "ALTER DATABASE {other_database} OWNER TO {role}",
    "GRANT CONNECT ON DATABASE {other_database} TO {role}",
)


def test_neither_is_a_superuser_or_can_become_one(make_roles: Any, connect: Connect) -> None:
    assert make_roles().returncode == 0
    rights = "rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls"
    for role, other in (("hub", "scheduler"), ("scheduler", "hub")):
        with connect(role, OWN[role]) as own:
            found = own.execute(f"SELECT {rights} FROM pg_roles WHERE rolname = current_user".encode()).fetchone()
            assert found == (False,) * 5
            for statement in FORBIDDEN:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    own.execute(statement.format(role=role, other=other, other_database=OWN[other]).encode())


async def test_a_database_of_an_older_chart_is_handed_over_with_all_that_is_in_it(
    server: PostgresServer, make_roles: Any, connect: Connect, files: Path
) -> None:
    with connect("hai", "postgres") as before:
        for database in OWN.values():
            before.execute(f"CREATE DATABASE {database} OWNER hai".encode())
    await (await open_store(server.url.replace("/postgres?", "/hai?"))).close()
    with connect("hai", "jupyterhub") as before:
        before.execute("CREATE TYPE colour AS ENUM ('red'); CREATE DOMAIN words AS text; CREATE SEQUENCE alone")
        before.execute("CREATE TABLE users (id serial PRIMARY KEY, n int GENERATED ALWAYS AS IDENTITY, c colour)")
        before.execute("INSERT INTO users (c) VALUES ('red'); CREATE VIEW all_users AS SELECT * FROM users")
        before.execute("CREATE MATERIALIZED VIEW some_users AS SELECT * FROM users; CREATE INDEX by_c ON users (c)")

    for _ in range(2):
        assert make_roles().returncode == 0, (files / "log").read_text()

    with connect("hub", "jupyterhub") as hub:
        assert hub.execute("SELECT id, n FROM all_users").fetchall() == [(1, 1)]
        hub.execute("INSERT INTO users (c) VALUES ('red'); ALTER TABLE users ADD COLUMN more text")
        hub.execute("ALTER TYPE colour ADD VALUE 'blue'; SELECT nextval('alone'); DROP INDEX by_c")
        hub.execute("REFRESH MATERIALIZED VIEW some_users; DROP VIEW all_users; DROP MATERIALIZED VIEW some_users")
        hub.execute("DROP TABLE users; DROP SEQUENCE alone; DROP DOMAIN words; DROP TYPE colour")
    store = await open_store(server.url.replace("hai@/postgres?", "scheduler@/hai?"))
    async with store.write() as tx:
        await tx.settings.put("paused", None)
    await store.close()
    with connect("scheduler", "hai") as scheduler:
        scheduler.execute("ALTER TABLE hai_tasks ADD COLUMN another int")


def test_passwords_count_and_a_new_one_is_taken_over_at_the_next_start(
    server: PostgresServer, make_roles: Any, connect: Connect, files: Path
) -> None:
    assert make_roles().returncode == 0
    rules = (files / "postgresql" / "pg_hba.conf").read_text()
    network_as_socket(server, rules)
    for role, database in OWN.items():
        connect(role, database, PASSWORDS[f"{role}-password"]).close()
        with pytest.raises(psycopg.OperationalError, match="password"):
            connect(role, database, PASSWORDS["password"])
        other = next(name for name in OWN.values() if name != database)
        with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
            connect(role, other, PASSWORDS[f"{role}-password"])
    with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
        connect("hai", "hai", PASSWORDS["password"])

    write_rules(server, rules)
    (files / "passwords" / "hub-password").write_text("of-the-hub-again")
    assert make_roles().returncode == 0
    network_as_socket(server, rules)
    connect("hub", "jupyterhub", "of-the-hub-again").close()
    with pytest.raises(psycopg.OperationalError, match="password"):
        connect("hub", "jupyterhub", PASSWORDS["hub-password"])
    shown = (files / "log").read_text() + (server.folder / "log").read_text()
    assert not [password for password in (*PASSWORDS.values(), "of-the-hub-again") if password in shown]


def network_as_socket(server: PostgresServer, rules: str) -> None:
    """Make the socket what the network is in the pod: these servers listen on nothing else."""
    lines = [line.split() for line in rules.splitlines() if line.startswith("host")]
    assert lines
    write_rules(server, "\n".join(f"local {database} {user} {method}" for _, database, user, _, method in lines) + "\n")


def write_rules(server: PostgresServer, rules: str) -> None:
    """Replace the rules of who may come, and wait until the server has read them."""
    folder = server.folder
    (folder / "data" / "pg_hba.conf").write_text(rules)
    log = folder / "log"
    before = log.read_text().count("reloading configuration files")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGHUP)
    end = time.monotonic() + 30
    while log.read_text().count("reloading configuration files") == before:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_hook_says_why_it_fails_and_ends(server: PostgresServer, make_roles: Any, files: Path) -> None:
    (files / "passwords" / "hub-password").unlink()
    (files / "postgresql" / "roles.sql").write_text("SELECT nonsense;\n")
    assert make_roles().returncode == 1
    said = (files / "log").read_text()
    assert 'column "nonsense" does not exist' in said
    assert "attempt 10 to make the roles failed" in said


def test_no_other_pod_is_told_the_superusers_password(render: Render) -> None:
    for values in ({}, {"scheduler": {"separate": True}}):
        for name, pod in render(values).pods():
            sources = [
                (source["secret"]["name"], item["key"])
                for volume in pod["volumes"]
                for source in volume.get("projected", {}).get("sources", [])
                for item in source["secret"]["items"]
            ]
            keys = {key for secret, key in sources if secret == "postgresql"}
            separate = bool(values)
            own = {"scheduler-password"}
            apart = {"hub": {"hub-password"}, "scheduler": own, "api": own}
            wanted = apart if separate else {"hub": {"hub-password"} | own}
            assert keys == wanted.get(name, set()), name
            whole = [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]
            assert ("postgresql" in whole) is (name == "postgresql"), name


def test_a_password_that_is_written_makes_the_others_which_stay_the_same(render: Render) -> None:
    def held(**given: str) -> dict[str, str]:
        return dict(render({"postgresql": given}).one("Secret", "postgresql")["data"])

    one, again, other = held(password="a" * 16), held(password="a" * 16, hubPassword="b" * 16), held(password="c" * 16)
    assert one["scheduler-password"] == again["scheduler-password"]
    assert len({*one.values(), *other.values()}) == 6
    assert again["hub-password"] not in one.values()


def test_the_server_is_told_its_rules_and_takes_no_login_before_the_roles_are_there(render: Render) -> None:
    (container,) = dict(render({}).pods())["postgresql"]["containers"]
    assert container["args"] == ["-c", "hba_file=/etc/hai/postgresql/pg_hba.conf"]
    assert container["lifecycle"]["postStart"]["exec"]["command"] == ["sh", "/etc/hai/postgresql/roles.sh"]
    places = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/etc/hai/postgresql", "/etc/hai/passwords"} <= places
    assert not [place for place in places if re.search("initdb", place)]
