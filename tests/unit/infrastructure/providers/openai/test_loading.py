"""The SDK costs half a second and 30 MB, so nothing loads it before it is used."""

import subprocess
import sys

SCRIPT = """
import sys
from fermix.application.ports.model import ModelProfile
from fermix.infrastructure.providers.openai.endpoint import fixed_endpoint
from fermix.infrastructure.providers.openai.factory import Wire, build_model

models = [
    build_model(
        profile=ModelProfile(provider="openai", model="m"),
        wire=wire,
        endpoint=fixed_endpoint("openai", api_key="k"),
        timeout_seconds=5,
    )
    for wire in Wire
]
heavy = {"openai", "httpx", "httpx2", "httpcore", "pydantic", "ssl"} & set(sys.modules)
assert not heavy, heavy

import anyio
anyio.run(models[0].warm)
assert {"openai", "httpx"} <= set(sys.modules)
assert "openai.resources.chat" not in sys.modules
"""

IN_A_DAEMON = (
    "from fermix.infrastructure.system.footprint import leave_out_unused\nleave_out_unused()\n"
    + SCRIPT
    + """
useless = {"aiohttp", "trio", "rich", "yaml"} & {name for name, module in sys.modules.items() if module}
assert not useless, useless
"""
)


def test_building_a_model_loads_no_client_and_warming_it_does() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr


def test_in_a_daemon_the_sdk_brings_no_second_http_client_and_no_second_loop() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IN_A_DAEMON], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
