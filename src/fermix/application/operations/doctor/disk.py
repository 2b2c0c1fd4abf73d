"""Whether there is room to go on."""

from dataclasses import dataclass

from fermix.application.operations.doctor.report import Finding, fail, ok, warn
from fermix.application.operations.doctor.sizes import GIB, MIB, size

WARN_BELOW = GIB
FAIL_BELOW = 100 * MIB
"""The database's log, its next checkpoint and a page of the log must fit with room to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFacts:
    """The file system that the home is on.

    Attributes:
        place: the folder that was asked.
        free: bytes that this user may still write.
        names_left: whether another file can be made; file systems that do not count them say yes.
    """

    place: str
    free: int
    names_left: bool


def judge_disk(facts: DiskFacts) -> Finding:
    """Fails below 100 MiB and warns below 1 GiB."""
    if not facts.names_left:
        return fail(f"no further file can be made on the disk of {facts.place}", remedy="remove files")
    free = f"{size(facts.free)} are free on the disk of {facts.place}"
    if facts.free < FAIL_BELOW:
        return fail(
            f"{free}, less than {size(FAIL_BELOW)}", remedy="free some space: a full disk takes no message"
        )
    if facts.free < WARN_BELOW:
        return warn(f"{free}, less than {size(WARN_BELOW)}", remedy="free some space before it is full")
    return ok(free)
