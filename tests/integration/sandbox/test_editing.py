"""Changes of the sandbox in a real configuration file: comments kept, nothing lost, nothing opened unseen."""

import os
import tomllib
from pathlib import Path, PurePath

import pytest

from fermix.application.ports.sandbox import ChangeRefused
from fermix.domain.sandbox import SandboxMode
from fermix.domain.sandbox_changes import (
    Additions,
    AllowVariable,
    ChangeProblem,
    DenyVariable,
    DisablePreset,
    EnablePreset,
    GrantPath,
    RevokePath,
    SandboxChange,
    SandboxProposal,
    SetMode,
    SetProfile,
    SetVariable,
    UnsetVariable,
)
from fermix.domain.sandbox_commands import CommandPreset, CommandProfile
from fermix.infrastructure.sandbox.editor import SandboxEditor

WRITTEN = """\
# my agent
[fermix_core.agent]
name = "ada"  # her name

[sandbox]
# Where she may look.
allowed_roots = [
    "~/notes",  # my notes
]
blocked_roots = ["~/private"]

[fermix_web]
port = 5000
"""


class Desk:
    """A person's home with our own in it, and the editor of its configuration."""

    def __init__(self, user: Path) -> None:
        self.user = user
        self.home = user / ".fermix"
        self.config = self.home / "config.toml"
        for name in (".fermix", "notes", "project", "private/deep", ".ssh"):
            (user / name).mkdir(parents=True)
        self.config.write_text(WRITTEN)
        self.editor = SandboxEditor(
            home=self.home, user_home=user, launch_folder=None, environ={"HOME": str(user)}
        )

    def propose(self, change: SandboxChange, *, base: PurePath | None = None) -> SandboxProposal:
        return self.editor.propose(change, base=base)

    def make(self, change: SandboxChange) -> SandboxProposal:
        return self.editor.apply(self.propose(change))

    def stands(self) -> dict[str, object]:
        return tomllib.loads(self.config.read_text())["sandbox"]  # type: ignore[no-any-return]

    def refused(self, change: SandboxChange, *, base: PurePath | None = None) -> ChangeProblem:
        before = self.config.read_text()
        with pytest.raises(ChangeRefused) as caught:
            self.propose(change, base=base)
        assert self.config.read_text() == before
        return caught.value.problem


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve() / "user")


def test_a_proposal_shows_what_would_change_and_writes_nothing(desk: Desk) -> None:
    proposal = desk.editor.propose(GrantPath(path=PurePath("~/project")), reason="to build it")

    assert proposal == SandboxProposal(
        change=GrantPath(path=desk.user / "project"),
        additions=Additions(roots=(desk.user / "project",)),
        diff=(
            "[sandbox]",
            '- allowed_roots = ["~/notes"]',
            f'+ allowed_roots = ["~/notes", "{desk.user}/project"]',
        ),
        reason="to build it",
    )
    assert desk.config.read_text() == WRITTEN


def test_a_grant_is_added_and_every_comment_stays(desk: Desk) -> None:
    done = desk.make(GrantPath(path=desk.user / "project"))

    assert desk.config.read_text() == WRITTEN.replace(
        '"~/notes",  # my notes\n', f'"~/notes",  # my notes\n    "{desk.user}/project",\n'
    )
    assert not done.changes_nothing
    assert desk.make(GrantPath(path=PurePath("~/project/"))).changes_nothing
    assert desk.propose(GrantPath(path=desk.user / "notes")).changes_nothing  # under another spelling


def test_a_revoke_takes_back_what_was_granted_under_any_spelling(desk: Desk) -> None:
    desk.make(GrantPath(path=desk.user / "project"))
    done = desk.make(RevokePath(path=desk.user / "notes"))

    assert not done.widens
    assert desk.stands()["allowed_roots"] == [f"{desk.user}/project"]
    assert desk.refused(RevokePath(path=desk.user / "notes")) is ChangeProblem.NOT_GRANTED


