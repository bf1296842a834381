"""Words, numbers and variables on pages agree with the code; generated files are up to date."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from datetime import timedelta

import pytest
from jupyter_server.services.contents import handlers

from docs.kit import files, spans, text_of
from hai_client import job, pythons
from hai_client.cli.reference import reference as cli_reference
from hai_hub.cluster.values_reference import reference as values_reference
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.app.settings_reference import reference as settings_reference
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.service.logs.rank_logs import KEEP_BYTES
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_METRICS, SCOPE_READ, SCOPE_WRITE
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_slurm.reference import table as slurm_table

SCHEDULING = text_of("docs/scheduling.md")
USERS = text_of("docs/users.md")
SERVICE = "scheduler_service/hai_scheduler"
MIB = 1024 * 1024


def has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


@pytest.mark.parametrize("kind", VerdictKind)
def test_every_verdict_has_its_row(kind: VerdictKind) -> None:
    assert f"\n| {kind} |" in SCHEDULING


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_row(reason: Reason) -> None:
    assert f"\n| `{reason}` |" in SCHEDULING


@pytest.mark.parametrize("profile", Profile)
def test_every_profile_has_its_row_for_users_and_for_admins(profile: Profile) -> None:
    for text in (SCHEDULING, USERS):
        assert re.search(rf"^\| `{profile}`", text, re.MULTILINE)


@pytest.mark.parametrize("level", Priority, ids=lambda level: level.name)
def test_every_level_is_there_with_its_number(level: Priority) -> None:
    assert f"{level.name} {level.value}" in SCHEDULING


def written(value: object) -> set[str]:
    """The ways in which a page may write a number of the policy."""
    if isinstance(value, str):
        return {value}
    if not isinstance(value, timedelta):
        return {f"{value:g}"}
    seconds = int(value.total_seconds())
    return {f"{seconds:,} s", f"{seconds // 60} min"} | ({f"{seconds // 3600} h"} if seconds % 3600 == 0 else set())


@pytest.mark.parametrize("field", dataclasses.fields(Policy), ids=lambda field: field.name)
def test_every_policy_number_is_there_with_its_default(field: dataclasses.Field[object]) -> None:
    shown = re.search(
        rf"\*{field.name}\*[ ,]*\(?([\d,.]+(?: s| min| h)?|offered|notify)", SCHEDULING.replace("\n", " ")
    )
    assert shown is not None, f"{field.name} is not in docs/scheduling.md"
    # A user without an entry has the weight 1: there is no default mapping to show.
    default = 1 if field.name == "weights" else field.default
    assert shown[1] in written(default)


@pytest.mark.parametrize("state", TaskState)
def test_every_state_is_a_word_of_the_architecture(state: TaskState) -> None:
    assert has_word(text_of("docs/architecture.md"), state.value)


@pytest.mark.parametrize("scope", [SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN, SCOPE_METRICS])
def test_every_scope_is_in_the_architecture(scope: str) -> None:
    assert f"`{scope}`" in text_of("docs/architecture.md")


def test_the_marks_of_nodes_are_the_verbs_of_operations() -> None:
    assert set(NodeMark) == {"none", "cordoned", "draining", "quarantined"}
    assert "hai admin cordon" in text_of("docs/operations.md")
    assert "quarantine" in text_of("docs/operations.md")


def variables() -> list[str]:
    """The names of all variables that these modules give to a rank."""
    found: set[str] = set()
    service = f"{SERVICE}/service/workspace/rank_env.py", f"{SERVICE}/adapters/local/environment.py"
    for name in (*service, "client/hai_client/rank/starting/environment.py"):
        for node in ast.walk(ast.parse(text_of(name))):
            keys: list[ast.expr | None] = []
            if isinstance(node, ast.Dict):
                keys = list(node.keys)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                keys = [node.slice]
            found |= {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    return sorted(word for word in found if re.fullmatch(r"[A-Z][A-Z_0-9]+", word))


@pytest.mark.parametrize("variable", variables())
def test_every_variable_of_a_rank_is_there_for_users(variable: str) -> None:
    words = {word for span in spans(USERS) for word in span.split()}
    families = {word.removesuffix("*") for word in words if word.endswith("_*")}
    assert variable in words or any(variable.startswith(family) for family in families)


def test_no_variable_is_promised_that_a_rank_does_not_get() -> None:
    words = {word.partition("=")[0] for span in spans(USERS) for word in span.split()}
    promised = {word for word in words if re.fullmatch(r"HAI_[A-Z_]+", word)}
    assert promised - set(variables()) == {
        "HAI_HOSTFILE",
        "HAI_PROVIDE",
        "HAI_TOKEN",
        "HAI_URL",
        # The user gives this value: a rank gets it from the user.
        pythons.VENV,
    }


def test_the_in_job_calls_of_the_page_exist_and_none_is_left_out() -> None:
    calls = set(re.findall(r"`job\.(\w+)\(", USERS))
    own = {name for name, what in vars(job.Job).items() if callable(what) and not name.startswith("_")}
    assert calls == own | {job.report.__name__, job.progress.__name__}
    named = {word.removeprefix("job.").strip() for word in re.findall(r"\| `(job\.rank[^`]+)`", USERS)[0].split(",")}
    assert named <= set(vars(job)) | {"state"}


def test_who_leads_is_asked_where_a_loop_of_the_chart_answers_and_by_the_words_of_its_log() -> None:
    page, loop = text_of("docs/operations.md"), text_of("helm/hai/templates/scheduler/deployment.yaml")
    asked = re.search(r"kubectl -n hai exec POD -c (\S+) -- python -c '.*127\.0\.0\.1:(\d+)/health/ready", page)
    words = re.search(r"grep -E '(.*)\|(.*)'", page)
    assert asked
    assert words
    assert f"- name: {asked[1]}\n" in loop
    assert f"{{name: health, containerPort: {asked[2]}}}" in loop
    leadership = text_of(f"{SERVICE}/service/platform/leadership.py")
    assert all(said in leadership for said in words.groups())


#: Words of a page that JupyterLab or the Hub's own form says, not the panel.
ELSEWHERE = {"Run on a training node"}


def test_each_row_of_what_users_want_says_what_to_do_and_where_more_is_said() -> None:
    rows = USERS.partition("| I want to |")[2].partition("\n\n")[0].splitlines()[2:]
    labels = set(json.loads(text_of("lab_extension/hai_lab/locale/zh_CN/LC_MESSAGES/hai_lab.json"))) | ELSEWHERE
    assert len(rows) > 20
    for row in rows:
        _, _, what, more, _ = row.split("|")
        named = re.findall(r"\*([^*]+)\*", what)
        assert "`" in what or named, row
        assert set(named) <= labels, row
        assert "](" in more, row


def default(kind: type, name: str) -> object:
    """The default of a field of settings."""
    return next(field.default for field in dataclasses.fields(kind) if field.name == name)


def test_where_checkpoints_and_logs_are_is_said_as_it_is() -> None:
    page = USERS.partition("## Files and results")[2].partition("\n## ")[0]
    assert f"`{default(ClusterSettings, 'checkpoint_root')}/USER/TASK`" in page
    kept = {default(kind, "log_max_bytes") for kind in (LocalSettings, ClusterSettings)}
    assert (kept, KEEP_BYTES) == ({64 * MIB}, 16 * MIB)
    assert "the last 64 MiB are kept; on Kubernetes the last 16 MiB" in page
    assert default(ServiceSettings, "keep_ended") == timedelta(days=30)
    assert "30 days after its end" in page


def test_jupyter_server_still_shows_a_folder_with_the_name_of_its_own_addresses_empty() -> None:
    # If this fails, the page of users may forget that there is a name to avoid.
    first = next(
        handler
        for route, handler in handlers.default_handlers
        if re.match(f"{route}$", "/api/contents/runs/checkpoints")
    )
    assert first is handlers.CheckpointsHandler
    assert "Call no folder `checkpoints`" in USERS


def test_every_setting_that_operations_names_exists() -> None:
    settings = settings_reference()
    for name in re.findall(r"`((?:HaiScheduler|SchedulingPolicy)\.\w+)", text_of("docs/operations.md")):
        assert f"`{name}`" in settings


def test_the_page_of_the_command_is_up_to_date() -> None:
    assert text_of("docs/reference/cli.md") == cli_reference(), "run: make reference"


def test_the_page_of_the_settings_is_up_to_date() -> None:
    assert text_of("docs/reference/settings.md") == settings_reference(), "run: make reference"


def test_the_page_of_the_charts_values_is_up_to_date() -> None:
    assert text_of("docs/reference/values.md") == values_reference(), "run: make reference"


def test_every_rule_that_code_cites_is_written_down() -> None:
    rules = set(re.findall(r"\*\*([A-Z]\d)\*\*", SCHEDULING))
    named = set(re.findall(r"\b([UQOPBFH]\d)\b", SCHEDULING))
    for file in files():
        if "/hai_scheduler/" in str(file) and file.suffix == ".py":
            cited = set(re.findall(r"(?<![\w\"'])([UQOPBFH]\d)(?![\w\"'])", file.read_text(encoding="utf-8")))
            assert cited <= rules | named, f"{file.name} cites {sorted(cited - rules - named)}"


def test_the_table_of_slurms_options_is_up_to_date() -> None:
    assert slurm_table() in USERS, "put the rows of `python -m hai_slurm.reference` into docs/users.md"
