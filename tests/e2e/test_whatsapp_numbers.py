"""A real daemon with WhatsApp, and phones whose numbers are written in more than one way."""

from collections.abc import Iterator

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.whatsapp_api.server import WhatsAppServer, whatsapp_server
from tests.e2e.harness.homes import FermixHome, until
from tests.e2e.test_whatsapp import Meta, configure

PEOPLE = (
    'owner_user_id = "+1 (555) 123-0001"\n'
    'allowed_sender_ids = ["+525512340000", "+5547988887777", "+5547933334444"]\n'
)
SPELT_OTHERWISE = ("15551230001", "5215512340000", "554788887777")
LANDLINE = "554733334444"


@pytest.fixture
def server() -> Iterator[WhatsAppServer]:
    with whatsapp_server() as opened:
        yield opened


@pytest.fixture
def meta(home: FermixHome, model: StrictServer, server: WhatsAppServer) -> Meta:
    configure(home, model, server, people=PEOPLE)
    daemon = home.daemon().ready()
    until(lambda: "whatsapp.listens" in home.log(), what="the channel")
    return Meta(daemon, server)


def test_a_phone_is_let_in_by_either_spelling_and_answered_as_it_called(
    meta: Meta, home: FermixHome, server: WhatsAppServer, model: StrictServer
) -> None:
    assert meta.writes("from a landline", sender=LANDLINE).status_code == 200
    for number, sender in enumerate(SPELT_OTHERWISE, 1):
        assert meta.writes("hi", sender=sender).status_code == 200
        assert server.sent(number)[-1].to == sender
    until(lambda: f"'{LANDLINE}'" in home.log(), what="the warning")
    assert len(model.requests) == len(SPELT_OTHERWISE)


def test_a_number_that_whatsapp_does_not_let_us_call_is_called_by_its_other_spelling_once(
    meta: Meta, server: WhatsAppServer
) -> None:
    server.world.unknown_numbers = {"5215512340000"}
    assert meta.writes("hi", sender="5215512340000").status_code == 200
    (reply,) = server.sent(1)
    assert reply.to == "525512340000"
    assert [sent.to for sent in server.world.sent] == ["525512340000"]
