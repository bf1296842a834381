"""Names and numbers that the service, the client and the panel check alike; `make reference` hands them on."""

from __future__ import annotations

import re
from typing import Final

#: The most characters of a name.
NAME_LENGTH: Final = 63
#: The name of a mount rule, an environment or a node of one machine, as a regular expression that Python and ECMA 262
#: read alike.
NAME_PATTERN: Final = f"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_LENGTH - 1}}}"
#: A text is a name if all of it matches.
NAME: Final = re.compile(NAME_PATTERN)
#: The name of a task, as a regular expression of ECMA 262 with the flag `u`: letters and digits of any script, and none
#: that is not seen. `hai_client.names` checks it; it also wants Unicode's composed form.
TASK_NAME_PATTERN: Final = rf"(?!.*\p{{DI}})[\p{{L}}\p{{Nd}}][\p{{L}}\p{{M}}\p{{Nd}}._-]{{0,{NAME_LENGTH - 1}}}"

#: A character that a name must not have, as others read it: one that controls (C0, C1), ends a line, or changes the
#: direction in which text is shown, so that a name looks like another one. A regular expression as above.
HIDDEN_PATTERN: Final = r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
HIDDEN: Final = re.compile(HIDDEN_PATTERN)

#: How often a task may be started again when its command fails.
MAX_RETRIES: Final = 100
#: The most processes that a node is asked to start: more than any node has processors.
MAX_RANKS_PER_NODE: Final = 1024

#: How many holders of the nodes that a task waits for are named where there are many tasks: in lists of tasks, and in
#: the decision log.
MAX_HOLDERS: Final = 10

#: The tag of a task that is a user's spot container, and the beginning of its name.
SPOT: Final = "spot"

#: Names of numbers that a job may report, by process and by run.
MAX_JOB_NUMBERS: Final = 50
#: The name of such a number, as a regular expression that Python and ECMA 262 read alike.
JOB_NUMBER_PATTERN: Final = "[A-Za-z_][A-Za-z0-9_./-]{0,35}"
JOB_NUMBER: Final = re.compile(JOB_NUMBER_PATTERN)
#: The greatest of them, whatever the sign.
MAX_JOB_NUMBER: Final = 10**18
#: The most steps of a job: numbers that JavaScript knows exactly.
MAX_STEP: Final = 10**15

#: The longest length of time that is accepted, in seconds: ten years.
MAX_SECONDS: Final = 315_360_000

#: The most bytes of a user's secret, and of all secrets of a task together: a Secret of Kubernetes holds 1 MiB.
MAX_SECRET_BYTES: Final = 64 * 1024
MAX_TASK_SECRET_BYTES: Final = 256 * 1024
#: The most secrets of a user, and of a task.
MAX_SECRETS: Final = 100
MAX_TASK_SECRETS: Final = 50
#: Shorter secrets are not looked for in logs: they would be found in words.
LEAST_REDACTED: Final = 8
