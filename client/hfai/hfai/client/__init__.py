"""The original's `hfai.client`: functions with which a training talks to the platform.

Outside of a task every function is harmless and behaves as the original did without a cluster: queries return False,
None or -1, orders return False, and `go_suspend` returns.
"""

from __future__ import annotations

from hfai import _platform
from hfai.client._hook import bind_hf_except_hook
from hfai.client._words import EXP_PRIORITY, WARN_TYPE
from hfai.client.calls import (
    disable_warn,
    get_whole_life_state,
    go_suspend,
    nb_name,
    node_name,
    rank,
    receive_suspend_command,
    set_priority,
    set_watchdog_time,
    set_whole_life_state,
    task_id,
    user_name,
)

__all__ = [
    "EXP_PRIORITY",
    "WARN_TYPE",
    "bind_hf_except_hook",
    "disable_warn",
    "get_whole_life_state",
    "go_suspend",
    "nb_name",
    "node_name",
    "rank",
    "receive_suspend_command",
    "set_priority",
    "set_watchdog_time",
    "set_whole_life_state",
    "task_id",
    "user_name",
]

_platform.declare_polling()
