"""How far whoever started a turn is trusted."""

from enum import StrEnum


class Trust(StrEnum):
    """How far a sender is trusted; decides which capabilities a turn sees."""

    OPERATOR = "operator"
    GUEST = "guest"