def test_a_folder_that_is_gone_can_be_revoked(desk: Desk) -> None:
    (desk.user / "notes").rmdir()
    desk.make(RevokePath(path=PurePath("~/notes")))
    assert desk.stands()["allowed_roots"] == []


def test_the_path_that_is_granted_is_the_canonical_one(desk: Desk) -> None:
    (desk.user / "link").symlink_to("project")

    for path, base in [
        (PurePath("~/link"), None),
        (PurePath("link/../project"), desk.user),
        (PurePath(), desk.user / "link"),
        (PurePath("../project"), desk.user / "notes"),
    ]:
        assert desk.propose(GrantPath(path=path), base=base).change == GrantPath(path=desk.user / "project")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/", ChangeProblem.FILESYSTEM_ROOT),
        ("~", ChangeProblem.USER_HOME),
        ("~/..", ChangeProblem.HOLDS_USER_HOME),
        ("~/.fermix", ChangeProblem.OWN_HOME),
        ("~/.ssh", ChangeProblem.PROTECTED),
        ("~/alias", ChangeProblem.PROTECTED),
        ("/usr", ChangeProblem.PROTECTED),
        ("~/private", ChangeProblem.BLOCKED),
        ("~/private/deep", ChangeProblem.BLOCKED),
        ("~/gone", ChangeProblem.MISSING),
        ("~/.fermix/config.toml", ChangeProblem.NOT_A_FOLDER),
        ("~/loop", ChangeProblem.BAD_PATH),
        ("notes", ChangeProblem.BAD_PATH),
        ("~/a\nb", ChangeProblem.BAD_PATH),
        ("~/a\u202eb", ChangeProblem.BAD_PATH),
        ("~/a ", ChangeProblem.BAD_PATH),
        ("~/a\0b", ChangeProblem.BAD_PATH),
        ("\ud800", ChangeProblem.BAD_PATH),
    ],
)
def test_what_may_not_be_granted_is_refused_with_its_reason(
    desk: Desk, path: str, problem: ChangeProblem
) -> None:
    (desk.user / "alias").symlink_to(".ssh")
    (desk.user / "loop").symlink_to("loop")
    for name in ("a\nb", "a\u202eb", "a "):
        (desk.user / name).mkdir()

    assert desk.refused(GrantPath(path=PurePath(path))) is problem


def test_an_edit_of_somebody_else_in_between_is_kept(desk: Desk) -> None:
    first = desk.propose(GrantPath(path=desk.user / "project"))
    desk.config.write_text(desk.config.read_text().replace("port = 5000", "port = 6000 # mine"))
    desk.make(RevokePath(path=desk.user / "notes"))

    desk.editor.apply(first)

    assert "port = 6000 # mine" in desk.config.read_text()
    assert desk.stands()["allowed_roots"] == [f"{desk.user}/project"]


def test_a_proposal_that_would_open_more_by_now_is_refused(desk: Desk) -> None:
    desk.make(SetMode(mode=SandboxMode.OPEN))
    grant = desk.propose(GrantPath(path=desk.user / "project"))
    assert not grant.widens  # the open mode reaches it anyway
    desk.make(SetMode(mode=SandboxMode.STRICT))
    before = desk.config.read_text()

    with pytest.raises(ChangeRefused) as caught:
        desk.editor.apply(grant)

    assert caught.value.problem is ChangeProblem.OUTDATED
    assert desk.config.read_text() == before


def test_a_folder_that_was_swapped_after_the_proposal_is_refused(desk: Desk) -> None:
    proposal = desk.propose(GrantPath(path=desk.user / "project"))
    (desk.user / "project").rmdir()
    (desk.user / "project").symlink_to(".ssh")

    with pytest.raises(ChangeRefused) as caught:
        desk.editor.apply(proposal)

    assert caught.value.problem is ChangeProblem.OUTDATED
    assert desk.config.read_text() == WRITTEN


