"""A summary of the model's reasoning as one line beside the answer."""

import re

MARK = "💭 "
MAX_LINE = 80
"""Characters of a thought that has no headings."""

_HEADING = re.compile(r"^[ \t]*\*\*(?P<words>[^*\n]+)\*\*[ \t]*$", re.MULTILINE)


def thought_line(summary: str) -> str | None:
    """The bold headings of a summary in one line, or the front of its first line; `None` for a blank one."""
    headings = [found["words"].strip() for found in _HEADING.finditer(summary)]
    if any(headings):
        return MARK + " · ".join(heading for heading in headings if heading)
    first = next((line.strip() for line in summary.splitlines() if line.strip()), "")
    return MARK + first[:MAX_LINE].rstrip() if first else None
