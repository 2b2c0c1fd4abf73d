"""The least a Python client of a daemon can be: connect, send a line, read a line, print it."""

import json
import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
    connection.connect(sys.argv[1])
    connection.sendall(json.dumps({"verb": "ask", "text": sys.argv[2]}).encode() + b"\n")
    with connection.makefile("rb") as lines:
        print(json.loads(lines.readline())["text"])
