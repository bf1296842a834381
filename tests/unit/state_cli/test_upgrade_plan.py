"""What `hai upgrade --plan` makes of what it finds: a table, without a platform."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hai_scheduler.state_cli.upgrade_plan import Database, UpgradeFacts, plan_of

FILE = Database(place="/s/hai.sqlite", is_file=True, revision="0026")
SERVER = Database(place="postgresql://hai@db/hai", is_file=False, revision="0026")
SAME = UpgradeFacts(
    installed="0.1.0",
    before="0.1.0",
    runs=True,
    state_dir=Path("/s"),
    database=FILE,
    newest="0026",
    revisions=(),
    live_runs=0,
    config=Path("/etc/hai.py"),
    unknown_settings=(),
)
NEXT = replace(SAME, installed="0.2.0", newest="0028", revisions=(("0027", "Colours."), ("0028", "Sizes.")))
BACKUP = "copy the database: hai backup --state-dir /s hai-0.1.0.sqlite"


@pytest.mark.parametrize(
    ("facts", "first"),
    [
        (SAME, []),
        (NEXT, [BACKUP]),
        (replace(NEXT, live_runs=3), [BACKUP]),
        (replace(NEXT, revisions=()), []),
        (replace(NEXT, before=None), ["copy the database: hai backup --state-dir /s hai-before.sqlite"]),
        (replace(NEXT, state_dir=Path("/my s")), [BACKUP.replace("/s", "'/my s'")]),
        (
            replace(NEXT, database=SERVER),
            ["copy the database: pg_dump --clean --if-exists --file hai-0.1.0.sql DATABASE"],
        ),
        (
            replace(SAME, unknown_settings=("HaiScheduler.old", "Old.x")),
            ["take out of /etc/hai.py what version 0.1.0 does not have: HaiScheduler.old, Old.x"],
        ),
        (replace(SAME, database=replace(FILE, problem="mend it")), ["mend it"]),
        (replace(NEXT, installed="0.4.0", revisions=(), live_runs=0), []),
    ],
)
def test_what_must_be_done_first(facts: UpgradeFacts, first: list[str]) -> None:
    assert list(plan_of(facts).first) == first


def test_runs_that_the_new_version_does_not_look_after_must_end_first() -> None:
    (stop, backup) = plan_of(replace(NEXT, installed="0.4.0", live_runs=1)).first
    assert stop.startswith("stop 1 live run: version 0.4.0 does not look after runs of version 0.1.0")
    assert backup == BACKUP


@pytest.mark.parametrize(
    ("facts", "changes"),
    [
        (SAME, ["version 0.1.0, which runs: the installed one is the same", "revision 0026; nothing is changed in it"]),
        (
            replace(SAME, database=replace(FILE, revision=None)),
            ["the same", "there is no database yet; the start"],
        ),
        (
            replace(NEXT, runs=False),
            [
                "version 0.1.0, which does not run -> 0.2.0, which is installed here",
                "/s/hai.sqlite: revision 0026 -> 0028, at the first start",
                "  0027  Colours.",
                "  0028  Sizes.",
            ],
        ),
        (replace(NEXT, before=None), ["a version that is not known, which runs -> 0.2.0", "0028", "0027", "0028"]),
    ],
)
def test_what_changes(facts: UpgradeFacts, changes: list[str]) -> None:
    found = plan_of(facts).changes
    assert len(found) == len(changes)
    assert all(part in line for part, line in zip(changes, found, strict=True))


def test_the_way_back_needs_a_backup_only_where_the_version_before_cannot_use_the_tables() -> None:
    install = "pip install 'hai-platform[up]==0.1.0'"
    assert plan_of(NEXT).back[1:-1] == [install]
    taken = replace(NEXT, database=replace(FILE, restore_to_go_back=True))
    assert plan_of(taken).back[1:-1] == [install, "hai restore --state-dir /s hai-0.1.0.sqlite"]
    taken = replace(NEXT, database=replace(SERVER, restore_to_go_back=True))
    assert plan_of(taken).back[1:-1] == [install, "psql --file hai-0.1.0.sql DATABASE"]


def test_tasks_that_run_are_named() -> None:
    assert "nothing runs" in plan_of(SAME).tasks
    assert plan_of(replace(SAME, live_runs=2)).tasks.startswith(
        "2 live runs: when the platform is stopped they are told"
    )
