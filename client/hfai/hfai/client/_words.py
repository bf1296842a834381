"""The original's numbers for priorities and warnings."""

from __future__ import annotations

#: Levels and numbers of the original that HAI does not know, and the nearest that it does.
NEAREST = {"UNDER_NORMAL": "BELOW_NORMAL", "8": "BELOW_NORMAL", "-1": "AUTO"}


class EXP_PRIORITY:
    """Priorities by name. UNDER_NORMAL is BELOW_NORMAL here; the others are the same."""

    EXTREME_HIGH = 50
    VERY_HIGH = 40
    HIGH = 30
    ABOVE_NORMAL = 20
    NORMAL = 10
    UNDER_NORMAL = 8
    BELOW_NORMAL = 5
    LOW = 0
    AUTO = -1

    @classmethod
    def get_name_by_value(cls, value: int) -> str:
        """The name of a number; AUTO for one that has none."""
        for name, number in vars(cls).items():
            if name.isupper() and number == value:
                return name
        return "AUTO"


class WARN_TYPE:
    """Kinds of warnings that the original could keep silent, as bits."""

    COMPLETED = 1
    TERMINATING = 2
    LOG = 4
    INTERRUPT = 8
