"""Takes secrets out of what is shown: messages, logs, and whatever quotes a user's line or a program's output.

`haienv` and `hai_client` have this file in common, letter by letter: neither needs the other.
"""

from __future__ import annotations

import re
from functools import lru_cache

MASK = "***"
# Each pattern looks at a few hundred characters from where it begins, so that a long text takes a time in proportion.
_WORDS = r"(?:token|secret|passw(?:or)?d|passphrase|pwd|credentials?|api[-_]?key|(?:access|private|auth)[-_]?key)"
_KINDS = (
    # https://user:password@host, https://token@host; a password may have a slash or an @ in it.
    (r"(:/{1,2})(?!\[)[^\s/@:'\"<>]*:(?!\d+(?:[/\s?#'\"]|$))[^\s'\"<>]{0,1000}@", rf"\1{MASK}@"),
    (r"(:/{1,2})(?-i:(?!USER@))[^\s/?#'\"<>]+@", rf"\1{MASK}@"),
    # One that was cut before its @.
    (r"(:/{1,2})(?!\[)[^\s/@:'\"<>]+:(?!\d{1,5}(?!\w)|(?-i:PORT))[^\s/@'\"<>]{3,}(?=['\"…]|\.\.\.|$)", rf"\1{MASK}"),
    (r"(?<![\w/.%@+:-])[\w.%+-]+:[^\s:/@'\"]+@(?=[\w-]+[.:/\w-])(?!sha\d+:)", f"{MASK}@"),
    # ?token=..., &X-Amz-Signature=..., PIP_PASSWORD=..., "api_key": "...", --password=... and --password ...
    ((rf"((?:[?&;#]|(?<![\w.%-]))(?:[\w.%-]{{0,60}}{_WORDS}|(?:[\w.%-]{{0,60}}-)?(?:sig|signature|auth|jwt|sessionid))=)"
     r"(?:\\*\"[^\"\\]*|\\*'[^'\\]*|[^\s&;#'\"\\]+)"), rf"\1{MASK}"),
    (r"([?&](?:key|code|pass|session)=)[^\s&;#'\"]+", rf"\1{MASK}"),
    (rf"(\\?[\"'][\w.-]{{0,60}}{_WORDS}\\?[\"']\s*:\s*)(?:\"[^\"]*\"|'[^']*'|\\\"[^\"]*\\\")", rf'\1"{MASK}"'),
    (rf"((?<![\w-])--[\w-]{{0,60}}{_WORDS}\s+)(?-i:(?!-|(?:FILE|NAME|PATH)\b))[^\s'\"]+", rf"\1{MASK}"),
    # Authorization: Bearer ...
    (r"(authorization\\?[\"']?\s*[:=]\s*\\?[\"']?)(?:(?:bearer|basic|token|digest|negotiate)\s+)?[^\s'\"\\]+",
     rf"\1{MASK}"),
    (r"((?:private-token|job-token|x-[\w-]{0,60}(?:token|key))\\?[\"']?:\s*\\?[\"']?)[^\s'\"\\]+", rf"\1{MASK}"),
    (r"(\bcookie\\?[\"']?:\s*\\?[\"']?)[^'\"\\\n]+", rf"\1{MASK}"),
    (r"\b(bearer\s+)[\w.~+/=-]{8,}", rf"\1{MASK}"),
    # Channels of conda, and webhooks, whose path is what lets in.
    (r"(:/[^\s'\"]{0,200}?/t/)[\w-]+(?=/[^\s])", rf"\1{MASK}"),
    (r"(://(?:hooks\.[\w.-]+/|[\w.-]*webhook[\w.-]*/|[\w.:-]+/(?:api/webhooks|hooks)/))[^\s'\"]+", rf"\1{MASK}"),
    # Tokens that are known by their beginnings.
    (r"\b(?:(?:gh[pousr]_|github_pat_|hf_)\w{16,}|(?:glpat-|xox[abeprs]-|pypi-AgE|sk-proj-|sk-ant-)[\w-]{16,})", MASK),
)  # fmt: skip


@lru_cache(maxsize=1)
def _compiled() -> list[tuple[re.Pattern[str], str]]:
    # Not at the import: compiling takes longer than most commands take to start, and few of them have to mask.
    return [(re.compile(pattern, re.IGNORECASE), into) for pattern, into in _KINDS]


def masked(text: str) -> str:
    """Return a text with `***` for each secret in it. Shorten it afterwards: half a secret is not known as one."""
    for pattern, into in _compiled():
        text = pattern.sub(into, text)
    return text


def quoted(text: str, longest: int = 80) -> str:
    """Return a value as a message quotes it: without secrets, and at most `longest` characters."""
    return repr(masked(text)[:longest])
