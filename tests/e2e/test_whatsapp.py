"""A real daemon with WhatsApp, over a fake Cloud API and a fake model, called as Meta calls it."""

from collections.abc import Iterator

import httpx
import orjson
import pytest

from fermix.testing.servers.openai_strict.script import Hang, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.whatsapp_api.server import (
    ACCESS_TOKEN,
    APP_SECRET,
    PHONE_NUMBER_ID,
    VERIFY_TOKEN,
    WhatsAppServer,
    change,
    encoded,
    envelope,
    signed,
    whatsapp_server,
)
from tests.e2e.harness.homes import Daemon, FermixHome, until

OWNER = "15551230001"
GUEST = "15551230002"
GROUP = "Y2FwaV9ncm91cDoxNzA1NTU1MDEzOToxMjAzNjM0MDQ2OTQyMzM4MjAZD"
SECRETS = (ACCESS_TOKEN, APP_SECRET, VERIFY_TOKEN)
PEOPLE = (
    'owner_user_id = "+1 (555) 123-0001"\nallowed_sender_ids = ["+1 555 123 0002"]\nalbum_debounce_ms = 200\n'
)


@pytest.fixture
def server() -> Iterator[WhatsAppServer]:
    with whatsapp_server() as opened:
        yield opened


def configure(home: FermixHome, model: StrictServer, server: WhatsAppServer, people: str = PEOPLE) -> None:
    home.use(
        model.base_url,
        core='[fermix_core.telemetry]\nlog_level = "debug"\n',
        more=(
            "[fermix_channels.whatsapp]\nenabled = true\n"
            f'access_token = "{ACCESS_TOKEN}"\nphone_number_id = "{PHONE_NUMBER_ID}"\n'
            f'app_secret = "{APP_SECRET}"\nverify_token = "{VERIFY_TOKEN}"\n'
            f'graph_base_url = "{server.root}"\n{people}'
        ),
    )


class Meta:
    """Calls the daemon's webhook."""

    def __init__(self, daemon: Daemon, server: WhatsAppServer) -> None:
        self.url = f"http://127.0.0.1:{daemon.http_port()}/webhook/whatsapp"
        self._server = server

    def post(self, body: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
        given = dict(signed(body)) if headers is None else headers
        return httpx.post(self.url, content=body, headers=given, timeout=10)

    def writes(self, text: str, *, sender: str = OWNER, **more: str) -> httpx.Response:
        message = self._server.message(sender=sender, text=text, **more)
        return self.post(self._server.notification(message))

    def shows(self, *messages: dict[str, object], **more: object) -> None:
        assert self.post(self._server.notification(*messages, **more)).status_code == 200


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: WhatsAppServer) -> Iterator[Daemon]:
    configure(home, model, server)
    started = home.daemon().ready()
    yield started
    for secret in SECRETS:
        assert secret not in home.log() + started.printed()


@pytest.fixture
def meta(daemon: Daemon, home: FermixHome, server: WhatsAppServer) -> Meta:
    until(lambda: "whatsapp.listens" in home.log(), what="the channel")
    return Meta(daemon, server)


def channel_health(daemon: Daemon) -> dict[str, str]:
    body = httpx.get(f"http://127.0.0.1:{daemon.http_port()}/health/ready", timeout=5).content
    found = orjson.loads(body)["channels"]
    return next(one for one in found if one["name"] == "whatsapp")


def asked(model: StrictServer) -> list[str]:
    """What people said to the model so far, in the last request."""
    if not model.requests:
        return []
    entries = model.requests[-1].body["messages"]
    return [entry["content"] for entry in entries if entry["role"] == "user"]


def test_a_question_is_answered_in_whatsapps_own_marks(
    meta: Meta, server: WhatsAppServer, model: StrictServer
) -> None:
    model.will(Say(text="**Hello** Olga, see [here](https://x.test/a)"))
    assert meta.writes("hi").json() == {"ok": True}
    (reply,) = server.sent(1)
    assert (reply.to, reply.text) == (OWNER, "*Hello* Olga, see here: https://x.test/a")
    assert reply.content["preview_url"] is False
    assert "context" not in reply.body


def test_a_group_is_a_conversation_of_its_own_and_answers_point_at_the_question(
    meta: Meta, server: WhatsAppServer, model: StrictServer
) -> None:
    meta.writes("hi all", group_id=GROUP)
    (reply,) = server.sent(1)
    assert (reply.to, reply.body["recipient_type"]) == (GROUP, "group")
    assert reply.body["context"]["message_id"].startswith("wamid.IN")
    meta.writes("just us")
    assert server.sent(2)[1].to == OWNER
    assert asked(model) == ["just us"]


