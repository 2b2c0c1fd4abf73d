"""Sizes in words."""

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


def size(count: int) -> str:
    """A number of bytes with the unit that fits: `512 bytes`, `1.5 MiB`."""
    if count < KIB:
        return f"{count} bytes"
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    raise AssertionError(count)
