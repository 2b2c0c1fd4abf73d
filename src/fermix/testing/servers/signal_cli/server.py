"""Signal behind the fake signal-cli: one account, people who write to it, and what goes wrong.

Keeps to the interfaces of signal-cli 0.13: `jsonRpc` with `--receive-mode manual`, `receive`, `send`,
`sendReaction`, `sendTyping`; its error codes and texts; one process on an account at a time.
"""

import json
import os
import shlex
import socketserver
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import anyio.to_thread
from typing_extensions import override

from fermix.testing.servers.signal_cli.answers import REFUSALS, params_of, refused
from fermix.testing.servers.signal_cli.records import ACCOUNT, OLGA, THEN, Fault, Process, Sent, kill, uuid_of

_T = TypeVar("_T")
_PATIENCE = 10.0
"""Seconds that waiting lasts before it is an `AssertionError`: a child process may have to start first."""

_WAITING = "INFO  SignalAccount - Config file is in use by another instance, waiting…\n"
_HAVE_IT = "INFO  SignalAccount - Config file lock acquired.\n"


class SignalServer:
    """The far side, as a test directs it. All its state is behind one condition."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "signal-cli"
        self.data = folder / "data"
        self.attachments = self.data / "signal-cli" / "attachments"
        self.attachments.mkdir(parents=True)
        self.changed = threading.Condition()
        self.processes: list[Process] = []
        self.started: list[Process] = []
        self.waiting: deque[tuple[int, str]] = deque()
        self.read: set[int] = set()
        self.sent: list[Sent] = []
        self.tries = 0
        self.fault: Fault | None = None
        self.met = 0
        self.is_registered = True
        self.speaks_rpc = True
        self.is_locked = False
        self._numbers = 0
        self._stamps = THEN

    @property
    def environment(self) -> dict[str, str]:
        """What the program needs of its environment."""
        return {
            "FAKE_SIGNAL_SOCKET": str(self.folder / "socket"),
            "PATH": os.defpath,
            "XDG_DATA_HOME": str(self.data),
        }

    def stamp(self) -> int:
        """The next time, which is what messages are known by."""
        self._stamps += 1
        return self._stamps

    def writes(self, text: str | None, *, sender: str = OLGA, group: str | None = None, **data: Any) -> int:
        """Somebody writes; gives back when, by Signal's clock."""
        when = self.stamp()
        message: dict[str, Any] = {
            "timestamp": when,
            "message": text,
            "expiresInSeconds": 0,
            "viewOnce": False,
        }
        if group is not None:
            message["groupInfo"] = {
                "groupId": group,
                "groupName": "All of us",
                "revision": 1,
                "type": "DELIVER",
            }
        self.envelope(sender, when, dataMessage=message | data)
        return when

    def envelope(self, sender: str, when: int, **content: Any) -> int:
        """An envelope with any content; gives back its number."""
        told: dict[str, Any] = {
            "source": sender,
            "sourceNumber": sender,
            "sourceUuid": uuid_of(sender),
            "sourceName": "Olga",
            "sourceDevice": 1,
            "timestamp": when,
            "serverReceivedTimestamp": when,
            "serverDeliveredTimestamp": when,
        }
        return self.notice({"envelope": told | content, "account": ACCOUNT})

    def notice(self, told: object) -> int:
        """Anything that a process is to hand over as a received message."""
        return self._wait_to_be_read(json.dumps(told))

    def line(self, raw: str) -> int:
        """Any line, which may be none of signal-cli's."""
        return self._wait_to_be_read(raw, raw=True)

    def _wait_to_be_read(self, text: str, *, raw: bool = False) -> int:
        with self.changed:
            self._numbers += 1
            self.waiting.append((self._numbers, text if not raw else f"\0{text}"))
            self._hand_over()
            return self._numbers

    def sent_as(self, kind: str) -> list[Sent]:
        """What was sent by one method."""
        return [one for one in self.sent if one.kind == kind]

    def goes_away(self) -> None:
        """Processes die, and new ones find no network."""
        with self.changed:
            (self.folder / "socket").rename(self.folder / "away")
            for process in self.processes:
                kill(process.pid)
                process.receives = False

    def comes_back(self) -> None:
        """New processes work again."""
        with suppress(FileNotFoundError):
            (self.folder / "away").rename(self.folder / "socket")

    def dies(self) -> None:
        """The processes that run die."""
        with self.changed:
            for process in self.processes:
                kill(process.pid)
                process.receives = False

    def lets_go(self) -> None:
        """A process of somebody else lets go of the account."""
        with self.changed:
            self.is_locked = False
            self._grant()

    def until(self, look: Callable[[], _T]) -> _T:
        """Wait until there is something.

        Raises:
            AssertionError: it did not come to that in time.
        """
        with self.changed:
            if not self.changed.wait_for(look, _PATIENCE):
                raise AssertionError("it did not happen")
            return look()

    async def comes_to(self, look: Callable[[], _T]) -> _T:
        """As `until`, beside others."""
        return await anyio.to_thread.run_sync(self.until, look, abandon_on_cancel=True)

    def begins(self, process: Process) -> None:
        """A process has started."""
        with self.changed:
            self.started.append(process)
            self.processes.append(process)
            self._grant()
            if not process.has_account:
                process.order(err=_WAITING)
            self.changed.notify_all()

    def ends(self, process: Process) -> None:
        """A process is gone."""
        with self.changed:
            self.processes.remove(process)
            self._grant()
            self.changed.notify_all()

    def hears(self, process: Process, said: Mapping[str, Any]) -> None:
        """Something that a process was told, or has done."""
        with self.changed:
            if "read" in said:
                self.read.add(said["read"])
            elif "heard" in said:
                process.heard += said["heard"]
                if process.command == "jsonRpc" and process.has_account:
                    self._requests(process)
            elif process.command == "jsonRpc":
                process.order(exit=0)
            elif process.command in {"send", "sendReaction", "sendTyping"} and process.has_account:
                self._called(process)
            self.changed.notify_all()

    def _grant(self) -> None:
        """One process at a time has the account."""
        if self.is_locked or not self.processes or any(one.has_account for one in self.processes):
            return
        process = self.processes[0]
        process.has_account = True
        if len(self.started) > 1:
            process.order(err=_HAVE_IT)
        if not self.is_registered:
            process.order(err=f"User {ACCOUNT} is not registered.\n", exit=1)
        elif process.command == "jsonRpc":
            if not self.speaks_rpc:
                process.order(err="usage: signal-cli\nsignal-cli: error: invalid choice: 'jsonRpc'\n", exit=1)
            self._requests(process)
        elif process.command == "receive":
            process.receives = True
            self._hand_over()

    def _requests(self, process: Process) -> None:
        *lines, process.heard = process.heard.split("\n")
        for line in lines:
            number, answer = self._asked(process, line.encode("latin-1"))
            if answer is not None:
                said = json.dumps({"jsonrpc": "2.0", **answer, "id": number})
                process.order(out=f"{said}\n")
            self._hand_over()

    def _asked(self, process: Process, line: bytes) -> tuple[Any, dict[str, Any] | None]:
        """The number of a request, and its answer if it gets one."""
        try:
            request = json.loads(line)
        except ValueError:
            return None, refused(-32700, "Unrecognized token")
        if not isinstance(request, dict) or "method" not in request:
            return None, refused(-32600, "invalid request")
        return request["id"], self._answer(process, request["method"], request.get("params") or {})

    def _answer(self, process: Process, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        match method:
            case "version":
                return {"result": {"version": "0.13.19"}}
            case "subscribeReceive":
                process.receives = True
                return {"result": 7}
            case "unsubscribeReceive":
                is_known = params == {"subscription": 7}
                process.receives = process.receives and not is_known
                return {"result": {}} if is_known else refused(-1, "Unknown subscription id")
            case "send":
                return self._send(process, params)
            case "sendReaction" | "sendTyping":
                self.tries += method == "sendReaction"
                return {"result": {"timestamp": self._show(method, params)}}
            case _:
                return refused(-32601, "Method not implemented")

    def _send(self, process: Process, params: Mapping[str, Any]) -> dict[str, Any] | None:
        self.tries += 1
        if not params.get("message") and not params.get("attachments"):
            return refused(-1, "an empty message")
        fault, self.fault = self.fault, None
        if fault is not None and (refusal := REFUSALS.get(fault.kind)) is not None:
            return refusal(fault.seconds)
        if fault is not None and fault.kind == "stalled":
            self.met += 1
            return None
        return self._delivered(process, params, fault)

    def _delivered(
        self, process: Process, params: Mapping[str, Any], fault: Fault | None
    ) -> dict[str, Any] | None:
        stamp = self._show("send", params)
        if fault is not None and fault.kind == "lost":
            kill(process.pid)
            return None
        if fault is not None:
            return {"result": "something else"}
        results = [{"recipientAddress": {"number": "+1"}, "type": "SUCCESS"}]
        return {"result": {"timestamp": stamp, "results": results}}

    def _show(self, kind: str, params: Mapping[str, Any]) -> int:
        paths = [Path(path) for path in params.get("attachments", ())]
        files = tuple((path.name, path.read_bytes()) for path in paths)
        stamp = self.stamp()
        self.sent.append(Sent(kind=kind, timestamp=stamp, params=params, files=files))
        return stamp

    def _called(self, process: Process) -> None:
        words = process.argv[process.argv.index(process.command) + 1 :]
        answer = self._answer(process, process.command, params_of(words, process.heard))
        if answer is None:
            return
        error = answer.get("error")
        if error is None:
            process.order(out=json.dumps(answer["result"]) + "\n", exit=0)
            return
        told = (error["data"] or {}).get("response")
        out = {} if told is None else {"out": json.dumps(told) + "\n"}
        process.order(**out, err=f"{error['message']}\n", exit=-error["code"])

    def _hand_over(self) -> None:
        process = next((one for one in self.processes if one.receives), None)
        while process is not None and self.waiting:
            number, text = self.waiting.popleft()
            if text.startswith("\0"):
                line = text[1:]
            elif process.command == "receive":
                line = text
            else:
                told = {"subscription": 7, "result": json.loads(text)}
                line = json.dumps({"jsonrpc": "2.0", "method": "receive", "params": told})
            process.order(out=f"{line}\n", tell=number)
        if process is not None and process.command == "receive":
            process.receives = False
            process.order(exit=0)


class _Line(socketserver.StreamRequestHandler):
    @override
    def handle(self) -> None:
        server: SignalServer = self.server.far_side  # type: ignore[attr-defined]  # ours, below
        told = json.loads(self.rfile.readline() or b"null")
        if told is None:
            return
        process = Process(write=self.wfile.write, **told)
        server.begins(process)
        try:
            for line in self.rfile:
                server.hears(process, json.loads(line))
        except ConnectionResetError:
            pass
        finally:
            server.ends(process)


class _Listener(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, far_side: SignalServer) -> None:
        self.far_side = far_side
        super().__init__(str(far_side.folder / "socket"), _Line)


@contextmanager
def signal_server() -> Generator[SignalServer]:
    """A far side with its program, in a folder of its own."""
    with TemporaryDirectory(prefix="signal-") as folder:
        server = SignalServer(Path(folder))
        program = Path(__file__).with_name("program.py")
        command = shlex.join([sys.executable, "-SE", str(program)])
        server.program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        server.program.chmod(0o700)
        with _Listener(server) as listener:
            thread = threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            try:
                yield server
            finally:
                server.dies()
                listener.shutdown()
                thread.join(_PATIENCE)
