"""The conformance kit: what people who write adapters for Fermix need to prove them.

- `ledger_conformance`: the checks every ledger passes; `ledger_harness`: what an adapter brings for them.
- `histories`: the random-history experiment, its promises and its planted faults.
- `memory_ledger`: a ledger in memory that keeps all promises, death included; `memory_home`: its harness.
- `model_conformance`, `transcriber_conformance`, `secret_conformance`, `channel_conformance`: the checks of the
  other adapters, with a `…_harness` for each; `checks`: running them, and gaps as data.
- `suites`: the same as classes to subclass, for pytest and for `fermix conformance`.
- `scripted_model`, `memory_transcriber`, `memory_secrets`, `memory_channel`: stand-ins that pass those checks.
- `servers`: Telegram, WhatsApp, Slack, Discord, signal-cli and model servers on loopback, with documented limits.
- `clock`: time that stands still, ids that count; `samples`: short ways to say what arrives.

It needs nothing but Fermix itself. A test framework is yours to choose: the examples use pytest, which, like
hypothesis and trio, comes with the extra `dev` only. The packages below are the inside of these modules.
"""
