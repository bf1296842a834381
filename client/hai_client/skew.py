"""Who may speak to whom: which versions of HAI's parts work with a service of which version, and who can act if not.

Versions differ while a platform is upgraded, and afterwards on laptops, in servers and in runs that last for days.
docs/versions.md has the table for people; a test compares the two.
"""

from __future__ import annotations

import re

from hai_client.backports import dataclass

#: Nothing is to be done.
FINE = "fine"
#: It works, and the user or the admin should be told.
SAY = "say"
#: It is not promised to work, and the user or the admin must act.
REFUSE = "refuse"
#: One of the versions is not known: nothing is said, and nothing is refused.
UNKNOWN = "unknown"

#: `hai` and the Python client.
CLIENT = "client"
#: What looks after the ranks of a live run: `hai.pyz` and its keepers.
SUPERVISOR = "supervisor"
#: The panel of a JupyterLab server that runs, and a page of Studio that is open.
PANEL = "panel"
#: Another process of the service on the same database.
REPLICA = "replica"
#: The images of the chart; here `service` is the chart's version.
IMAGE = "image"

#: A version: numbers, and then what PEP 440 and builders add. All else is no version, and is never shown or logged.
_FORM = re.compile(
    r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:(?:[.-]?[A-Za-z]|\+[A-Za-z0-9])[A-Za-z0-9.+-]{0,31})?"
)


@dataclass(frozen=True, slots=True)
class Minors:
    """How many minors a part may be older and newer than the service; `quiet`: nobody is told of a difference."""

    older: int
    newer: int
    quiet: bool = False


#: A service may be set back by one minor without a restore, so each part may be newer by one.
PROMISED = {
    CLIENT: Minors(1, 1),
    SUPERVISOR: Minors(2, 1, quiet=True),
    PANEL: Minors(1, 1),
    REPLICA: Minors(1, 1),
    IMAGE: Minors(0, 0),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a part works with a service."""

    state: str  #: FINE, SAY, REFUSE or UNKNOWN.
    sentence: str = ""  #: What is so, and who can do what about it; empty: nothing is to be said.
    who: str = ""  #: Who can act: `user` or `admin`; empty: nobody has to.
    until: str = ""  #: The first minor of the service with which it does not work any more, such as `0.3`.


def numbers(version: str | None) -> tuple[int, int, int] | None:
    """Return major, minor and patch of a version; None if there is none, or the text is no version.

    A version under development or with a build's own label counts as the one that it leads to: `0.2.0.dev3` as 0.2.0.
    """
    found = _FORM.fullmatch(version) if version else None
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))


def judge(pair: str, version: str | None, service: str | None) -> Verdict:
    """Return whether a part works with the service.

    Patches of one minor work together. So does what is promised for the pair. Another major does not: its
    first release will say which minors before it it knows.

    Args:
        pair: CLIENT, SUPERVISOR, PANEL, REPLICA or IMAGE.
        version: The version of the part, as it was sent; None: it was not.
        service: The same of the service.
    """
    part, other = numbers(version), numbers(service)
    if part is None or other is None:
        return Verdict(UNKNOWN)
    promised = PROMISED[pair]
    until = f"{part[0]}.{part[1] + promised.older + 1}"
    if part == other or (part[:2] == other[:2] and pair != IMAGE):
        return Verdict(FINE, until=until)
    newer = part > other
    apart = abs(part[1] - other[1])
    kept = part[0] == other[0] and pair != IMAGE and apart <= (promised.newer if newer else promised.older)
    if kept and promised.quiet:
        return Verdict(FINE, until=until)
    who, sentence = _SENTENCES[pair](newer, kept, str(version), str(service))
    return Verdict(SAY if kept else REFUSE, sentence, who, until)


def _minor(at: tuple[int, int, int], by: int = 0) -> str:
    return f"{at[0]}.{max(0, at[1] + by)}"


def _of_client(newer: bool, kept: bool, version: str, service: str) -> tuple[str, str]:
    at = numbers(service) or (0, 0, 0)
    mine, theirs = f"hai {version}", f"the platform, which is {service}"
    same = f"pip install 'hai-client~={_minor(at)}.0'"
    if kept and newer:
        return "admin", f"{mine} is newer than {theirs}: both work together; an admin can upgrade the platform"
    if kept:
        return "user", f"{mine} is older than {theirs}: it works until that is {_minor(at, 1)}; upgrade it: {same}"
    promised = PROMISED[CLIENT]
    takes = f"and works with {_minor(at, -promised.older)} to {_minor(at, promised.newer)}"
    if newer:
        return (
            "user",
            f"{mine} is too new for {theirs} {takes}: install that one: {same}, or ask an admin to upgrade it",
        )
    return "user", f"{mine} is too old for {theirs} {takes}: upgrade it: {same}"


def _of_supervisor(newer: bool, _kept: bool, version: str, service: str) -> tuple[str, str]:
    how = "newer" if newer else "older"
    return "admin", (
        f"supervisors of {version} are {how} than the service, which is {service}, knows: suspend their tasks and"
        " resume them (hai suspend, hai resume), and they run with those of now"
    )


def _of_panel(newer: bool, _kept: bool, version: str, service: str) -> tuple[str, str]:
    how = "newer" if newer else "older"
    return "user", f"the panel, {version}, is {how} than the service, {service}: reload the page, or restart the server"


def _of_replica(newer: bool, kept: bool, version: str, service: str) -> tuple[str, str]:
    why = "they work together while an upgrade goes on" if kept else "they must not share a database"
    old = "this one" if newer else "the other"
    return "admin", f"another process of the service is {version}, and this one {service}: {why}; upgrade {old}"


def _of_image(_newer: bool, _kept: bool, version: str, service: str) -> tuple[str, str]:
    return "admin", (
        f"the image has HAI {version}, and the chart is {service}: both must be the same; leave the tag of the image"
        " empty, or install the chart of that version"
    )


_SENTENCES = {
    CLIENT: _of_client,
    SUPERVISOR: _of_supervisor,
    PANEL: _of_panel,
    REPLICA: _of_replica,
    IMAGE: _of_image,
}
