"""The effective settings as a TOML document for a person to read, secrets masked."""

from collections.abc import Iterator

from fermix.infrastructure.settings.effective import EffectiveSettings, EffectiveValue, Layer
from fermix.infrastructure.settings.value_text import key_text, plain, toml_text


def toml_view(effective: EffectiveSettings, *, defaults: bool, origins: bool) -> str:
    """The document; it ends with a line end, and is empty when there is nothing to show.

    Args:
        effective: what is in force.
        defaults: show keys too that nobody set, marked as such.
        origins: say of every value where it comes from.
    """
    blocks: dict[tuple[str, ...], list[str]] = {}
    for each in shown(effective, defaults=defaults):
        blocks.setdefault(each.path[:-1], []).append(_line(each, origins=origins))
    text = "\n".join("".join([f"[{key_text(table)}]\n", *lines]) for table, lines in blocks.items())
    beside = "".join(
        f"# {name} is set in the environment and counts for whichever provider answers\n"
        for name in effective.variables
    )
    return f"{text}\n{beside}" if text and beside else text or beside


def shown(effective: EffectiveSettings, *, defaults: bool) -> Iterator[EffectiveValue]:
    """The values to show: those that the file or the environment sets, or all."""
    return (each for each in effective.values if defaults or each.origin.layer is not Layer.DEFAULT)


def _line(each: EffectiveValue, *, origins: bool) -> str:
    name = key_text(each.path[-1:])
    is_default = each.origin.layer is Layer.DEFAULT
    if each.value is None:
        return f"# {name} is unset\n" if is_default else f"# {name} is unset ({each.origin.words()})\n"
    place = each.origin.place
    shorter = "" if place is None else f"  # in {place}"
    mark = f"  # {each.origin.words()}" if origins or is_default else shorter
    return f"{name} = {toml_text(plain(each.value))}{mark}\n"
