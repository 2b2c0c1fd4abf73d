"""Which channels start while nobody may write."""

import pytest

from fermix.domain.transport import Transport, is_started, transport_named


@pytest.mark.requirement("config.channel_without_owner_is_not_started")
@pytest.mark.parametrize("transport", [Transport.POLLING, Transport.GATEWAY, Transport.SUBPROCESS])
def test_a_channel_that_connects_is_not_started_for_nobody(transport: Transport) -> None:
    assert not is_started(transport, somebody_may_write=False)


def test_a_webhook_stays_up_for_nobody() -> None:
    assert is_started(Transport.WEBHOOK, somebody_may_write=False)


@pytest.mark.parametrize("transport", Transport)
def test_every_channel_is_started_for_somebody(transport: Transport) -> None:
    assert is_started(transport, somebody_may_write=True)


@pytest.mark.parametrize("mode", [None, "", "push", "WEBHOOK", 7, True, ["webhook"]])
def test_a_mode_we_do_not_know_is_taken_for_one_that_connects(mode: object) -> None:
    assert transport_named(mode) is Transport.POLLING


@pytest.mark.parametrize("transport", Transport)
def test_a_mode_is_named_as_in_the_file(transport: Transport) -> None:
    assert transport_named(transport.value) is transport
