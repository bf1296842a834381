"""Starts the command of a rank."""
# ruff: noqa: PTH103, PTH110, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import errno
import os
import signal

from hai_client.linux import identity
from hai_client.linux.processes import end_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from hai_client.linux.identity import Account
    from hai_client.rank.starting.spec import Spec

NOT_FOUND = 127
NOT_EXECUTABLE = 126
#: Errors that are the platform's and not the user's: a failed fork, or missing memory or file descriptors.
_PLATFORM = frozenset({errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EIO})


class CannotStart(Exception):
    """The command was not started.

    `exit_code` is the status that a shell would show if the user can repair the cause; None if it is the platform's.
    """

    def __init__(self, sentence: str, exit_code: int | None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.exit_code = exit_code


def start(spec: Spec, output: int, account: Account | None = None) -> int:
    """Start the command in a session of its own; it dies with this process.

    Args:
        spec: The command, its variables and its working directory.
        output: File descriptor for its standard output and standard error.
        account: The Unix account to run as; None: the account of this process.

    Returns:
        The pid of the command, after exec has succeeded.

    Raises:
        CannotStart: The command could not be started; with a sentence for the user.
    """
    result, report = os.pipe()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(result)
            raise CannotStart(f"a process could not be started: {error.strerror}", None) from None
        if pid == 0:
            _become(spec, output, report, parent, account)
    finally:
        os.close(report)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    with os.fdopen(result, "rb") as file:
        failure = file.read()
    if failure:
        os.waitpid(pid, 0)
        step, _, code = failure.decode().partition(" ")
        raise _explain(spec, step, int(code))
    return pid


def _become(spec: Spec, output: int, report: int, parent: int, account: Account | None) -> NoReturn:
    """Turn the forked child into the command, or write the reason to the parent."""
    step = "setup"
    try:
        # Signals of the child must not write to the parent's wakeup pipe.
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        if account is not None:
            step = "account"
            # The account must own the output, as the command may open it by name (/dev/stdout).
            os.fchown(output, account.uid, account.gid)
            identity.become(account, no_new_privs=True)
            step = "setup"
        # Only now: a change of user clears the parent-death signal.
        end_with_parent(signal.SIGKILL, parent)
        os.dup2(output, 1)
        os.dup2(output, 2)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        step = "cwd"
        os.chdir(spec.cwd)
        if account is not None:
            _make_checkpoints(spec)
        step = "exec"
        os.execvpe(spec.command[0], spec.command, spec.env)  # noqa: S606  that is what this is for
    except OSError as error:
        code = error.errno or errno.EINVAL
    except ValueError:
        code = errno.EINVAL
    with contextlib.suppress(OSError):
        os.write(report, f"{step} {code}".encode())
    os._exit(NOT_FOUND)


def _make_checkpoints(spec: Spec) -> None:
    """Make the folders for checkpoints and logs, as the user who will own them; the job reports errors itself."""
    for name in ("HAI_CHECKPOINT_DIR", "HAI_LOG_DIR"):
        if spec.env.get(name):
            with contextlib.suppress(OSError):
                os.makedirs(spec.env[name], exist_ok=True)


def _explain(spec: Spec, step: str, code: int) -> CannotStart:
    reason = os.strerror(code)
    if step == "setup" or code in _PLATFORM:
        return CannotStart(f"the command could not be started: {reason}", None)
    if step == "account":
        return CannotStart(f"the command could not be started as the Unix account {spec.account}: {reason}", None)
    if step == "cwd" and spec.account is not None:
        return CannotStart(
            f"the Unix account {spec.account} cannot enter the working directory {spec.cwd}: {reason}; correct cwd, or "
            "its rights",
            NOT_FOUND,
        )
    if step == "cwd":
        return CannotStart(f"cannot enter the working directory {spec.cwd}: {reason}; correct cwd", NOT_FOUND)
    program = spec.command[0]
    if code == errno.ENOENT and "/" in program and os.path.exists(os.path.join(spec.cwd, program)):
        return CannotStart(
            f"{program}: the interpreter in its first line does not exist; correct the line that starts with #!",
            NOT_FOUND,
        )
    if code in (errno.ENOENT, errno.ENOTDIR):
        return CannotStart(f"{program}: command not found; correct the command, or PATH", NOT_FOUND)
    if code == errno.ENOEXEC:
        return CannotStart(
            f"{program}: neither a program nor a script with a first line such as #!/bin/sh", NOT_EXECUTABLE
        )
    if code == errno.E2BIG:
        return CannotStart(
            f"{program}: its arguments and variables are too long for the system; put them into a file", NOT_EXECUTABLE
        )
    return CannotStart(f"{program}: {reason}; is it executable (chmod +x)?", NOT_EXECUTABLE)
