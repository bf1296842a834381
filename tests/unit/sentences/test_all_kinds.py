"""Every kind of sentence is said in every language, and no text of a language is said by nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from hai_scheduler.core.explaining.alternatives import ChangeKind, WhatIf
from hai_scheduler.core.explaining.short import QUOTA_OF_OTHERS, ShortWait
from hai_scheduler.core.explaining.silence import SignsOfLife
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Fallback, Rank, RankState
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import Holder, Value, Verdict, VerdictKind
from hai_scheduler.core.notifying.values import NotificationKind
from hai_scheduler.core.ordering.shares import UserShare
from hai_scheduler.core.workspace.fabrics import NoFabric
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.assumptions import assumption, lengths_known
from hai_scheduler.sentences.catalogue import ENGLISH, Language, languages
from hai_scheduler.sentences.messages import (
    fallbacks_of,
    lacks_fabric,
    message_of,
    notice_of,
    silence_of,
    told_to_leave,
)
from hai_scheduler.sentences.notifications import MOST_NAMED, TOLD, digest_lines, digest_of, told
from hai_scheduler.sentences.verdicts import short_text, short_words, why
from hai_scheduler.sentences.what_if import share_sentence, what_would
from hai_scheduler.sentences.words import because, level
from hai_scheduler.service.insight.decisions import is_decision, sentence_of_event
from hai_scheduler.service.insight.forecast import (
    Cost,
    ForecastAssumption,
    Outcome,
    assumption_text,
    assumptions_for,
    of_running,
    sentence_of_forecast,
)
from hai_scheduler.service.insight.history import Basis
from hai_scheduler.service.insight.mark_preview import MarkPreview, sentence_of_preview
from hai_scheduler.service.insight.trial import _assumptions
from hai_scheduler.service.notifying.own_rules import MISSING
from kit.builders import a_node, a_notice, a_run, a_task, at
from unit.sentences.test_notifications import TEXTS, a_notification

HOUR = timedelta(hours=1)
HOLDERS = tuple(
    Holder(task_id=n, name="secret", user="bob", priority=Priority.HIGH, nodes=2, gpus=gpus)
    for n, gpus in ((41, None), (42, 1), (43, 2), (44, None))
)


class Heard(Language):
    """A language that notes which of its texts were said."""

    def __init__(self, language: Language) -> None:
        super().__init__(language.tag, language.texts)
        self.keys: set[str] = set()

    def __call__(self, key: str, /, **values: object) -> str:
        self.keys.add(key)
        return super().__call__(key, **values)


NEEDS: Mapping[str, Value] = {"needs": 2, "free": 1}
#: The data of each kind of verdict, in all its shapes.
DATA: Mapping[VerdictKind, tuple[Mapping[str, Value], ...]] = {
    VerdictKind.QUOTA: (
        {"needs": 2, "used": 1.5, "limit": 4, "subject": "user:ann"},
        {"needs": 2, "used": 1.5, "limit": 4, "subject": "total:ml"},
    ),
    VerdictKind.CAPACITY: (
        {**NEEDS, "orphaned": 1, "unsaved": 41, "unsaved_runs": 5},
        {"needs": 2, "free": 1, "gpus": 2, "crowded": 1, "crowd": ""},
        {**NEEDS, "crowded": 2, "crowd": "gpu-monitoring, ns ops"},
    ),
    VerdictKind.TURN: (NEEDS, {**NEEDS, "until": at(minutes=12)}, {**NEEDS, "until": at(hours=30)}),
    VerdictKind.RESERVED: (NEEDS, {**NEEDS, "until": at(minutes=12)}),
    VerdictKind.DRAINING: (NEEDS, {**NEEDS, "deadline": at(90)}),
    VerdictKind.TOPOLOGY: ({**NEEDS, "together": 1},),
    VerdictKind.RETRY: (
        {"retries": 1, "of": 3},
        {"retries": 1, "of": 3, "until": at(60)},
        {"starts": 1, "of": 3, "until": at(60), "why": "no image."},
        {"starts": 1, "of": 3, "until": at(60), "broken": "it was killed"},
    ),
    VerdictKind.NEVER: tuple(
        {"needs": 9, "cap": 4, "cause": cause} for cause in ("group", "gpus", "none", "public", "total:ml")
    ),
    VerdictKind.HELD: ({},),
    VerdictKind.PAUSED: ({},),
    VerdictKind.NEXT: ({},),
}


def verdicts(say: Language) -> Iterator[str]:
    for kind, holders in product(VerdictKind, ((), HOLDERS[:1], HOLDERS)):
        for data in DATA[kind]:
            yield why(say, Verdict(kind=kind, priority=Priority.NORMAL, data=data, holders=holders), at())


def shorts(say: Language) -> Iterator[str]:
    asked = {"nodes": 2, "gpus": None, "group": "a100"}
    more: Mapping[str, Mapping[str, Value]] = {
        "quota": {"used": 3.5, "limit": 4, "level": "HIGH"},
        "reserved": {"first": 41},
        "retry": {"retry": 1, "of": 3},
    }
    for key in [*(kind.value.lower() for kind in VerdictKind), QUOTA_OF_OTHERS]:
        for data in ({}, more.get(key, {})):
            short = ShortWait(id=key, data={**asked, **data}, until=at(hours=30))
            words = short_words(say, short)
            yield words
            yield short_text(say, short, words, at())


def changes(say: Language) -> Iterator[str]:
    task = a_task(nodes=4, gpus=3)
    for kind, subject in product(ChangeKind, ("user:ann", "total:ml")):
        change = WhatIf(kind=kind, priority=Priority.HIGH, nodes=2, gpus=1, limit=6, subject=subject, starts_now=True)
        yield what_would(say, change, task, at())
        for by, suspends in product((None, at(120)), ((), HOLDERS)):
            yield what_would(say, replace(change, starts_now=False, starts_by=by, suspends=suspends), task, at())
    for given, before in ((None, 0), (0.004, 0), (0.5, 1), (0.5, 3)):
        yield share_sentence(
            say,
            UserShare(user="ann", node_group="a100", given=given, weight=1.0, weights=2.5, users_before=before),
        )


def messages(say: Language) -> Iterator[str]:
    ranks = tuple(
        Rank(rank=n, node=f"node-{n}", state=RankState.EXITED, exit_code=1, message="out of memory") for n in range(6)
    )
    for state, reason in product((TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED), (None, *Reason)):
        run = a_run(ranks=ranks, ended_at=at(5), failed_ranks=tuple(range(6)))
        yield message_of(say, replace(a_task(state=state, run=run), reason=reason), None, at(9))
    waits = tuple(Rank(rank=n, node=f"node-{n}", message="no image.") for n in range(2))
    for number in (0, 1, 2):
        here = (*waits[:number], Rank(rank=3, node="n"))
        yield message_of(say, a_task(state=TaskState.STARTING, run=a_run(ranks=here, running_at=None)), None, at(9))
    yield message_of(say, a_task(state=TaskState.RUNNING, run=a_run(nodes=6)), None, at(9))
    yield message_of(say, a_task(), None, at(9))
    for reason in Reason:
        notice = a_notice(reason, beneficiary=3)
        for state in (TaskState.SUSPENDING, TaskState.STOPPING):
            yield message_of(say, a_task(state=state, run=a_run(notice=notice)), None, at(9))
        yield capital(notice_of(say, notice, a_task(3)))
        yield capital(told_to_leave(say, notice))
    for signs in (at(5), None):
        yield silence_of(say, SignsOfLife(printed=signs, saved=signs, used=signs, gpus=signs is None), TaskId(41))
    fallen = tuple(Rank(rank=n, node=f"node-{n}", fallback=why) for n, why in enumerate(Fallback))
    yield from (lacks_fabric(say, why, "training", "ann") for why in NoFabric)
    yield from fallbacks_of(say, a_run(ranks=fallen))
    yield from (capital(level(say, priority)) for priority in (None, *Priority))
    yield capital(because(say, None))


def forecasts(say: Language) -> Iterator[str]:
    running = of_running(a_task(state=TaskState.RUNNING, nodes=2), at())
    cost = Cost(task=a_task(2), at=at(), nodes=2, priority=Priority.LOW, unsaved=HOUR, switch=HOUR)
    verdict = Verdict(kind=VerdictKind.PAUSED, priority=Priority.LOW)
    for outcome, nodes, suspends, why_not in product(Outcome, ((), ("a", "b")), ((), (cost,)), (None, verdict)):
        yield sentence_of_forecast(
            say,
            replace(
                running,
                outcome=outcome,
                starts_at=at(60),
                computed_until=at(90),
                nodes=nodes or running.nodes if outcome is Outcome.RUNNING else nodes,
                suspends=suspends,
                verdict=why_not,
            ),
        )


def assumptions(say: Language) -> Iterator[str]:
    found: tuple[ForecastAssumption, ...] = assumptions_for(dict.fromkeys(Basis, 2), step=20 * HOUR, held=True)
    yield from (assumption_text(say, one) for one in found)
    yield capital(lengths_known(say, dict.fromkeys(Basis, 1)))
    counts = dict.fromkeys(("cut", "unstarted", "idle", "older"), 1)
    for one in _assumptions(counts, HOUR, HOUR, [a_node(ready=False)]):
        yield assumption(say, "trial", one.name, count=one.count, length=one.length)
    for name in ("lengths", "submissions", "leaving", "steps"):
        yield assumption(say, "preview", name, length=HOUR)


def previews(say: Language) -> Iterator[str]:
    for mark, count in product((NodeMark.DRAINING, NodeMark.CORDONED), (0, 1, 2)):
        some: Any = (a_task(),) * count
        yield sentence_of_preview(
            say,
            MarkPreview(
                at=at(),
                nodes=("a",) * max(1, count),
                mark=mark,
                displaced=some,
                staying=some,
                moved=some,
                later=some,
                later_left_out=0,
                empty_by=None,
                computed_until=at(),
                step=HOUR,
            ),
        )


def decisions(say: Language) -> Iterator[str]:
    verdict = {"kind": "TURN", "sentence": "As it was said.", "priority": "HIGH", "holders": [1, 2, 3, 4]}
    verdict |= {"data": {"needs": 1, "free": 0, "until": at(60).isoformat()}}
    told: Mapping[str, list[Mapping[str, Any]]] = {
        EventKind.TASK_VERDICT: [verdict, {**verdict, "kind": "of a later version"}],
        EventKind.TASK_STATE: [
            {"to": "starting", "run": 1, "nodes": ["a"]},
            {"to": "failed", "reason": "failed", "message": "rank 0 with status 1"},
            *(
                {"to": "suspended", "run": 1, "reason": "paused", "left": left, "lost_s": lost}
                for left, lost in product([*Left, None], (None, 90))
            ),
        ],
        EventKind.RUN_NOTICE: [
            {"run": 1, "deadline": at(90).isoformat(), "reason": "preempted", "revision": number, "beneficiary": 7}
            for number in (1, 2)
        ],
        EventKind.TASK_HELD: [{"held": True}, {"held": False}],
        EventKind.TASK_PRIORITY: [{"priority": "HIGH"}, {"priority": "OF_LATER"}],
        EventKind.TASK_ORDER: [{}],
    }
    for kind, rows in told.items():
        for data in rows:
            event = HistoryEvent(at=at(), kind=kind, actor="ann", data=data)
            assert is_decision(event)
            yield sentence_of_event(say, event)


def notifications(say: Language) -> Iterator[str]:
    for sentence in TOLD:
        yield told(say, sentence, TEXTS[sentence][0])
    failed = {"task": 7, "name": "n", "reason": "failed", "exit_codes": [1], "message": "out of memory"}
    yield told(say, "task.failed", failed)
    for ranks in ([0], [0, 1]):
        yield told(say, "task.idle_gpus", {**failed, "minutes": 30, "ranks": ranks, "of_ranks": 4})
    yield digest_of(say, 12, [kind.value for kind in NotificationKind])
    yield from (capital(line) for line in digest_lines(say, [a_notification(**failed)] * (MOST_NAMED + 1)))
    yield from (say(f"channel.{missing}") for missing in MISSING)


def capital(text: str) -> str:
    """A part of a sentence as a whole one, as far as the check of whole sentences goes."""
    return f"{text[:1].upper()}{text[1:]}"


KINDS: list[Callable[[Language], Iterator[str]]] = [
    verdicts,
    shorts,
    changes,
    messages,
    forecasts,
    assumptions,
    previews,
    decisions,
    notifications,
]


@pytest.mark.parametrize("tag", sorted(languages()))
def test_every_kind_is_said_in_every_language_and_no_text_by_nothing(tag: str) -> None:
    say = Heard(languages()[tag])
    said = [text for kind in KINDS for text in kind(say)]
    assert said
    for text in said:
        assert "{" not in text
        assert "None" not in text
        assert not any(mark in text for mark in ("  ", "..", "。。", ".;", "。；", "，，"))
    assert say.keys == set(ENGLISH.texts)


@pytest.mark.parametrize("kind", [verdicts, changes, messages, forecasts, previews, notifications])
def test_chinese_ends_its_sentences_in_chinese(kind: Callable[[Language], Iterator[str]]) -> None:
    """What is left in English is what others say: the cluster, the store, and names."""
    for text in kind(languages()["zh-cn"]):
        assert not text.endswith("."), text