def test_a_folder_that_was_blocked_after_the_proposal_is_refused(desk: Desk) -> None:
    proposal = desk.propose(GrantPath(path=desk.user / "project"))
    desk.config.write_text(WRITTEN.replace('["~/private"]', '["~/project"]'))

    with pytest.raises(ChangeRefused) as caught:
        desk.editor.apply(proposal)

    assert caught.value.problem is ChangeProblem.BLOCKED


@pytest.mark.parametrize("content", ["[sandbox\n", '[sandbox]\nmode = "wide"\n', "[nonsense]\n"])
def test_a_file_that_does_not_load_is_not_touched(desk: Desk, content: str) -> None:
    desk.config.write_text(content)

    with pytest.raises(ChangeRefused) as caught:
        desk.make(SetMode(mode=SandboxMode.STRICT))

    assert caught.value.problem is ChangeProblem.UNWRITABLE
    assert desk.config.read_text() == content


def test_a_file_that_cannot_be_written_is_said(desk: Desk) -> None:
    if os.geteuid() == 0:
        (desk.home / ".config.toml.lock").mkdir()  # root may write anywhere else
    else:
        desk.home.chmod(0o500)

    with pytest.raises(ChangeRefused) as caught:
        desk.make(SetMode(mode=SandboxMode.STRICT))

    assert caught.value.problem is ChangeProblem.UNWRITABLE
    assert desk.config.read_text() == WRITTEN


def test_a_missing_file_is_made_for_its_owner_alone(desk: Desk) -> None:
    desk.config.unlink()
    desk.make(SetMode(mode=SandboxMode.OPEN))

    assert desk.config.read_text() == '[sandbox]\nmode = "open"\n'
    assert desk.config.stat().st_mode & 0o777 == 0o600
    assert desk.make(SetMode(mode=SandboxMode.OPEN)).changes_nothing


def test_variables_and_programs_are_written_where_they_belong(desk: Desk) -> None:
    desk.make(AllowVariable(name="TOKEN"))
    desk.make(DenyVariable(name="OTHER"))
    done = desk.make(SetVariable(name="KEY", command="op", arguments=("read", "key")))
    desk.make(SetProfile(profile=CommandProfile.ASSISTANT))
    desk.make(EnablePreset(preset=CommandPreset.DEV_TOOLS))

    assert done.diff == (
        "[sandbox.env]",
        '- allow = ["TOKEN"]',
        '+ allow = ["TOKEN", "KEY"]',
        "[sandbox.env.KEY]",
        '+ source = "command"',
        '+ command = "op"',
        '+ args = ["read", "key"]',
    )
    assert desk.stands()["env"] == {
        "allow": ["TOKEN", "KEY"],
        "deny": ["OTHER"],
        "KEY": {"source": "command", "command": "op", "args": ["read", "key"]},
    }
    assert desk.stands()["commands"] == {"profile": "assistant", "presets": ["dev_tools"]}
    desk.make(DenyVariable(name="TOKEN"))
    desk.make(UnsetVariable(name="KEY"))
    desk.make(DisablePreset(preset=CommandPreset.DEV_TOOLS))
    assert desk.stands()["env"] == {
        "allow": [],
        "deny": ["OTHER", "TOKEN"],
        "KEY": {"source": "command", "command": "op", "args": ["read", "key"]},
    }
    assert desk.stands()["commands"] == {"profile": "assistant", "presets": []}
    assert desk.make(AllowVariable(name="OTHER")).widens
    for comment in ("# my agent", "# her name", "# Where she may look.", "# my notes"):
        assert comment in desk.config.read_text()


@pytest.mark.parametrize("name", ["mode", "allow", "deny"])
def test_a_variable_with_the_name_of_a_key_is_not_written(desk: Desk, name: str) -> None:
    desk.make(AllowVariable(name="TOKEN"))
    before = desk.config.read_text()

    with pytest.raises(ChangeRefused):
        desk.make(SetVariable(name=name, command="op"))

    assert desk.config.read_text() == before
