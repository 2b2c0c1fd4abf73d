"""The capabilities that come with the product."""

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.tools import Tool
from fermix.application.ports.workspace import Workspace
from fermix.infrastructure.tools.attachments import SendAttachment
from fermix.infrastructure.tools.directory_access import RequestDirectoryAccess
from fermix.infrastructure.tools.files import ContentSearch, FileRead, GlobSearch
from fermix.infrastructure.tools.reactions import React


def built_in_tools(workspace: Workspace, blobs: Blobs) -> tuple[Tool, ...]:
    """Every built-in tool, in the order in which models are told of them."""
    return (
        FileRead(workspace=workspace),
        GlobSearch(workspace=workspace),
        ContentSearch(workspace=workspace),
        RequestDirectoryAccess(),
        SendAttachment(workspace=workspace, blobs=blobs),
        React(),
    )
