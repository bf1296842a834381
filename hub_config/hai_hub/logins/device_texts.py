"""What the page says on which a person lets the `hai` command of a machine in: in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hai_hub.config.roles import ADMIN, READ, WRITE

ENGLISH: Final[Mapping[str, str]] = {
    "lang": "en",
    "title": "Log the hai command in",
    "ask": "Type the code that hai login has printed.",
    "code": "Code",
    "next": "Go on",
    "unknown": "This code is not known: it is mistyped, used, or older than 10 minutes. hai login prints a new one.",
    "slow": "Too many wrong codes: try again in {n} s.",
    "question": "Let this machine in as {user}?",
    "machine": "Machine",
    "claimed": "as it calls itself; this is not checked",
    "address": "Address",
    "rights": "It may",
    "until": "Until",
    "end": "{length} from now, or hai logout",
    "day": "{n} days",
    "hour": "{n} hours",
    "minute": "{n} minutes",
    "warning": "Say yes only if you have just typed hai login on this machine. If somebody sent you this code, say no.",
    "yes": "Yes, let it in",
    "no": "No",
    "given": "The command is logged in. You can close this page.",
    "refused": "Nothing was given to that machine. You can close this page.",
    "nothing": "You have no right to use HAI here: an admin gives the role.",
    ADMIN: "act on tasks of all users, on nodes and on quota",
    "admin:users": "add, change and delete users",
    "tokens": "make and revoke tokens of users",
    WRITE: "submit and change your tasks",
    READ: "see your tasks, the cluster and the queue",
}
CHINESE: Final[Mapping[str, str]] = {
    "lang": "zh-CN",
    "title": "登录 hai 命令",
    "ask": "请输入 hai login 显示的代码。",
    "code": "代码",
    "next": "继续",
    "unknown": "没有这个代码：可能输入有误、已经用过，或已超过 10 分钟。请运行 hai login 获取新代码。",
    "slow": "错误的代码太多：请在 {n} 秒后重试。",
    "question": "允许这台机器以 {user} 的身份登录吗？",
    "machine": "机器",
    "claimed": "机器自称的名字，未经核实",
    "address": "地址",
    "rights": "它可以",
    "until": "有效期",
    "end": "{length}，或直到运行 hai logout",
    "day": "{n} 天",
    "hour": "{n} 小时",
    "minute": "{n} 分钟",
    "warning": "只有您刚刚在这台机器上输入了 hai login，才选择“允许”。如果代码是别人发给您的，请选择“拒绝”。",
    "yes": "允许",
    "no": "拒绝",
    "given": "命令已登录。您可以关闭此页面。",
    "refused": "那台机器没有得到任何权限。您可以关闭此页面。",
    "nothing": "您在这里没有使用 HAI 的权限：请管理员授予角色。",
    ADMIN: "操作所有用户的任务、节点和配额",
    "admin:users": "添加、修改和删除用户",
    "tokens": "创建和撤销用户的令牌",
    WRITE: "提交和修改您的任务",
    READ: "查看您的任务、集群和队列",
}


def texts_for(header: str) -> Mapping[str, str]:
    """Return the texts for an `Accept-Language`, in which browsers name the language that they like most first."""
    for part in header[:1000].lower().split(","):
        tag = part.partition(";")[0].strip()
        if tag in ("zh", "zh-cn", "zh-sg") or tag.startswith("zh-hans"):
            return CHINESE
        if tag.partition("-")[0] == "en":
            return ENGLISH
    return ENGLISH


def length_of(seconds: int, texts: Mapping[str, str]) -> str:
    """Return a length of time in words: in the largest unit of which it has two or more, rounded down."""
    for unit, unit_s in (("day", 86_400), ("hour", 3600)):
        if seconds >= 2 * unit_s:
            return texts[unit].format(n=seconds // unit_s)
    return texts["minute"].format(n=seconds // 60)
