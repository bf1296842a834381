"""The rules of docs/scheduling.md are cited where they are decided and by the tests that hold them."""

from __future__ import annotations

import re
from functools import cache

import pytest

from docs.kit import files, name_of, text_of

RULES = re.findall(r"^- \*\*([A-Z]\d)\*\* ", text_of("docs/scheduling.md"), re.MULTILINE)
SERVICE = "scheduler_service/hai_scheduler"
CITED = re.compile(r"\b[UQOPBFHI]\d\b")

#: Rules by the modules of the core that decide them.
HOMES = {
    "nodes/placement": "U1 F1 F2 F4",
    "capacity/group_capacity": "U2 B4",
    "capacity/free_pools": "U2",
    "capacity/node_states": "F3 F5",
    "planning/promises": "B3",
    "planning/queue_walk": "O1 Q4",
    "planning/queue_head": "B1 B2",
    "planning/plan": "U3",
    "ordering/quota": "Q1 Q2 Q3 Q4 Q5 Q6 Q7",
    "ordering/order": "O1 O2 O3",
    "ordering/turns": "O4 P2 P6 P7 P8 I1",
    "capacity/preemption": "P1 P3 P4 P5",
    "capacity/reservation": "B1 B2",
    "ordering/rules": "P1 P2",
    "lifecycle/run_outcome": "H1 H2 H4",
    "lifecycle/transitions": "B4 H1 H2 H4",
    "lifecycle/start_backoff": "H4",
    "metrics/idle": "I1",
    "nodes/quarantine": "H3",
}


@cache
def sources(folder: str) -> dict[str, str]:
    """The programs of a folder of the repository, by name."""
    found = [file for file in files() if file.suffix == ".py" and name_of(file).startswith(f"{folder}/")]
    return {name_of(file): file.read_text(encoding="utf-8") for file in found}


def test_every_rule_has_a_module_that_decides_it() -> None:
    assert set(" ".join(HOMES.values()).split()) == set(RULES)


@pytest.mark.parametrize(
    ("rule", "module"), [(rule, module) for module, rules in HOMES.items() for rule in rules.split()]
)
def test_a_rule_is_cited_where_it_is_decided(rule: str, module: str) -> None:
    assert rule in CITED.findall(text_of(f"{SERVICE}/core/{module}.py"))


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_named_by_a_test(rule: str) -> None:
    names = re.compile(rf"^(?:async )?def test_{rule.lower()}_|\b{rule}\b", re.MULTILINE)
    assert [name for name, text in sources("tests/unit").items() if names.search(text)]


def test_no_program_cites_a_rule_that_is_not_there() -> None:
    cited = {name: set(CITED.findall(text)) - set(RULES) for name, text in sources(SERVICE).items()}
    assert {name: rules for name, rules in cited.items() if rules} == {}
