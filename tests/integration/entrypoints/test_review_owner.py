"""What an owner of a home notices of its files, and says of them for as long as it is true."""

from pathlib import Path

import anyio
import anyio.lowlevel
import apsw
import pytest

from fermix.application.gateway.health import LEDGER
from fermix.application.ports.control import Readiness
from fermix.testing.servers.openai_strict.server import strict_server
from tests.integration.entrypoints.test_container import asked, owned, write_config

pytestmark = pytest.mark.anyio


def damage(ledger: Path) -> None:
    """As a power cut may leave it: another boot, and a page of zeros that nothing has needed yet."""
    connection = apsw.Connection(str(ledger))
    connection.execute("UPDATE runtime SET boot='another'")
    for number in range(50):
        connection.execute(
            "INSERT INTO receipts(principal, request, digest, result, created_at) VALUES('spare', ?, x'00', ?, 0)",
            (str(number), "v" * 800),
        )
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = connection.pragma("page_size")
    connection.close()
    content = bytearray(ledger.read_bytes())
    page = content.index(b"v" * 800) // size * size
    content[page : page + size] = bytes(size)
    ledger.write_bytes(content)


async def test_damage_found_after_a_reboot_is_not_healed_by_a_write_that_succeeds(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with strict_server() as server:
        write_config(home, server, name="Fermix")
        async with owned(home):
            pass
        damage(home / "ledger.db")
        async with owned(home) as operations:
            with anyio.fail_after(10):
                while not (await operations.health()).failures:
                    await anyio.lowlevel.checkpoint()
            assert (await asked(operations, "hello", "r1")).text == "You said: hello"
            assert not operations.board.is_failing(LEDGER)
            health = await operations.health()
    assert health.status is Readiness.DEGRADED
    (failure,) = health.failures
    assert failure.startswith("ledger_file: ")
    assert "damaged" in failure
