import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from fermix.infrastructure.http.access import Access, RefusalStatus
from fermix.infrastructure.http.token import TokenUnusable, open_token

_TOKEN = "correct-horse-battery-staple-0123456789"


def _decide(bind: str = "127.0.0.1", reached_at: str = "127.0.0.1", **headers: str) -> RefusalStatus | None:
    given_headers = Headers({name.replace("_", "-"): value for name, value in headers.items()})
    refusal = Access(bind=bind, token=_TOKEN).decide(given_headers, reached_at=reached_at)
    return refusal.status if refusal else None


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:4030", "127.0.0.1:4030", "127.5.5.5", "[::1]:4030", "localhost.:80"]
)
def test_this_machine_may_be_called_by_its_own_names(host: str) -> None:
    assert _decide(host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "evil.example@localhost",
        "localhost/evil.example",
        "192.168.1.5",
        "[::1",
        "2130706433",
        "\x7f",
    ],
)
def test_any_other_host_is_refused(host: str) -> None:
    assert _decide(host=host) is RefusalStatus.FORBIDDEN


def test_a_request_without_a_host_is_refused() -> None:
    assert _decide() is RefusalStatus.FORBIDDEN


@pytest.mark.parametrize("reached_at", ["192.168.1.5", "::ffff:192.168.1.5"])
def test_on_all_addresses_the_one_that_was_reached_counts(reached_at: str) -> None:
    bearer = f"Bearer {_TOKEN}"

    assert _decide("0.0.0.0", reached_at, host="192.168.1.5:4030", authorization=bearer) is None
    assert _decide("0.0.0.0", reached_at, host="192.168.1.6", authorization=bearer) is RefusalStatus.FORBIDDEN


@pytest.mark.parametrize(
    "origin", ["null", "http://evil.example", "http://localhost", "http://localhost:4031", "file://"]
)
def test_any_origin_but_the_host_that_was_asked_is_refused(origin: str) -> None:
    assert _decide(host="localhost:4030", origin=origin) is RefusalStatus.FORBIDDEN


@pytest.mark.parametrize("name", ["x_forwarded_for", "forwarded", "x_real_ip", "via", "cf_connecting_ip"])
def test_a_forwarded_request_shows_the_token(name: str) -> None:
    assert _decide(host="localhost", **{name: "1.2.3.4"}) is RefusalStatus.UNAUTHORIZED
    assert _decide(host="localhost", authorization=f"Bearer {_TOKEN}", **{name: "1.2.3.4"}) is None


@given(shown=st.text(max_size=60))
def test_nothing_but_the_token_is_the_token(shown: str) -> None:
    assert _decide(
        "0.0.0.0", host="localhost", authorization=shown.encode("latin-1", "replace").decode("latin-1")
    ) is (RefusalStatus.UNAUTHORIZED)


def test_a_token_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "http_token"

    token = open_token(path)

    assert len(token) >= 32
    assert open_token(path) == token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["http_token"]


def test_a_token_open_to_others_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "http_token"
    path.write_text(_TOKEN + "\n")
    path.chmod(0o644)

    assert open_token(path) == _TOKEN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "short", "a" * 600, "with blanks " * 5, "é" * 40])
def test_a_file_without_a_token_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "http_token"
    path.write_text(content)

    with pytest.raises(TokenUnusable, match="http_token"):
        open_token(path)

    assert path.read_text() == content


def test_a_link_or_a_folder_is_no_token(tmp_path: Path) -> None:
    (tmp_path / "target").write_text(_TOKEN)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "folder").mkdir()

    for name in ("link", "folder"):
        with pytest.raises(TokenUnusable):
            open_token(tmp_path / name)
