"""Platforms to write adapters against: servers on loopback that enforce what the platforms document.

Each is a context manager that runs one server, for as long as its block lasts and on a port of its own:

    with telegram_server() as server:
        ...                      # point a client at it; people's side of the platform is methods of `server`
        server.goes_away()       # nobody is there, until
        server.comes_back()      # at the same address

- `telegram_api.server.telegram_server`: the Bot API with long polls, files, reactions, buttons, topics.
- `whatsapp_api.server.whatsapp_server`: the Cloud API, media in two steps; `signed` makes Meta's calls.
- `slack_api.server.slack_server`: the Web API, files and Socket Mode; `signed` makes Slack's calls.
- `discord_api.server.discord_server`: REST, attachments, interactions, and the gateway with its sessions.
- `signal_cli.server.signal_server`: a program that speaks as signal-cli does, for an adapter to start.
- `openai_strict.server.strict_server`: both of OpenAI's wires, refusing whatever they do not name.
- `transcription_api.server.transcription_server`: services that hear recordings.

Faults are planned ahead, by `server.fault(…)` or as a script of answers: refusals, waits, broken lines, garbled
answers, redirects, silence. What waits for the client raises `AssertionError` in the end and must not run in the
client's event loop; methods that begin with `until` wait beside it. `loopback` is what all but signal-cli's stand
on, for a server of your own; `websocket` and `multipart` come with it. Nothing but Fermix itself is needed.

`python -m fermix.testing.servers.telegram_api` and `…openai_strict` run as processes of their own.
"""
