"""`fermix sandbox`, `grant` and `revoke` as the processes a user would start."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from fermix.application.ports.control import OwnerKind
from tests.integration.cli.command_line import Done
from tests.integration.cli.command_line import fermix as run
from tests.integration.local_socket.scripted_control import ScriptedControl, served


class Person:
    """A person's home; commands are run in its project folder."""

    def __init__(self, user: Path) -> None:
        self.user = user
        self.home = user / ".fermix"
        self.project = user / "project"
        for folder in (self.project, self.home, user / ".ssh"):
            folder.mkdir(parents=True)
        self.home.chmod(0o700)

    def fermix(self, *arguments: str) -> Done:
        return run(self.home, *arguments, cwd=self.project, HOME=str(self.user))

    def stands(self) -> dict[str, Any]:
        return tomllib.loads((self.home / "config.toml").read_text())["sandbox"]  # type: ignore[no-any-return]


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path.resolve() / "user")


def test_a_folder_is_granted_and_taken_back_without_a_daemon(person: Person) -> None:
    granted = person.fermix("grant", "path", ".")
    assert (granted.status, granted.err) == (0, "")
    assert granted.out.split("\n") == [
        f"Done. Let the agent reach {person.project} and everything in it.",
        "[sandbox]",
        f'+ allowed_roots = ["{person.project}"]',
        "",
    ]
    again = person.fermix("grant", "path", "~/project", "--json").document
    assert (again["ok"], again["changed"], again["diff"]) == (True, False, [])

    revoked = person.fermix("revoke", "path", "../project", "--json").document
    assert revoked == {
        "ok": True,
        "changed": True,
        "diff": ["[sandbox]", f'- allowed_roots = ["{person.project}"]', "+ allowed_roots = []"],
        "folder": str(person.project),
        "path": str(person.home / "config.toml"),
        "applies": None,
    }
    assert person.stands() == {"allowed_roots": []}


@pytest.mark.parametrize(
    ("path", "status", "code", "problem"),
    [
        ("~/.ssh", 5, "denied", "protected"),
        ("~", 5, "denied", "user_home"),
        ("/", 5, "denied", "filesystem_root"),
        ("~/gone", 1, "missing", "missing"),
        ("~/.fermix/\ta", 1, "bad_path", "bad_path"),
    ],
)
def test_a_refused_grant_ends_with_its_status_and_its_reason(
    person: Person, path: str, status: int, code: str, problem: str
) -> None:
    (person.home / "\ta").mkdir()
    document = person.fermix("grant", "path", path, "--json")

    assert document.status == status
    assert document.document["error"]["code"] == code
    assert (document.document["exit_code"], document.document["problem"]) == (status, problem)
    plain = person.fermix("grant", "path", path)
    assert (plain.status, plain.out) == (status, "")
    assert plain.err.startswith("fermix: ")
    assert not (person.home / "config.toml").exists()


def test_what_was_not_granted_cannot_be_taken_back(person: Person) -> None:
    done = person.fermix("revoke", "path", "/srv/nothing")
    assert (done.status, done.err) == (1, "fermix: /srv/nothing is not granted.\n")


def test_the_mode_is_shown_and_set(person: Person) -> None:
    assert person.fermix("sandbox", "mode").out.startswith("standard: ")
    assert person.fermix("sandbox", "mode", "open").status == 0
    assert person.stands() == {"mode": "open"}
    assert person.fermix("sandbox", "mode", "--json").document == {"ok": True, "mode": "open"}
    wrong = person.fermix("sandbox", "mode", "wide", "--json")
    assert (wrong.status, wrong.document["error"]["code"]) == (2, "usage")


def test_the_status_names_what_counts_and_what_does_not(person: Person) -> None:
    (person.home / "config.toml").write_text(
        '[sandbox]\nallowed_roots = ["~", "~/project"]\n[sandbox.env]\nallow = ["TOKEN"]\n'
    )

    shown = person.fermix("sandbox", "status")
    document = person.fermix("sandbox", "status", "--json").document

    assert (shown.status, shown.err) == (0, "")
    assert f"Not used: {person.user} is the whole home folder" in shown.out
    assert "Environment names: TOKEN" in shown.out
    assert document["roots"] == [
        {"path": str(person.home / "workspace"), "source": "workspace"},
        {"path": str(person.project), "source": "grant"},
    ]
    assert document["ignored"] == [{"path": str(person.user), "source": "grant", "problem": "user_home"}]


def test_a_path_is_explained_by_the_rule_that_decides(person: Person) -> None:
    here = person.fermix("sandbox", "explain", "a.txt")
    secret = person.fermix("sandbox", "explain", "~/.ssh/id", "--json").document
    outside = person.fermix("sandbox", "explain", "/srv/x")

    assert (here.status, here.err) == (0, "")
    assert "the folder of the request" in here.out
    assert (secret["reachable"], secret["rule"], secret["by"]) == (False, "protected", f"{person.user}/.ssh")
    assert (outside.status, "no folder that the sandbox opens" in outside.out) == (0, True)
    assert "started in" in outside.err


def test_a_broken_file_is_said_with_its_line_and_kept(person: Person) -> None:
    (person.home / "config.toml").write_text('[sandbox]\nmode = "wide"\n')

    for arguments in (["grant", "path", "."], ["sandbox", "status"], ["sandbox", "mode", "open"]):
        done = person.fermix(*arguments)
        assert (done.status, "config.toml:2: sandbox.mode" in done.err) == (7, True)
    assert (person.home / "config.toml").read_text() == '[sandbox]\nmode = "wide"\n'


@pytest.mark.parametrize("kind", OwnerKind)
def test_whoever_owns_the_home_takes_it_within_seconds(person: Person, kind: OwnerKind) -> None:
    with served(person.home / "daemon.sock", ScriptedControl(kind=kind)):
        done = person.fermix("grant", "path", ".", "--json").document
        told = person.fermix("sandbox", "mode", "strict")
        again = person.fermix("sandbox", "mode", "strict", "--json").document
    assert done["applies"] == "within_seconds"
    assert "within seconds" in told.err
    assert (again["changed"], again["applies"]) == (False, None)
