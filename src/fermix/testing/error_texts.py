"""Everything an error tells: what a log, a debugger or a report of a crash would print of it."""

import traceback
from collections.abc import Iterator


def texts_of(error: BaseException) -> Iterator[str]:
    """All texts of an error and of those it stands on, whether its traceback shows them or not."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield from (str(each), repr(each), repr(each.args), repr(vars(each)))
        yield from traceback.format_exception(each)
        waiting += [each.__cause__, each.__context__]