def test_a_stranger_gets_a_200_and_nothing_else(
    meta: Meta, home: FermixHome, server: WhatsAppServer, model: StrictServer
) -> None:
    assert meta.writes("let me in", sender="15559999999").status_code == 200
    assert meta.writes("/whoami").status_code == 200
    (reply,) = server.sent(1)
    assert (reply.to, OWNER in reply.text) == (OWNER, True)
    until(lambda: "'15559999999'" in home.log(), what="the warning")
    assert "let me in" not in home.log()
    assert model.requests == []


@pytest.mark.requirement("channel.whatsapp.signature")
def test_what_is_not_signed_over_these_very_bytes_is_turned_away_unread(
    meta: Meta, home: FermixHome, server: WhatsAppServer, model: StrictServer
) -> None:
    body = server.notification(server.message(sender=OWNER, text="/stop"))
    right = dict(signed(body))
    wrong: tuple[dict[str, str], ...] = (
        {},
        {"x-hub-signature-256": ""},
        {"x-hub-signature-256": "sha256="},
        {"x-hub-signature-256": right["x-hub-signature-256"].removeprefix("sha256=")},
        {"x-hub-signature-256": right["x-hub-signature-256"][:-1]},
        dict(signed(body, "another secret")),
        dict(signed(body + b" ")),
    )
    assert [meta.post(body, headers).status_code for headers in wrong] == [401] * len(wrong)
    assert meta.post(b"\xff not json", dict(signed(b"\xff not json"))).status_code == 400
    assert meta.writes("and now?").status_code == 200
    server.sent(1)
    assert len(model.requests) == 1


@pytest.mark.requirement("channel.whatsapp.challenge")
def test_the_challenge_is_echoed_to_whoever_knows_the_word_and_to_nobody_else(meta: Meta) -> None:
    def challenged(mode: str, token: str) -> tuple[int, str]:
        query = {"hub.mode": mode, "hub.verify_token": token, "hub.challenge": "424242"}
        answer = httpx.get(meta.url, params=query, timeout=5)
        return answer.status_code, answer.text

    assert challenged("subscribe", VERIFY_TOKEN) == (200, "424242")
    assert [challenged(mode, token)[0] for mode, token in (("subscribe", "no"), ("other", VERIFY_TOKEN))] == [
        401,
        401,
    ]
    assert httpx.get(meta.url, timeout=5).status_code == 401
    assert httpx.put(meta.url, timeout=5).status_code == 405


@pytest.mark.requirement("config.webhook_without_owner_stays_up")
def test_without_owner_or_allowlist_the_webhook_checks_answers_and_denies_everybody(
    home: FermixHome, server: WhatsAppServer, model: StrictServer
) -> None:
    configure(home, model, server, people="")
    daemon = home.daemon().ready()
    until(lambda: "whatsapp.listens" in home.log(), what="the channel")
    meta = Meta(daemon, server)
    assert meta.writes("hi").status_code == 200
    body = server.notification(server.message(sender=OWNER, text="hi"))
    assert meta.post(body, dict(signed(body, "another secret"))).status_code == 401
    until(lambda: f"'{OWNER}'" in home.log(), what="the warning")
    assert channel_health(daemon)["status"] == "setup_required"
    assert (list(server.world.sent), model.requests) == ([], [])


def test_a_batch_is_taken_whole_and_a_status_that_failed_is_told_to_the_operator(
    meta: Meta, home: FermixHome, server: WhatsAppServer, model: StrictServer
) -> None:
    failed = {
        "id": "wamid.s1",
        "status": "failed",
        "recipient_id": OWNER,
        "errors": [{"code": 131047, "title": "Re-engagement message"}],
    }
    messages = [server.message(sender=OWNER, text=text) for text in ("A", "B", "C")]
    payload = envelope(change({"statuses": [failed]}), change({"messages": messages[:2]}))
    payload["entry"].append({"id": "2", "changes": [change({"messages": messages[2:]})]})
    assert meta.post(encoded(payload)).status_code == 200
    server.sent(3)
    assert asked(model) == ["A", "B", "C"]
    (line,) = [line for line in home.log().splitlines() if "whatsapp.not_delivered" in line]
    assert "131047" in line
    assert "wamid.s1" in line
    assert "24 hours" in line


