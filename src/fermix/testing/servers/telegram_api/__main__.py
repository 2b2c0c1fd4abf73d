"""Run the server as a process: prints address and token as one JSON line and serves until its stdin ends.

People write, and what chats show is read, through `/_play/…` (see `play`).
"""

import argparse
import json
import sys

from fermix.testing.servers.telegram_api.server import TOKEN, telegram_server


def main() -> None:
    """Read the arguments, serve, and end with stdin."""
    parser = argparse.ArgumentParser(prog="python -m fermix.testing.servers.telegram_api")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--real-limits", action="store_true")
    given = parser.parse_args()
    with telegram_server(token=given.token, port=given.port, real_limits=given.real_limits) as server:
        line = json.dumps({"api_base_url": server.api_base_url, "token": server.token})
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
