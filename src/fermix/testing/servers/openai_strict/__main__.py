"""Run the strict server as a process: prints its address as one JSON line and serves until its stdin ends.

`--script FILE` holds a JSON list of answers (see `script.answer_from_json`); more can be posted to
`/_strict/script`, and what arrived is read from `/_strict/requests`.
"""

import argparse
import json
import sys
from pathlib import Path

from fermix.testing.servers.openai_strict.script import answer_from_json
from fermix.testing.servers.openai_strict.server import strict_server


def main() -> None:
    """Read the arguments, serve, and end with stdin."""
    parser = argparse.ArgumentParser(prog="python -m fermix.testing.servers.openai_strict")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", default="strict-1")
    parser.add_argument("--key", default="test-key")
    parser.add_argument("--keyless", action="store_true")
    parser.add_argument("--script", type=Path)
    given = parser.parse_args()
    answers = json.loads(given.script.read_text()) if given.script else []
    key = None if given.keyless else given.key
    script = (answer_from_json(answer) for answer in answers)
    with strict_server(*script, key=key, model=given.model, port=given.port) as server:
        sys.stdout.write(json.dumps({"base_url": server.base_url}) + "\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
