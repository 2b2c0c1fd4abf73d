"""How soon something happens: `python -m benchmarks.start` in the project's root.

Prints a Markdown table, and what the client's modules cost. Every figure is the median over some rounds; its floor
(a bare interpreter, or a bare client of a Unix socket) is measured in the same round right after it.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measuring.figures import Figure, circumstances, table
from benchmarks.measuring.processes import Cost, run
from benchmarks.start.floor_server import floor_server
from benchmarks.start.homes import daemon, make_home
from benchmarks.start.imports import imports_of
from benchmarks.start.model_server import QuickProvider, quick_provider

SCRIPT = str(Path(sys.executable).with_name("fermix"))
BARE = (sys.executable, "-c", "pass")
BARE_CLIENT = (sys.executable, str(Path(__file__).with_name("floor_client.py")))
QUESTION = "Hello?"
IDLE_SECONDS = 3.0
DEAREST = 15

Figures = dict[str, list[float]]


def checked(arguments: Sequence[str], env: Mapping[str, str]) -> Cost:
    """Run a command that must succeed."""
    cost = run(arguments, env=env)
    if cost.status != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {cost.status}")
    return cost


def note(figures: Figures, key: str, cost: Cost) -> None:
    """Keep the three figures of a run."""
    figures[key].append(cost.wall)
    figures[f"{key} cpu"].append(cost.cpu)
    figures[f"{key} peak"].append(cost.peak)


def with_daemon(folder: Path, env: Mapping[str, str], figures: Figures, *, rounds: int) -> None:
    """Version and `ask`, each in turn with its floor, and the daemon at rest."""
    bare_socket = folder / "bare.sock"
    with floor_server(bare_socket), daemon(folder / "home", env=env) as running:
        commands = {
            "version": (SCRIPT, "--version"),
            "bare": BARE,
            "ask": (SCRIPT, "ask", QUESTION),
            "bare client": (*BARE_CLIENT, str(bare_socket), QUESTION),
        }
        for command in commands.values():
            checked(command, env)
        for _ in range(rounds):
            for key, command in commands.items():
                note(figures, key, checked(command, env))
        before = running.processor()
        time.sleep(IDLE_SECONDS)
        figures["idle cpu"].append((running.processor() - before) / IDLE_SECONDS * 100)
        figures["resident after asks"].append(running.resident())


def starts(folder: Path, env: Mapping[str, str], figures: Figures, *, rounds: int) -> None:
    """Daemons from their start to their first answer, and their memory then."""
    for _ in range(rounds):
        figures["bare for daemon"].append(checked(BARE, env).wall)
        with daemon(folder / "home", env=env) as running:
            figures["daemon"].append(running.ready_after)
            time.sleep(1)
            figures["resident"].append(running.resident())


def in_process(env: Mapping[str, str], provider: QuickProvider, figures: Figures, *, rounds: int) -> None:
    """`ask` without a daemon, from its start to the request at the provider."""
    checked((SCRIPT, "ask", QUESTION), env)
    for _ in range(rounds):
        asked = len(provider.asked)
        cost = checked((SCRIPT, "ask", QUESTION), env)
        figures["first request"].append((provider.asked[asked] - cost.began) * 1000)
        note(figures, "alone", cost)
        figures["bare for alone"].append(checked(BARE, env).wall)


def told(figures: Figures) -> list[Figure]:
    """The figures in words."""

    def pair(key: str, floor: str, name: str, goal: float | None = None) -> Figure:
        return Figure(name=name, unit="ms", rounds=figures[key], floor=figures[floor], goal=goal)

    def alone(key: str, name: str, unit: str) -> Figure:
        return Figure(name=name, unit=unit, rounds=figures[key])

    return [
        pair("version", "bare", "`fermix --version` (floor: `python -c pass`)", 3),
        pair("version cpu", "bare cpu", "… its processor time"),
        pair("ask", "bare client", "`fermix ask` through the daemon (floor: a bare socket client)", 3),
        pair("ask cpu", "bare client cpu", "… the client's processor time"),
        pair("first request", "bare for alone", "`ask` without a daemon: to the request at the model"),
        pair("alone", "bare for alone", "… to its end"),
        alone("alone peak", "… its memory", "MiB"),
        pair("daemon", "bare for daemon", "daemon: start to the first answer at its socket"),
        alone("resident", "daemon: memory a second later", "MiB"),
        alone("resident after asks", "daemon: memory after the asks above", "MiB"),
        alone("idle cpu", "daemon: processor at rest", "%"),
    ]


def told_imports(title: str, arguments: Sequence[str], env: Mapping[str, str]) -> str:
    """The dearest modules of a command."""
    found = imports_of(arguments, env=env)
    total = sum(each.own for each in found) / 1000
    rows = [f"| `{each.name}` | {each.own / 1000:.2f} |" for each in found[:DEAREST]]
    head = f"{title}: {len(found)} modules, {total:.1f} ms"
    return "\n".join([head, "", "| module | ms, its own |", "|---|---|", *rows])


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds: int = parser.parse_args().rounds
    figures: Figures = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="fermix-start-") as made, quick_provider() as provider:
        folder = Path(made)
        env = make_home(folder / "home", base_url=provider.base_url)
        with_daemon(folder, env, figures, rounds=rounds)
        starts(folder, env, figures, rounds=min(rounds, 5))
        in_process(env, provider, figures, rounds=min(rounds, 5))
        with daemon(folder / "home", env=env):
            ask = told_imports("What `fermix ask` loads", ["ask", QUESTION], env)
        version = told_imports("What `fermix --version` loads", ["--version"], env)
    print(circumstances(rounds=rounds), table(told(figures)), version, ask, sep="\n\n")


if __name__ == "__main__":
    main()
