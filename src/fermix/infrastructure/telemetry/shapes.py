"""What credentials look like: patterns for secrets that nobody has told us."""

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of text that must not be shown, `start` inclusive and `end` exclusive."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A pattern of one kind of credential; its group `secret` is hidden, or all of it where it has none.

    Attributes:
        needles: lower-case texts of which the pattern needs one; looking for them first saves most searches.
    """

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]

    def find(self, text: str) -> Iterator[Span]:
        group = "secret" if "secret" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            yield Span(start=match.start(group), end=match.end(group), kind=self.kind)


def _shape(kind: str, needles: str, pattern: str) -> _Shape:
    return _Shape(kind=kind, needles=tuple(needles.split()), pattern=re.compile(pattern))


# Each pattern runs in time linear in the text: it has no nested repetition, and where an open repetition could
# fail after a long run, it cannot start again inside that run.
_SHAPES = (
    _shape("anthropic", "sk-ant-", r"(?<![A-Za-z0-9])sk-ant-[\w-]{8,}"),
    _shape("openrouter", "sk-or-", r"(?<![A-Za-z0-9])sk-or-[\w-]{8,}"),
    _shape("api_key", "k-", r"(?<![A-Za-z0-9])[spr]k-[\w-]{8,}"),
    _shape("groq", "gsk_", r"(?<![A-Za-z0-9])gsk_\w{16,}"),
    _shape("xai", "xai-", r"(?<![A-Za-z0-9])xai-[\w-]{8,}"),
    _shape("google", "aiza", r"AIza[\w-]{16,}"),
    _shape("slack", "xox", r"xox[a-z]-[\w-]{6,}"),
    _shape("slack", "xapp-", r"xapp-[\w-]{6,}"),
    _shape("github", "gh", r"(?<![A-Za-z0-9])gh[opsur]_\w{16,}"),
    _shape("github", "github_pat_", r"github_pat_\w{16,}"),
    _shape("aws", "akia", r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}"),
    _shape("meta", "eaa", r"(?<![A-Za-z0-9])EAA[A-Za-z0-9]{20,}"),
    _shape("jwt", "eyj", r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    _shape("discord", ".", r"(?<![\w-])[\w-]{23,30}\.[\w-]{6}\.[\w-]{27,}"),
    _shape("telegram", "bot", r"(?i)/bot(?P<secret>\d{1,20}(?::|%3A)[\w-]+)"),
    _shape("telegram", ":", r"(?<!\d)\d{6,12}:[\w-]{30,}"),
    _shape("telegram", "%3a", r"(?<!\d)\d{6,12}%3[Aa][\w-]{30,}"),
    _shape("bearer", "bearer", r"(?i)(?<!\w)bearer\s{1,4}(?P<secret>[\w.~+/=-]{8,})"),
    _shape("basic", "basic", r"(?i)(?<!\w)basic\s{1,4}(?=[\w+/-]*[\d=+/])(?P<secret>[\w+/-]{6,}={0,2})"),
    _shape("credentials", "://", r"://(?P<secret>[^\s/@:]{0,64}:[^\s/@]{1,256})@"),
    _shape(
        "private_key",
        "-----begin",
        r"(?s)-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----END).)*(?:-----END[A-Z -]{0,40})?",
    ),
    _shape(
        "parameter",
        "=",
        r"(?i)[?&;][\w.-]{0,32}?(?:token|secret|password|passwd|key|signature|sig|code|auth|credential)"
        r"=(?P<secret>[^&;\s\"'<>#]+)",
    ),
    _shape(
        "setting",
        "key token secret passw passph",
        r"(?i)(?:api[_-]?key|(?:access|refresh|bot|auth|verify)[_-]?token|(?:client|app|signing)[_-]?secret"
        r"|password|passphrase)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<secret>[^\s\"',;&}\])]{6,})",
    ),
)


def credential_shapes(text: str) -> Iterator[Span]:
    """Stretches of `text` that have the shape of a credential; they may overlap."""
    lowered = text.lower()
    for shape in _SHAPES:
        if any(needle in lowered for needle in shape.needles):
            yield from shape.find(text)
