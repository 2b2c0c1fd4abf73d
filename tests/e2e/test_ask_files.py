"""`fermix ask -f` by real processes: what a question takes along is kept before it is accepted."""

import json
import signal
from pathlib import Path

import pytest

from fermix.domain.blob import referenced_blob
from fermix.testing.sample_pictures import png
from fermix.testing.servers.openai_strict.script import Call, Hang, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import API_KEY, FermixHome, until

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n%%EOF\n"


def test_a_file_lies_in_the_home_from_its_admission_on_whatever_becomes_of_it_outside(
    home: FermixHome, model: StrictServer, tmp_path: Path
) -> None:
    model.will(Hang(stage="headers"))
    home.daemon().ready()
    (tmp_path / "plan.pdf").write_bytes(PDF)
    asking = home.start("ask", "what is this?", "-f", str(tmp_path / "plan.pdf"))
    until(lambda: model.requests, what="the request to the model")
    (tmp_path / "plan.pdf").unlink()
    ((body,),) = home.rows("SELECT body FROM messages")
    (attachment,) = json.loads(body)["attachments"]
    assert (attachment["kind"], attachment["name"]) == ("file", "plan.pdf")
    assert attachment["mime_type"] == "application/pdf"
    blob = referenced_blob(attachment["reference"])
    assert blob is not None
    assert (home.path / "blobs" / blob.digest).read_bytes() == PDF
    asking.process.send_signal(signal.SIGINT)
    assert asking.end().code == 130


@pytest.mark.parametrize("by_daemon", [True, False])
def test_a_file_is_named_to_the_model_with_and_without_a_daemon(
    home: FermixHome, model: StrictServer, tmp_path: Path, *, by_daemon: bool
) -> None:
    if by_daemon:
        home.daemon().ready()
    (tmp_path / "plan.pdf").write_bytes(PDF)
    asked = home.fermix("ask", "what is this?", "-f", str(tmp_path / "plan.pdf"))
    assert asked.code == 0, asked
    said = model.requests[-1].body["messages"][-1]["content"]
    assert "what is this?" in said
    assert "plan.pdf" in said


@pytest.mark.parametrize("by_daemon", [True, False])
def test_a_picture_reaches_a_model_that_sees_whatever_it_is_called(
    home: FermixHome, model: StrictServer, tmp_path: Path, *, by_daemon: bool
) -> None:
    home.configure(
        f'[fermix_core.providers.strict]\nbase_url = "{model.base_url}"\napi_key = "{API_KEY}"\n'
        'default_model = "strict-1"\nvision = true\n[fermix_web]\nport = 0\n'
    )
    if by_daemon:
        home.daemon().ready()
    (tmp_path / "notes.txt").write_bytes(png(200, 30, 30))
    asked = home.fermix("ask", "what is this?", "-f", str(tmp_path / "notes.txt"))
    assert asked.code == 0, asked
    said = model.requests[-1].body["messages"][-1]["content"]
    assert "data:image/" in json.dumps(said)


@pytest.mark.parametrize("by_daemon", [True, False])
def test_a_file_that_the_agent_sends_is_saved_where_it_was_asked_for(
    home: FermixHome, model: StrictServer, tmp_path: Path, *, by_daemon: bool
) -> None:
    if by_daemon:
        home.daemon().ready()
    (home.path / "workspace").mkdir(exist_ok=True)
    (home.path / "workspace" / "plan.pdf").write_bytes(PDF)
    sends = Call(id="c1", name="send_attachment", arguments='{"path": "plan.pdf", "caption": "The plan."}')
    model.will(Say(calls=(sends,)), Say(text="There it is."))
    asked = home.fermix("ask", "send me the plan", "--save-to", str(tmp_path))
    assert (asked.code, asked.out) == (0, "There it is.\n"), asked
    saved = tmp_path / "plan.pdf"
    assert asked.err == f"fermix: Saved {saved} (application/pdf, {len(PDF)} bytes): The plan.\n"
    assert saved.read_bytes() == PDF
    model.will(Say(calls=(sends,)), Say(text=""))
    again = home.fermix("ask", "--session", "b", "once more, without a word", "--save-to", str(tmp_path))
    assert (again.code, again.out.strip()) == (0, ""), again
    assert (tmp_path / "plan (1).pdf").read_bytes() == PDF


def test_what_is_no_file_is_told_before_anybody_is_asked(
    home: FermixHome, model: StrictServer, tmp_path: Path
) -> None:
    asked = home.fermix("ask", "what is this?", "-f", str(tmp_path))
    assert (asked.code, asked.out) == (2, "")
    assert "is a folder" in asked.err
    assert not model.requests
