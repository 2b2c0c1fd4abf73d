"""Text from elsewhere made harmless for a terminal."""

_BIDI_CONTROLS = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - {ord("\n"), ord("\t")}
_SURROGATES = range(0xD800, 0xE000)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_ESCAPES = {code: _escape(code) for code in (*_CONTROLS, *_BIDI_CONTROLS)}


def visible(text: str) -> str:
    r"""The text with control characters, but newline and tab, and bidi controls shown as their escapes.

    What a model or a file says can then neither move the cursor, set the clipboard or title, nor show words in
    another order than they stand. Half a surrogate pair, which no terminal can be sent, is shown as well. Each
    character is judged alone, so pieces of a stream may be converted one by one.
    """
    shown = text.translate(_ESCAPES)
    if shown.isascii():
        return shown
    return "".join(_escape(ord(char)) if ord(char) in _SURROGATES else char for char in shown)
