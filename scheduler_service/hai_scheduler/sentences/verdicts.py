"""Why a task waits: in whole sentences, and in a few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hai_scheduler.core.explaining.short import ShortWait
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import Value, Verdict, VerdictKind
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.words import amount, gang, level, quota_of, when, who


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictFacts:
    """What a verdict says, for one reader."""

    say: Language
    kind: VerdictKind
    priority: Priority
    data: Mapping[str, Value]
    #: The tasks that hold the nodes, as a list; empty: none.
    who: str
    now: datetime

    def number(self, name: str) -> float:
        """Return a number of the data. Raises TypeError."""
        value = self.data.get(name)
        if not isinstance(value, int | float):
            raise TypeError(f"{self.kind}: {name} is {value!r}")
        return value

    @property
    def needs(self) -> str:
        """What the task asks for. Raises TypeError."""
        gpus = self.data.get("gpus")
        return gang(self.say, int(self.number("needs")), gpus if isinstance(gpus, int) else None)

    @property
    def free(self) -> str:
        """What is free of it. Raises TypeError."""
        key = "part.free" if self.data.get("gpus") is None else "part.free_gpus"
        return self.say(key, n=int(self.number("free")))

    @property
    def orphaned(self) -> str:
        """How many nodes orphaned runs hold, or nothing: only an admin can end them (decision 0016)."""
        count = self.data.get("orphaned")
        return self.say("part.orphaned", n=count) if isinstance(count, int) else ""

    @property
    def crowded(self) -> str:
        """How many nodes carry pods from outside of HAI, and whose these are, or nothing (F5)."""
        count, crowd = self.data.get("crowded"), self.data.get("crowd")
        whose = self.say("part.crowd", whose=crowd) if crowd else ""
        return self.say("part.crowded", n=count, whose=whose) if isinstance(count, int) else ""

    @property
    def level(self) -> str:
        """The priority of the task."""
        return level(self.say, self.priority)

    def when(self, key: str, name: str) -> str:
        """Return a text with a time of the data, or nothing if that is not known."""
        at = self.data.get(name)
        return self.say(key, when=when(self.say, at, self.now)) if isinstance(at, datetime) else ""


def why(say: Language, verdict: Verdict, now: datetime) -> str:
    """Return why a task waits: whole sentences."""
    holders = who(say, verdict.holders)
    return why_of(
        VerdictFacts(say=say, kind=verdict.kind, priority=verdict.priority, data=verdict.data, who=holders, now=now)
    )


def why_of(facts: VerdictFacts) -> str:
    """Return a verdict as whole sentences. Raises TypeError: its data do not suffice."""
    return _SENTENCES[facts.kind](facts)


def _plain(facts: VerdictFacts) -> str:
    return facts.say(f"verdict.{facts.kind}")


def _quota(facts: VerdictFacts) -> str:
    say = facts.say
    return say(
        "verdict.QUOTA",
        needs=facts.needs,
        used=amount(facts.number("used")),
        limit=amount(facts.number("limit")),
        quota=quota_of(say, facts.data.get("subject")),
        level=facts.level,
        by=say("part.used_by", who=facts.who) if facts.who else "",
    )


def _capacity(facts: VerdictFacts) -> str:
    say, data = facts.say, facts.data
    held = say("part.held_by", who=facts.who) if facts.who else say("part.unusable")
    # It is not interrupted for equals, because it does not save (P8).
    unsaved = say("part.unsaved", task=data["unsaved"], times=data.get("unsaved_runs")) if data.get("unsaved") else ""
    return say(
        "verdict.CAPACITY",
        needs=facts.needs,
        free=facts.free,
        orphaned=facts.orphaned,
        held=held,
        unsaved=unsaved,
        crowded=facts.crowded,
    )


def _turn(facts: VerdictFacts) -> str:
    say = facts.say
    return say(
        "verdict.TURN",
        needs=facts.needs,
        free=facts.free,
        orphaned=facts.orphaned,
        equals=say("part.equals", who=facts.who) if facts.who else say("part.some_equals"),
        until=facts.when("part.turn_until", "until") or say("part.turn_over"),
        crowded=facts.crowded,
    )


def _reserved(facts: VerdictFacts) -> str:
    first = facts.who or facts.say("part.first")
    until = facts.when("part.kept_until", "until")
    return facts.say("verdict.RESERVED", needs=facts.needs, first=first, until=until, crowded=facts.crowded)


def _draining(facts: VerdictFacts) -> str:
    leaving = facts.say("part.leaving", who=facts.who) if facts.who else ""
    return facts.say("verdict.DRAINING", by=facts.when("part.free_by", "deadline"), leaving=leaving)


def _topology(facts: VerdictFacts) -> str:
    together = int(facts.number("together"))
    return facts.say("verdict.TOPOLOGY", needs=facts.needs, free=facts.free, together=together, crowded=facts.crowded)


def _retry(facts: VerdictFacts) -> str:
    say, data = facts.say, facts.data
    cause = next((cause for cause, name in (("broken", "broken"), ("unstarted", "why")) if name in data), "failed")
    if cause == "failed":
        key, number = "verdict.RETRY.retry", int(facts.number("retries"))
    else:
        key, number = "verdict.RETRY.start", int(facts.number("starts")) + 1
    until = facts.when("verdict.RETRY.until", "until") or say("verdict.RETRY.turn")
    words = str(data.get("broken", data.get("why"))).rstrip(".")
    return say(
        f"verdict.RETRY.{cause}", why=words, next=say(key, number=number, of=int(facts.number("of")), until=until)
    )


def _never(facts: VerdictFacts) -> str:
    cause = str(facts.data.get("cause"))
    asked, name = facts.data.get("needs"), facts.priority.name
    return facts.say(
        f"verdict.NEVER.{cause if cause in _CAUSES else 'quota'}",
        needs=facts.needs,
        cap=facts.data.get("cap"),
        level=facts.level,
        quota=quota_of(facts.say, cause),
        command=f"hai admin quota set user:NAME {name} {asked}",
    )


#: What keeps a task from ever starting; else it is the quota of a subject.
_CAUSES: Final = frozenset({"group", "gpus", "none"})
_SENTENCES: Final[Mapping[VerdictKind, Callable[[VerdictFacts], str]]] = {
    VerdictKind.QUOTA: _quota,
    VerdictKind.CAPACITY: _capacity,
    VerdictKind.TURN: _turn,
    VerdictKind.RESERVED: _reserved,
    VerdictKind.DRAINING: _draining,
    VerdictKind.TOPOLOGY: _topology,
    VerdictKind.RETRY: _retry,
    VerdictKind.NEVER: _never,
    VerdictKind.HELD: _plain,
    VerdictKind.PAUSED: _plain,
    VerdictKind.NEXT: _plain,
}


def short_words(say: Language, short: ShortWait) -> str:
    """Return why a task waits in a few words, without capital, full stop and the time until then."""
    key, data = short.id, dict(short.data)
    nodes, gpus = data.get("nodes"), data.get("gpus")
    assert isinstance(nodes, int), f"{key}: nodes is {nodes!r}"
    if key == "quota":
        used, limit = data.get("used"), data.get("limit")
        if not (isinstance(used, int | float) and isinstance(limit, int | float)):
            return say("short.quota_of_others")
        named = level(say, Priority[str(data["level"])])
        return say("short.quota", used=amount(used), limit=amount(limit), level=named)
    if key == "retry" and data.get("retry") is None:
        return say("short.next_start")
    if key == "reserved" and data.get("first") is None:
        key = "reserved_for_some"
    size = gang(say, nodes, gpus if isinstance(gpus, int) else None)
    return say(f"short.{key}", n=nodes, want=say("words.of_group", gang=size, group=data["group"]), **data)


def short_text(say: Language, short: ShortWait, words: str, now: datetime) -> str:
    """Return these words with the time until then, if it is known."""
    if short.until is None:
        return words
    # Without seconds: it is an estimate.
    at = f"{short.until:%H:%M} UTC" if short.until.date() == now.date() else f"{short.until:%Y-%m-%d %H:%M} UTC"
    return say("short.about", words=words, clock=at)
