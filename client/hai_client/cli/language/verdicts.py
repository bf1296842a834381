"""Why a task waits, in the user's language, as the panel says it (`lab_extension/src/text/verdicts.ts`).

The service says it in English, with a kind and data. In English its sentence is shown; in other languages one is made
of the data. What is not known here, or lacks data, is shown as the service says it. Priorities keep the names that
users type: `HIGH`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from hai_client.backports import UTC, dataclass
from hai_client.cli.language.catalogue import is_english, say, say_in, sentences
from hai_client.cli.language.words import amount, listed, moment, nodes, size, when
from hai_client.cli.shared.output import local_times
from hai_client.wire.schema import Holder, ShortWait, TaskSummary, Verdict

#: Tasks that are named at most.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class VerdictFacts:
    """What a verdict says.

    Attributes:
        kind: The kind of the verdict.
        priority: The effective priority of the task; None: not known here.
        data: The data of the kind.
        who: The tasks that hold the nodes, as a list; empty: none.
        now: The time at which it is read.
    """

    kind: str
    priority: str | None
    data: Mapping[str, Any]
    who: str
    now: datetime

    def number(self, name: str) -> float:
        """Return a number of the data.

        Raises:
            LookupError: There is none.
        """
        value = self.data.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise LookupError(name)
        return value

    def optional(self, name: str) -> float | None:
        """Return a number of the data; None: there is none."""
        try:
            return self.number(name)
        except LookupError:
            return None

    @property
    def needs(self) -> str:
        """What the task asks for.

        Raises:
            LookupError: It is not said.
        """
        gpus = self.optional("gpus")
        return size(int(self.number("needs")), None if gpus is None else int(gpus))

    @property
    def level(self) -> str:
        """The priority of the task.

        Raises:
            LookupError: It is not known here.
        """
        if self.priority is None:
            raise LookupError("priority")
        return self.priority

    def when(self, name: str) -> str | None:
        """Return a time of the data; None: there is none."""
        return when(self.data[name], self.now) if self.data.get(name) else None


def verdict(found: Verdict, priority: str | None = None, *, now: datetime | None = None) -> str:
    """Return why a task waits: one or more sentences, with local times.

    Args:
        found: The verdict.
        priority: The effective priority of the task; None: not known here.
        now: The present time.
    """
    at = now or datetime.now(UTC)
    if not is_english():
        said = of_facts(VerdictFacts(found.kind, priority, found.data, who(found.holders, found.holder_count), at))
        if said is not None:
            return said
    return local_times(found.sentence, now=now)


def waits(task: TaskSummary) -> str:
    """Return why a task waits; empty: it does not wait."""
    return "" if task.verdict is None else verdict(task.verdict, task.effective_priority)


def of_facts(facts: VerdictFacts) -> str | None:
    """Return a verdict of which only the data are known; None: only the service can say it."""
    try:
        return VERDICTS[facts.kind](facts)
    except LookupError:
        return None


def who(holders: tuple[Holder, ...], total: int = 0) -> str:
    """Return the first tasks in a list, and how many more there are."""
    names = [
        say("task %1 of %2 (%3, %4)", one.task_id, one.user, one.priority, size(one.nodes, one.gpus))
        for one in holders[:_NAMED]
    ]
    return listed(names, max(total, len(holders)))


def quota_of(subject: object) -> str:
    """Return whose quota a row is."""
    kind, _, name = str(subject).partition(":")
    return say("the quota of group %1 as a whole", name) if kind == "total" else say("the quota of %1", subject)


def _lacks(facts: VerdictFacts) -> str:
    orphaned = facts.optional("orphaned")
    return sentences(
        say("Needs %1; free: %2.", facts.needs, nodes(facts.number("free"))),
        None if orphaned is None else say("%1 held by runs that belong to no task any more.", nodes(orphaned)),
    )


def _capacity(facts: VerdictFacts) -> str:
    unsaved = facts.optional("unsaved")
    kept = "Task %1 keeps its nodes until it saves: it was interrupted %2 times in a row without a checkpoint."
    return sentences(
        _lacks(facts),
        say_in("nodes", "Held by %1.", facts.who) if facts.who else say("The others cannot be used now."),
        None if unsaved is None else say(kept, unsaved, facts.data.get("unsaved_runs", "")),
    )


def _quota(facts: VerdictFacts) -> str:
    return sentences(
        say(
            "Needs %1 but %2 of the %3 nodes that %4 allows at %5 are in use.",
            facts.needs,
            amount(facts.number("used")),
            amount(facts.number("limit")),
            quota_of(facts.data.get("subject")),
            facts.level,
        ),
        say("In use by %1.", facts.who) if facts.who else None,
    )


def _turn(facts: VerdictFacts) -> str:
    them = facts.who or say("tasks of equal priority")
    until = facts.when("until")
    return sentences(
        _lacks(facts),
        say("Of equal priority, and keep them until their turns are over: %1.", them)
        if until is None
        else say("Of equal priority, and can keep them until %2: %1.", them, until),
    )


def _reserved(facts: VerdictFacts) -> str:
    first = facts.who or say("a task that goes first")
    until = facts.when("until")
    if until is None:
        return say("Needs %1; what is free is kept for %2.", facts.needs, first)
    return say("Needs %1; what is free is kept for %2 until %3.", facts.needs, first, until)


def _draining(facts: VerdictFacts) -> str:
    by = facts.when("deadline")
    return sentences(
        say("Starts when its nodes are free.") if by is None else say("Starts when its nodes are free, by %1.", by),
        say("Saving and leaving: %1.", facts.who) if facts.who else None,
    )


def _topology(facts: VerdictFacts) -> str:
    return say(
        "Needs %1 close together; %2 free, but at most %3 of them within one zone, and as many tasks as may span "
        "zones do.",
        facts.needs,
        nodes(facts.number("free")),
        amount(facts.number("together")),
    )


def _retry(facts: VerdictFacts) -> str:
    of = amount(facts.number("of"))
    retries = facts.optional("retries")
    number = amount(facts.number("starts") + 1 if retries is None else retries)
    until = facts.when("until")
    start = (
        say("Start %1 of %2 waits for its turn.", number, of)
        if until is None
        else say("Start %1 of %2 waits until %3.", number, of, until)
    )
    if facts.data.get("broken"):
        return sentences(say("Its last run broke: %1.", facts.data["broken"]), start)
    if facts.data.get("why"):
        return sentences(say("It could not be started: %1.", str(facts.data["why"]).rstrip(".")), start)
    return sentences(
        say("Its command failed."),
        say("Retry %1 of %2 waits for its turn.", number, of)
        if until is None
        else say("Retry %1 of %2 waits until %3.", number, of, until),
    )


def _never(facts: VerdictFacts) -> str:
    cause, cap = facts.data.get("cause"), facts.data.get("cap", "")
    if cause == "group":
        return say("Cannot start: it needs %1 but its node group has %2; submit it with fewer nodes.", facts.needs, cap)
    if cause == "gpus":
        return say(
            "Cannot start: it needs %1 but the nodes of its group have %2 each; submit it with fewer GPUs.",
            facts.needs,
            cap,
        )
    if cause == "none":
        return say(
            "Cannot start: it needs %1 but there is no quota for it at %2; ask an admin for some, who gives it with "
            "`%3`.",
            facts.needs,
            facts.level,
            f"hai admin quota set user:NAME {facts.level} {amount(facts.number('needs'))}",
        )
    return say(
        "Cannot start: it needs %1 but %2 allows %3 at %4; submit it with fewer nodes or at another priority.",
        facts.needs,
        quota_of(cause),
        cap,
        facts.level,
    )


#: By the kind of a verdict: its sentences. A LookupError says that the data do not suffice.
VERDICTS: Mapping[str, Callable[[VerdictFacts], str]] = {
    "QUOTA": _quota,
    "CAPACITY": _capacity,
    "TURN": _turn,
    "RESERVED": _reserved,
    "DRAINING": _draining,
    "TOPOLOGY": _topology,
    "RETRY": _retry,
    "HELD": lambda _: say("Held by its owner; resume it to let it have its turn."),
    "PAUSED": lambda _: say("The platform is paused; it goes on when an admin resumes it."),
    "NEVER": _never,
    "NEXT": lambda _: say("Will be looked at in a moment."),
}


def _want(data: Mapping[str, Any]) -> str:
    return say_in("nodes of a group", "%1 of %2", size(int(data["nodes"]), data.get("gpus")), data["group"])


def _short_quota(data: Mapping[str, Any]) -> str:
    return say(
        "waits for quota: %1 of %2 nodes are in use at %3", amount(data["used"]), amount(data["limit"]), data["level"]
    )


def _short_reserved(data: Mapping[str, Any]) -> str:
    if data.get("first") is None:
        return say("waits for %1, after a task that goes first", _want(data))
    return say("waits for %1, after task %2", _want(data), data["first"])


#: By the id of a short wait: its words.
SHORT: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "quota": _short_quota,
    "quota_of_others": lambda _: say("waits for quota"),
    "capacity": lambda data: say("waits for %1", _want(data)),
    "turn": lambda data: say("waits for its turn on %1", _want(data)),
    "reserved": _short_reserved,
    "draining": lambda data: say("starts when free: %1", _want(data)),
    "topology": lambda data: say("waits for %1 close together", _want(data)),
    "retry": lambda data: say("waits for retry %1 of %2", data["retry"], data["of"]),
    "held": lambda _: say("held by its owner"),
    "paused": lambda _: say("waits: the platform is paused"),
    "never": lambda data: say("can never start with %1", _want(data)),
    "next": lambda _: say("will be looked at in a moment"),
}


def short(wait: ShortWait) -> str | None:
    """Return why a task waits in a few words; None: the English words are the user's, or all that is known."""
    if is_english():
        return None
    try:
        words = SHORT[wait.id](wait.data)
    except (LookupError, TypeError, ValueError):
        return None
    now = datetime.now(UTC)
    return words if wait.until is None else say("%1, until about %2", words, moment(wait.until, now)[:-3])
