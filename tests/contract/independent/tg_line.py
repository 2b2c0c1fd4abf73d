"""tg-auto-test, a Telegram in memory that none of us wrote, on sockets: our adapter meets it as it meets Telegram.

Its own are the answers to calls, and the updates that a person's writing and sending make. Ours are the line, and
the queue that polls take updates from, which it hands to a bot inside its own process.
"""

import json
from collections.abc import Coroutine
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tg_auto_test.test_utils.file_message_builder import build_file_payload
from tg_auto_test.test_utils.incoming_text import apply_incoming_text
from tg_auto_test.test_utils.models import FileData, TelegramApiCall
from tg_auto_test.test_utils.serverless_client_helpers import ServerlessClientHelpers
from tg_auto_test.test_utils.stub_request import StubTelegramRequest
from typing_extensions import override

from fermix.testing.servers.loopback import Endpoint, Platform, Request, Served
from fermix.testing.servers.telegram_api.parameters import UploadedFile, parameters_of
from fermix.testing.servers.telegram_api.polling import UpdateQueue

ANN = 1001
TOKEN = "999999:of-nobody"
_OURS = frozenset({"deleteWebhook", "getWebhookInfo"})
"""Calls about how updates come, which is ours."""


@dataclass(slots=True, kw_only=True)
class TgWorld(Platform):
    """What tg-auto-test keeps, and the updates that wait to be polled."""

    telegram: StubTelegramRequest = field(
        default_factory=lambda: StubTelegramRequest(bot_username="fermix_bot")
    )
    ann: ServerlessClientHelpers = field(default_factory=lambda: ServerlessClientHelpers(ANN, "Ann"))
    queue: UpdateQueue = field(init=False)

    def __post_init__(self) -> None:
        self.queue = UpdateQueue(self.changed)


class TgTelegram(Endpoint[TgWorld]):
    """Hands over to tg-auto-test what comes, and back what it answers."""

    @override
    def serve(self, request: Request) -> None:
        if request.path.startswith("/file/"):
            self.reply(*_now(self.world.telegram.do_request(request.path, "GET")), "application/octet-stream")
            return
        method = request.path.rpartition("/")[2]
        given = parameters_of(request.query, request.headers.get("content-type", ""), request.body)
        with self.world.changed:
            if method == "getUpdates":
                answer = {"ok": True, "result": self.world.queue.poll(given, self.is_gone)}
                self.reply(200, json.dumps(answer).encode())
            elif method in _OURS:
                self.reply(200, b'{"ok": true, "result": true}')
            else:
                told = self.world.telegram.do_request(request.path, "POST", _handed_over(given.values))
                self.world.changed.notify_all()
                self.reply(*_now(told))


def _handed_over(values: Any) -> Any:
    """Parameters and files, as the library for bots hands them over."""
    files = {name: each for name, each in values.items() if isinstance(each, UploadedFile)}
    texts = {name: each for name, each in values.items() if name not in files}
    return SimpleNamespace(
        json_parameters={
            name: each if isinstance(each, str) else json.dumps(each) for name, each in texts.items()
        },
        contains_files=bool(files),
        multipart_data={name: (each["file"], each.content, each["type"]) for name, each in files.items()},
    )


def _now(work: Coroutine[Any, Any, tuple[int, bytes]]) -> tuple[int, bytes]:
    """The result of what never waits."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: tuple[int, bytes] = ended.value
        return result
    raise RuntimeError("it waits")


class TgServer(Served[TgWorld]):
    """tg-auto-test behind an address, with one person."""

    def __init__(self) -> None:
        super().__init__(TgWorld(), TgTelegram, 0)

    def writes(self, text: str) -> None:
        """Ann writes."""
        with self._world.changed:
            payload, message = self._world.ann.base_message_update(ANN)
            apply_incoming_text(message, text, parse_mode="md", formatting_entities=None)
            self._world.queue.push(payload)

    def sends(self, content: bytes, caption: str, **kind: bool) -> None:
        """Ann sends a file."""
        with self._world.changed:
            file = self._world.ann.make_file_id()
            self._world.telegram.file_store[file] = FileData(
                data=content, filename="file", content_type="application/octet-stream"
            )
            payload, message = self._world.ann.base_message_update(ANN)
            how = {"force_document": False, "voice_note": False, "video_note": False, **kind}
            build_file_payload(message, file, content, file_bytes=content, caption=caption, **how)
            self._world.queue.push(payload)

    def calls(self, method: str) -> list[TelegramApiCall]:
        """What the bot has called."""
        with self._world.changed:
            return [call for call in self._world.telegram.calls if call.api_method == method]
