"""The port `Haienvs` over a folder.

Where users have Unix accounts of their own, each look-up runs as the user's account: what the account cannot read, the
user cannot name. Elsewhere all files belong to one account, so file rights cannot tell users apart. Then groups are the
Hub's, and another user's environment is refused unless its mode lets everybody read it: that guards names against
mistakes, not files against other users' tasks, which run as the same account.

References are those of haienv (`haienv.store.references`), in the folder that the service alone may write.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
import sys
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from hai_client.linux.rights import make_folder
from hai_scheduler.adapters.environments import answers, listing, lookup, visible
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.workspace.abi import Machine, misfit
from hai_scheduler.ports.haienvs import HaienvDetail, HaienvFault, HaienvList, HeldGeneration, UnknownHaienv, Use
from hai_scheduler.ports.reading import in_reader
from haienv.shared.errors import Missing
from haienv.store import references

#: The rights of everybody to read a folder and to pass it.
_EVERYBODY: Final = stat.S_IROTH | stat.S_IXOTH
#: Longest time that a look-up as another account may take, seconds.
_PATIENCE_S: Final = 20.0


class UnixAccount(Protocol):
    """A Unix account."""

    @property
    def uid(self) -> int:
        """Its number."""
        ...

    @property
    def gid(self) -> int:
        """Its main group."""
        ...

    @property
    def groups(self) -> list[int]:
        """All its groups."""
        ...


class HaienvFolder:
    """See `ports.haienvs.Haienvs`.

    Args:
        root: The folder of all environments; an absolute path. It need not exist.
        account_of: Returns the Unix account of a user; None: all users' files belong to this process's account.
        machine: What the machines have on which tasks run; None: it is not known, as where each task names an image.
        apart: Whether each container is shown the environments of its user alone.
    """

    def __init__(
        self,
        root: Path,
        account_of: Callable[[str], UnixAccount] | None = None,
        machine: Machine | None = None,
        *,
        apart: bool = False,
    ) -> None:
        self._root = root
        self._apart = apart
        self._machine = machine or Machine()
        self._account_of = account_of
        self._references = references.folder_for(root, None)

    @property
    def root(self) -> str:
        """See `Haienvs.root`."""
        return str(self._root)

    async def find(self, user: str, groups: Collection[str], text: str, *, image: Machine | None = None) -> Pin:
        """See `Haienvs.find`."""
        if self._account_of is None:
            pin, needs = await in_reader(lambda: lookup.find(self.root, user, groups, text))
            await in_reader(lambda: self._check_owner(pin.name, user, groups, text))
        else:
            answer = await self._as_user(user, "find", user, ",".join(sorted(groups)), text)
            pin, needs = answers.pin_of(answer), answers.needs_of(answer)
        wrong = misfit(needs, self._machine if image is None else self._machine.known_with(image))
        if wrong is not None:
            raise HaienvFault(f"environment: {pin.reference} {wrong}")
        return pin

    async def listed(self, user: str, groups: Collection[str], *, everybodys: bool = False) -> HaienvList:
        """See `Haienvs.listed`."""
        if self._account_of is None:
            return await in_reader(
                lambda: listing.listed(self.root, user, groups, shared_alone=True, everybodys=everybodys)
            )
        whose = "all" if everybodys else "mine"
        return answers.list_of(await self._as_user(user, "list", user, ",".join(sorted(groups)), whose))

    async def shown(self, user: str, groups: Collection[str], text: str) -> HaienvDetail:
        """See `Haienvs.shown`."""
        if self._account_of is None:
            found = await in_reader(lambda: listing.shown(self.root, user, groups, text))
            await in_reader(lambda: self._check_owner(found.found.name, user, groups, text))
            return found
        return answers.detail_of(await self._as_user(user, "show", user, ",".join(sorted(groups)), text))

    async def in_folder(self, folder: str) -> str | None:
        """See `Haienvs.in_folder`."""
        return await in_reader(lambda: lookup.name_of(self.root, folder))

    async def check(self, user: str, pin: Pin) -> None:
        """See `Haienvs.check`."""
        if self._account_of is None:
            await in_reader(lambda: lookup.check(self.root, pin.name, pin.generation, pin.digest))
        else:
            await self._as_user(user, "check", pin.name, str(pin.generation), pin.digest)

    async def seen(
        self, user: str, groups: Collection[str], more: Collection[str] = (), *, shared: bool = False
    ) -> tuple[str, ...] | None:
        """See `Haienvs.seen`."""
        if not self._apart:
            return None

        def look() -> tuple[str, ...]:
            others = visible.shared_with(self.root, user, groups) if shared else []
            return visible.of_user(self.root, user, groups, [*more, *others])

        return await in_reader(look)

    def prefix(self, pin: Pin) -> str:
        """See `Haienvs.prefix`."""
        return str(lookup.folder_of(self.root, pin.name, pin.generation).prefix)

    # -- references -------------------------------------------------------------------------------

    async def hold(self, key: str, use: Use) -> None:
        """See `Haienvs.hold`."""
        await in_reader(lambda: self._hold(key, use))

    async def release(self, key: str) -> None:
        """See `Haienvs.release`."""
        await in_reader(lambda: references.release(self._references, key))

    async def held(self) -> Mapping[str, HeldGeneration]:
        """See `Haienvs.held`."""
        return await in_reader(self._held)

    def _hold(self, key: str, use: Use) -> None:
        make_folder(self._references)
        generation = lookup.folder_of(self.root, use.name, use.generation)
        # Without its generation a reference keeps nothing; the start of the task will say that it is gone.
        with contextlib.suppress(Missing):
            references.hold(self._references, key, references.use(generation, use.name, "task", use.what), generation)

    def _held(self) -> dict[str, HeldGeneration]:
        return {
            key: HeldGeneration(name=one.environment, generation=one.generation, written=_moment(one.since))
            for key, one in references.written(self._references).items()
        }

    def _check_owner(self, name: str, user: str, groups: Collection[str], text: str) -> None:
        """Raise UnknownHaienv for an environment that is neither the user's, nor a group's of theirs, nor shared."""
        level, _, rest = name.partition("/")
        owner = rest.partition("/")[0]
        if level == "groups" and owner not in groups:
            raise UnknownHaienv(
                f"environment: {text!r} belongs to the group {owner}, and {user} is not in it; ask its members"
            )
        if level == "users" and owner != user and (self._root / name).stat().st_mode & _EVERYBODY != _EVERYBODY:
            raise UnknownHaienv(f"environment: {text!r} is not shared with {user}; ask {owner} for `haienv share`")

    # -- as the user ------------------------------------------------------------------------------

    async def _as_user(self, user: str, *words: str) -> dict[str, Any]:
        """Ask a process of the user's account. Raises HaienvFault."""
        assert self._account_of is not None
        try:
            account = self._account_of(user)
        except Exception as error:  # noqa: BLE001  the message says why there is no account
            raise HaienvFault(f"environment: {error}") from None
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-m", lookup.__name__, self.root, *words,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                cwd="/", env={"PATH": os.defpath}, user=account.uid, group=account.gid, extra_groups=account.groups,
            )  # fmt: skip
        except OSError as error:
            raise HaienvFault(f"environment: it cannot be looked up as {user}: {error}; tell an admin") from None
        try:
            out, _ = await asyncio.wait_for(process.communicate(), _PATIENCE_S)
            answer = json.loads(out)
        except (TimeoutError, ValueError):
            raise HaienvFault(f"environment: it could not be looked up as {user} below {self.root}") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if "fault" in answer:
            kind = UnknownHaienv if answer["kind"] == UnknownHaienv.__name__ else HaienvFault
            raise kind(answer["fault"])
        return dict(answer)


def _moment(text: str) -> datetime:
    """Return the time of a reference; the earliest one where it cannot be read."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
