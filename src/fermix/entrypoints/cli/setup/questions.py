"""Asking until an answer can be taken: values, choices, yes or no."""

from collections.abc import Callable, Mapping
from typing import Protocol

from fermix.entrypoints.cli.setup.values import Unfit, cleaned
from fermix.infrastructure.settings.nearest import nearest_name


class Asker(Protocol):
    """A person at a terminal."""

    def say(self, text: str) -> None:
        """Show a line, or several."""
        ...

    def read(self, prompt: str, *, hidden: bool = False) -> str:
        """One line as it was typed.

        Raises:
            KeyboardInterrupt: Ctrl-C.
            EOFError: Ctrl-D, or the terminal is gone.
        """
        ...


class Questions:
    """Questions with a check; what does not pass it is asked again, with the reason."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def say(self, text: str) -> None:
        """Show a line, or several."""
        self._asker.say(text)

    def value(
        self, what: str, check: Callable[[str], str], *, now: str | None = None, optional: str | None = None
    ) -> str | None:
        """A value, or `None` where Enter leaves everything as it is.

        Args:
            what: is asked for.
            check: gives back the value to take, or raises `Unfit`.
            now: what stands there, shown; Enter keeps it.
            optional: what happens without one; unset and without `now`, there must be one.
        """
        return self._ask(what, check, now=now, optional=optional, hidden=False)

    def secret(
        self, what: str, check: Callable[[str], str], *, is_set: bool, optional: str | None = None
    ) -> str | None:
        """The same for a secret, typed unseen; what stands there is not shown."""
        return self._ask(what, check, now="********" if is_set else None, optional=optional, hidden=True)

    def choose(self, what: str, options: Mapping[str, str], *, now: str) -> str | None:
        """One of the names, or `None` where Enter keeps what is so now.

        Args:
            what: is asked for.
            options: the names with a few words about each; a number stands for the name at that place.
            now: what Enter means, as it is shown.
        """
        width = max(len(name) for name in options)
        for number, (name, words) in enumerate(options.items(), start=1):
            self.say(f"  {number:>2}  {name:<{width}}  {words}".rstrip())

        def check(text: str) -> str:
            return chosen(text, tuple(options))

        return self._ask(what, check, now=now, optional=None, hidden=False)

    def agrees(self, what: str, *, usual: bool) -> bool:
        """Yes or no; Enter is the usual answer."""

        def check(text: str) -> str:
            word = cleaned(text).casefold()
            if word in {"y", "yes"}:
                return "yes"
            if word in {"n", "no"}:
                return "no"
            raise Unfit("y or n, please")

        answer = self._ask(what, check, now="Y/n" if usual else "y/N", optional=None, hidden=False)
        return usual if answer is None else answer == "yes"

    def _ask(
        self,
        what: str,
        check: Callable[[str], str],
        *,
        now: str | None,
        optional: str | None,
        hidden: bool,
    ) -> str | None:
        shown = now if now is not None else optional
        prompt = f"{what}: " if shown is None else f"{what} [{shown}]: "
        while True:
            text = self._asker.read(prompt, hidden=hidden)
            if not cleaned(text):
                if shown is not None:
                    return None
                self.say("  That is needed here; Ctrl-C leaves everything as it was.")
                continue
            try:
                return check(text)
            except Unfit as exc:
                self.say(f"  {exc}")


def chosen(text: str, names: tuple[str, ...]) -> str:
    """The name that is meant by a name, its beginning, or its number. Pure.

    Raises:
        Unfit: none, or several.
    """
    word = cleaned(text).casefold()
    if word.isascii() and word.isdigit() and len(word) < 4 and 1 <= int(word) <= len(names):
        return names[int(word) - 1]
    if word in names:
        return word
    begun = [name for name in names if name.startswith(word)]
    if len(begun) == 1:
        return begun[0]
    near = nearest_name(word, names)
    hint = "" if near is None else f'; did you mean "{near}"?'
    raise Unfit(f"one of {', '.join(names)}, or its number{hint}")
