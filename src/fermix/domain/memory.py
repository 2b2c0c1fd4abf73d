"""What the agent keeps of its conversations, as far as trust decides about it."""

from enum import StrEnum

from fermix.domain.capability import Scope
from fermix.domain.trust import Trust


class MemoryCategory(StrEnum):
    """What a thing remembered is about; a directive shapes how the agent behaves from then on."""

    IDENTITY = "identity"
    PREFERENCE = "preference"
    INTEREST = "interest"
    GOAL = "goal"
    CONTEXT = "context"
    DIRECTIVE = "directive"


def may_be_promoted(category: MemoryCategory, scope: Scope) -> bool:
    """Whether a turn of this scope may bring a candidate of that category into the lasting prompt.

    Directives come from operators alone: of a guest, and of a turn without trust, they are refused. Work that
    was handed on has the scope stored with it, whose trust is never above that of whoever handed it on.
    """
    return category is not MemoryCategory.DIRECTIVE or scope.trust is Trust.OPERATOR
