"""A channel that nobody was let into: the daemon does not start it, and everything says so."""

import httpx
import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.e2e.harness.homes import FermixHome

TOKEN = "999001:AAtesttokentesttokentesttoken00002"


@pytest.mark.requirement(
    "config.channel_without_owner_is_not_started",
    "ingress.fail_closed.no_owner_no_allowlist",
    "ingress.fail_closed.doctor_row",
)
@pytest.mark.parametrize(
    "keys", ["", "owner_user_id = 1087968824\n", 'allowed_user_ids = ["@ann", "１００１"]\n']
)
def test_a_bot_nobody_may_write_to_is_never_asked_for_messages(
    home: FermixHome, model: StrictServer, keys: str
) -> None:
    with telegram_server(token=TOKEN) as server:
        server.user_writes(1001, "is anybody there?")
        home.use(
            model.base_url,
            more=(
                f'[fermix_channels.telegram]\nenabled = true\nbot_token = "{TOKEN}"\n'
                f'api_base_url = "{server.api_base_url}"\n{keys}'
            ),
        )
        daemon = home.daemon().ready()
        ready = httpx.get(f"http://127.0.0.1:{daemon.http_port()}/health/ready", timeout=10)
        assert (ready.status_code, ready.json()["status"]) == (503, "setup_required")
        assert {"component": "channel:telegram"} in ready.json()["failures"]
        assert home.fermix("ask", "and here?").out == "You said: and here?\n"
        doctor = home.fermix("doctor")
        assert doctor.code == 1
        assert "misconfigured: telegram" in doctor.out
        assert server.calls == ()
    refusals = [line for line in home.log().splitlines() if "channel.not_started" in line]
    assert len(refusals) == 1
    assert "warning" in refusals[0]
