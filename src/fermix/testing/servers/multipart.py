"""Forms of several parts, as clients upload files in them: https://www.rfc-editor.org/rfc/rfc7578."""

from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser


class BadForm(Exception):
    """The body is no form of several parts; `args[0]` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPart:
    """One part.

    Attributes:
        file_name: of a file, as it was sent; `None` for any other value.
    """

    name: str
    file_name: str | None
    mime_type: str
    content: bytes

    @property
    def text(self) -> str:
        """Its content in words.

        Raises:
            BadForm: it is not in UTF-8.
        """
        return _words(self.content)


def parts_of(content_type: str, body: bytes) -> Sequence[FormPart]:
    """The parts of a body in their order.

    Raises:
        BadForm: it is not what its content type says, or a part has no name.
    """
    header = Message()
    header["Content-Type"] = content_type
    boundary = header.get_boundary()
    before, *parts = (b"\r\n" + body).split(f"\r\n--{boundary}".encode())
    if before or not boundary or not parts or not parts.pop().startswith(b"--"):
        raise BadForm("wrong multipart encoding")
    return [_part(part) for part in parts]


def _part(raw: bytes) -> FormPart:
    raw_head, _, content = raw.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    head = HeaderParser().parsestr(_words(raw_head))
    name = head.get_param("name", header="content-disposition")
    if not isinstance(name, str):
        raise BadForm("a part without a name")
    return FormPart(
        name=name, file_name=head.get_filename(), mime_type=head.get_content_type(), content=content
    )


def _words(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadForm("not in UTF-8") from None