def test_reactions_and_notices_are_silent_and_a_sticker_looks_empty(
    meta: Meta, server: WhatsAppServer, model: StrictServer
) -> None:
    meta.shows(
        server.message(sender=OWNER, kind="reaction", reaction={"message_id": "wamid.x", "emoji": "👍"}),
        server.message(
            sender=OWNER, kind="system", system={"type": "user_changed_number", "wa_id": "15557770000"}
        ),
        statuses=[{"id": "wamid.s2", "status": "read", "recipient_id": OWNER}],
    )
    meta.shows(server.message(sender=OWNER, kind="sticker", sticker={"id": "77", "mime_type": "image/webp"}))
    (reply,) = server.sent(1)
    assert "looks empty" in reply.text
    assert meta.writes("is it me?", sender="15557770000").status_code == 200
    meta.writes("/whoami")
    assert server.sent(2)[1].to == OWNER
    assert model.requests == []


def test_a_call_that_comes_twice_is_one_message(
    meta: Meta, server: WhatsAppServer, model: StrictServer
) -> None:
    body = server.notification(server.message(sender=OWNER, text="once"))
    assert [meta.post(body).status_code for _ in range(3)] == [200] * 3
    meta.writes("and once more")
    server.sent(2)
    assert asked(model) == ["once", "and once more"]


def test_a_closed_window_ends_the_reply_and_says_why(
    meta: Meta, home: FermixHome, server: WhatsAppServer
) -> None:
    server.fault("messages", status=400, code=131047)
    meta.writes("hi")
    until(lambda: "24 hours" in home.log(), what="the reason")
    meta.writes("again")
    server.sent(1)
    assert server.called("/messages") == 2


def test_a_token_that_is_refused_later_shows_in_health_and_keeps_the_reply(
    daemon: Daemon, meta: Meta, server: WhatsAppServer
) -> None:
    good = server.world.access_token
    server.revoke_token()
    meta.writes("hi")
    until(lambda: channel_health(daemon)["status"] == "degraded", what="the failure")
    assert "access token" in channel_health(daemon)["detail"]
    server.world.access_token = good
    server.sent(1)


@pytest.mark.requirement("restart.webhook_gets_503")
def test_a_call_during_a_restart_is_sent_again_by_meta_and_answered_once(
    daemon: Daemon, meta: Meta, home: FermixHome, server: WhatsAppServer, model: StrictServer
) -> None:
    model.will(Hang(stage="headers"))
    meta.writes("slow")
    until(lambda: len(model.requests) == 1, what="the question")
    body = server.notification(server.message(sender=OWNER, text="while it restarts"))
    daemon.process.terminate()
    until(lambda: "gateway.stopping" in home.log(), what="the drain")
    assert meta.post(body).status_code == 503
    daemon.kill()
    again = home.daemon().ready()
    later = Meta(again, server)
    until(lambda: later.post(body).status_code == 200, what="the second call")
    assert later.post(body).status_code == 200
    until(lambda: asked(model)[-1:] == ["while it restarts"], what="its turn")
    assert not [reply for reply in server.world.sent if "restarting" in reply.text]


def test_an_edit_replaces_what_still_waits_and_is_noted_later(
    meta: Meta, server: WhatsAppServer, model: StrictServer
) -> None:
    model.will(Say(text="a slow answer, word by word", piece=1, pause=0.05))
    meta.writes("slow")
    until(lambda: len(model.requests) == 1, what="the question")
    typed = server.message(sender=OWNER, text="helo")
    meta.shows(typed)
    for number, words in enumerate(("hello", "hello there"), start=1):
        message = {"type": "text", "text": {"body": words}}
        edit = {"original_message_id": typed["id"], "message": message}
        edited = server.message(sender=OWNER, kind="edit", edit=edit)
        meta.shows({**edited, "timestamp": str(1_790_000_000 + number)})
    server.sent(2)
    assert asked(model) == ["slow", "hello there"]
    shouted = {"original_message_id": typed["id"], "message": {"type": "text", "text": {"body": "HELLO"}}}
    meta.shows({**server.message(sender=OWNER, kind="edit", edit=shouted), "timestamp": "1790000009"})
    meta.writes("and?")
    server.sent(3)
    assert "An earlier message was edited" in asked(model)[-1]
    assert "HELLO" in asked(model)[-1]


def test_pictures_that_are_sent_together_are_one_turn(
    meta: Meta, home: FermixHome, server: WhatsAppServer, model: StrictServer
) -> None:
    for number in range(3):
        media = server.world.store(b"\xff\xd8\xff\xe0 a picture", "image/jpeg")
        image = {"id": media, "mime_type": "image/jpeg", "caption": f"picture {number}"}
        meta.shows(server.message(sender=OWNER, kind="image", image=image))
    meta.writes("which is best?")
    server.sent(2)
    (album,) = home.rows("SELECT count(*) FROM messages GROUP BY turn HAVING count(*) > 1")
    assert album == (3,)
