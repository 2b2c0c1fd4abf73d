"""Ask the local model twenty everyday requests under each setting and write down table and answers.

Run from the checkout: `python -m benchmarks.local_model`. It takes up to a quarter of an hour; a model that is not
installed yet is fetched first. `--only NAME` runs single settings and writes nothing.
"""

import argparse
import json
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx

from benchmarks.local_model.measures import Answer, Expectation, Marks, judge
from benchmarks.local_model.settings import SETTINGS, Setting
from fermix.infrastructure.providers.local.install import install
from fermix.infrastructure.providers.local.profile import LocalProfile, default_profile
from fermix.infrastructure.providers.local.runtime import open_local_runtime
from fermix.infrastructure.providers.local.serving import Endpoint

HERE = Path(__file__).parent
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An everyday request: what the user says turn by turn, and what the last answer should be like."""

    name: str
    turns: tuple[str, ...]
    expected: Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One answer and its marks."""

    request: Request
    answer: Answer
    marks: Marks


def read_requests() -> tuple[Request, ...]:
    """The twenty requests of `requests.json`."""
    return tuple(
        Request(
            name=item["id"],
            turns=tuple(item["turns"]),
            expected=Expectation(
                keywords=tuple(item["keywords"]),
                max_words=item["max_words"],
                english=item.get("english", True),
            ),
        )
        for item in json.loads((HERE / "requests.json").read_text())
    )


async def ask(client: httpx.AsyncClient, request: Request, setting: Setting, *, max_tokens: int) -> Answer:
    """Hold the conversation and return its last answer."""
    messages = [{"role": "system", "content": setting.prompt}] if setting.prompt else []
    sampling = setting.sampling.body() if setting.sampling else {}
    answer = Answer(text="", ended=False, tokens=0)
    for turn in request.turns:
        messages.append({"role": "user", "content": turn})
        body = {"messages": messages, "max_tokens": max_tokens, "seed": SEED, **sampling}
        response = await client.post("/chat/completions", json=body)
        response.raise_for_status()
        reply: dict[str, Any] = response.json()
        choice = reply["choices"][0]
        answer = Answer(
            text=choice["message"]["content"],
            ended=choice["finish_reason"] == "stop",
            tokens=reply["usage"]["completion_tokens"],
        )
        messages.append({"role": "assistant", "content": answer.text})
    return answer


async def run_setting(
    endpoint: Endpoint, setting: Setting, requests: Sequence[Request], *, max_tokens: int
) -> list[Result]:
    """All requests under one setting."""
    headers = {"Authorization": f"Bearer {endpoint.api_key}"}
    results = []
    async with httpx.AsyncClient(base_url=endpoint.base_url, headers=headers, timeout=120) as client:
        for request in requests:
            answer = await ask(client, request, setting, max_tokens=max_tokens)
            results.append(Result(request=request, answer=answer, marks=judge(answer, request.expected)))
    return results


def row(setting: Setting, results: Sequence[Result]) -> str:
    """One line of the table: answers with every mark, then how many missed each."""
    missed = [name for result in results for name in result.marks.missed()]
    names = [name.replace("_", " ") for name in Marks.__slots__]
    good = sum(not result.marks.missed() for result in results)
    words = sum(result.answer.tokens for result in results) // len(results)
    counts = " | ".join(str(missed.count(name)) for name in names)
    return f"| {setting.name} | {good} of {len(results)} | {words} | {counts} |"


def table(rows: Sequence[str]) -> str:
    """The whole table in Markdown."""
    names = " | ".join(f"not: {name.replace('_', ' ')}" for name in Marks.__slots__)
    head = f"| setting | every mark | tokens, mean | {names} |"
    return "\n".join([head, "| --- " * (3 + len(Marks.__slots__)) + "|", *rows])


def transcript(setting: Setting, results: Sequence[Result]) -> str:
    """Everything that was said under one setting."""
    lines = [f"# Answers: {setting.name}", "", f"System prompt: {setting.prompt or 'none'}", ""]
    sampling = dict(setting.sampling.body()) if setting.sampling else "the server's own"
    lines += [f"Sampling: {sampling}", ""]
    for result in results:
        lines += [f"## {result.request.name}", "", *(f"> {turn}" for turn in result.request.turns), ""]
        missed = ", ".join(f"not {name}" for name in result.marks.missed()) or "every mark"
        ending = "" if result.answer.ended else " [cut off]"
        quoted = "\n".join(f"    {line}".rstrip() for line in (result.answer.text + ending).splitlines())
        lines += [f"{result.answer.tokens} tokens, {missed}:", "", quoted, ""]
    return "\n".join(lines).rstrip() + "\n"


async def run(settings: Sequence[Setting], local: LocalProfile, *, write: bool) -> None:
    """Run the settings one after another; with `write`, replace the recorded results."""
    requests = read_requests()
    max_tokens = local.profile.max_output_tokens or 512
    rows = []
    async with open_local_runtime(server=local.server(), new_key=secrets.token_urlsafe) as runtime:
        for setting in settings:
            async with runtime.lease() as endpoint:
                results = await run_setting(endpoint, setting, requests, max_tokens=max_tokens)
            rows.append(row(setting, results))
            print(rows[-1], flush=True)
            if write:
                (HERE / "answers" / f"{setting.name}.md").write_text(transcript(setting, results))
                (HERE / "table.md").write_text(f"# Table of the last run\n\n{table(rows)}\n")
            else:
                print(transcript(setting, results))


def main() -> None:
    """Read the arguments, see that the model is there, and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_model", description=__doc__)
    parser.add_argument("--only", action="append", choices=[setting.name for setting in SETTINGS])
    arguments = parser.parse_args()
    home = Path(os.environ.get("FERMIX_HOME") or Path.home() / ".fermix")
    install(home, progress=lambda line: print(line, file=sys.stderr), environment=os.environ)
    chosen = [setting for setting in SETTINGS if not arguments.only or setting.name in arguments.only]
    (HERE / "answers").mkdir(exist_ok=True)
    anyio.run(lambda: run(chosen, default_profile(home), write=not arguments.only))


if __name__ == "__main__":
    main()
