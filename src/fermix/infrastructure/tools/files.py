"""The capabilities that read files: one file, names by pattern, lines by text."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.application.ports.workspace import (
    BadPattern,
    Matches,
    PathRefused,
    Query,
    TextPage,
    Workspace,
    WorkspaceSlow,
)
from fermix.domain.authorization import Trust
from fermix.domain.capability import Capability, RiskClass
from fermix.infrastructure.tools.answers import listing, one_line, refused, stopped
from fermix.infrastructure.tools.arguments import Arguments, BadArgument

_PATH = {
    "type": "string",
    "description": "Relative to the workspace, or absolute inside it.",
}
_BELOW = {
    "type": "string",
    "description": "Folder to look in; everything you may read when absent.",
}

FILE_READ = Capability(
    name="file_read",
    description=(
        "Read a text file. At most 100 KB are shown at once; a longer file says with which offset to go on."
    ),
    risk=RiskClass.READ_ONLY,
    owner_data=True,
    category="files",
    parameters={
        "type": "object",
        "properties": {
            "path": _PATH,
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "Number of the first line to show; the file begins with line 1 (0 means the same).",
            },
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines to show at most."},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)

GLOB_SEARCH = Capability(
    name="glob_search",
    description=(
        "Find files and folders by name. `*`, `?` and `[…]` match within a name, `**` over folders; a pattern "
        "without a slash matches at any depth. Links are not followed; folders of version control and of "
        "installed packages are not entered."
    ),
    risk=RiskClass.READ_ONLY,
    owner_data=True,
    category="files",
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "For example `*.md` or `notes/**/2026-*.txt`."},
            "path": _BELOW,
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
)

CONTENT_SEARCH = Capability(
    name="content_search",
    description=(
        "Find lines in text files that contain a text. The text is literal; there are no regular expressions, "
        "but with `wildcards` a `*` stands for anything within the line. Links are not followed; folders of "
        "version control and of installed packages are not entered."
    ),
    risk=RiskClass.READ_ONLY,
    owner_data=True,
    category="files",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What the line contains."},
            "path": {
                "type": "string",
                "description": "File or folder to look in; all you may read when absent.",
            },
            "files": {
                "type": "string",
                "description": "Only files whose name matches this pattern, like `*.py`.",
            },
            "ignore_case": {"type": "boolean", "description": "Whether upper and lower case are the same."},
            "wildcards": {"type": "boolean", "description": "Whether `*` in the text stands for anything."},
        },
        "required": ["text"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """Shows lines of one file."""

    workspace: Workspace
    capability: Capability = FILE_READ

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Run once; what cannot be read is a failed result."""

        async def run() -> ToolResult:
            given = Arguments(given=arguments)
            given.only("path", "offset", "limit")
            path = given.text("path")
            first = given.optional_number("offset", least=0) or 1
            count = given.optional_number("limit", least=1)
            return _page(await self.workspace.read(path, first=first, count=count, cwd=_cwd(context)))

        return await _or_sentence(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobSearch:
    """Lists names."""

    workspace: Workspace
    capability: Capability = GLOB_SEARCH

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Run once; what cannot be looked for is a failed result."""

        async def run() -> ToolResult:
            given = Arguments(given=arguments)
            given.only("pattern", "path")
            found = await self.workspace.find(
                given.text("pattern"), below=given.optional_text("path"), cwd=_cwd(context)
            )
            notes = [] if found.stopped is None else [stopped(found.stopped)]
            lines = [one_line(name) for name in found.names] or ["Nothing matches."]
            return ToolResult(text=listing(lines, *notes))

        return await _or_sentence(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentSearch:
    """Shows lines that contain a text."""

    workspace: Workspace
    capability: Capability = CONTENT_SEARCH

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Run once; what cannot be looked for is a failed result."""

        async def run() -> ToolResult:
            given = Arguments(given=arguments)
            given.only("text", "path", "files", "ignore_case", "wildcards")
            query = Query(
                text=given.text("text"),
                files=given.optional_text("files"),
                ignore_case=given.flag("ignore_case"),
                wildcards=given.flag("wildcards"),
            )
            return _matches(
                await self.workspace.search(query, below=given.optional_text("path"), cwd=_cwd(context))
            )

        return await _or_sentence(run)


def _cwd(context: ToolContext) -> PurePath | None:
    """The folder the owner asks from; a turn of anybody else brings none, whatever its context says."""
    return context.request_cwd if context.scope.trust is Trust.OPERATOR else None


async def _or_sentence(run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    try:
        return await run()
    except (BadArgument, BadPattern) as exc:
        return ToolResult(text=str(exc), failed=True)
    except PathRefused as exc:
        return ToolResult(text=refused(exc), failed=True)
    except WorkspaceSlow:
        return ToolResult(
            text="The files could not be read in time. Try a smaller part of them.", failed=True
        )


def _page(page: TextPage) -> ToolResult:
    if page.lines == 0 and page.first == 1:
        return ToolResult(text="[The file is empty.]")
    if page.lines == 0:
        count = page.first - 1
        return ToolResult(text=f"The file has only {count} line{'s' if count > 1 else ''}.", failed=True)
    last = page.first + page.lines - 1
    notes = []
    if page.cut:
        notes.append(f"Line {last} is longer than can be shown; only its beginning is.")
    if page.more:
        notes.append(f"Lines {page.first} to {last} of more; go on with offset {last + 1}.")
    end = "" if page.text.endswith("\n") or not notes else "\n"
    return ToolResult(text=page.text + end + "".join(f"[{note}]\n" for note in notes))


def _matches(found: Matches) -> ToolResult:
    lines = [f"{one_line(match.name)}:{match.line}: {match.text}" for match in found.matches]
    notes = []
    if found.too_large:
        notes.append(f"[Not searched because they are too large: {found.too_large} files.]")
    if found.stopped is not None:
        notes.append(stopped(found.stopped))
    return ToolResult(text=listing(lines or ["No line matches."], *notes))
