"""No test leaves this machine, sees its user's home, or goes missing without a word."""

import os
import socket
from pathlib import Path

import pytest

from tests.conftest import NetworkReached
from tests.needs import MODEL_FOLDER, NOBODY, OUTSIDE, Outside, Unprivileged, missing, require


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, ("192.0.2.1", 9)),
        (socket.AF_INET, ("0.0.0.0", 9)),
        (socket.AF_INET, ("example.test", 9)),
        (socket.AF_INET6, ("2001:db8::1", 9)),
        (socket.AF_INET6, ("::ffff:192.0.2.1", 9)),
    ],
)
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_no_connection_leaves_this_machine(
    family: socket.AddressFamily, kind: socket.SocketKind, address: tuple[str, int]
) -> None:
    with socket.socket(family, kind) as sock:
        with pytest.raises(NetworkReached):
            sock.connect(address)
        with pytest.raises(NetworkReached):
            sock.connect_ex(address)


def test_loopback_and_unix_sockets_can_be_reached(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        path = os.path.relpath(tmp_path / "s")
        listener.bind(path)
        listener.listen()
        client.connect(path)


def test_no_name_is_looked_up_outside() -> None:
    with pytest.raises(NetworkReached):
        socket.getaddrinfo("example.test", 80)
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("nowhere.invalid", 80)
    assert socket.getaddrinfo("127.0.0.1", 80)


def test_the_home_is_empty_and_not_the_users(request: pytest.FixtureRequest) -> None:
    home, real = Path.home(), request.config.stash[OUTSIDE].home
    assert home != real
    assert os.environ["HOME"] == str(home)
    assert "FERMIX_HOME" not in os.environ
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        assert Path(os.environ[name]).is_relative_to(home)


def test_no_key_of_the_user_is_in_the_environment() -> None:
    telling = ("_API_KEY", "_TOKEN", "_SECRET")
    found = [name for name in os.environ if name.endswith(telling) or name.startswith("FERMIX_")]
    assert found == []


def test_what_is_there_is_not_missing(tmp_path: Path) -> None:
    model = tmp_path / MODEL_FOLDER / "small.gguf"
    model.parent.mkdir(parents=True)
    model.touch()
    outside = Outside(home=tmp_path)
    assert missing("local-model", outside) is None
    assert outside.model_file() == model
    assert missing("package:pytest", outside) is None
    assert missing("program:sh", outside) is None


@pytest.mark.parametrize(
    ("thing", "said"),
    [("local-model", "local model"), ("program:no-such-x", "no-such-x"), ("package:no_such_x", "no_such_x")],
)
def test_what_is_missing_is_named_and_skipped_or_failed(tmp_path: Path, thing: str, said: str) -> None:
    lenient, strict = Outside(home=tmp_path), Outside(home=tmp_path, no_skip=True)
    with pytest.raises(pytest.skip.Exception, match=said):
        require([thing], lenient)
    with pytest.raises(pytest.fail.Exception, match=said):
        require(["package:pytest", thing], strict)


def test_a_model_that_was_named_but_is_gone_is_missing_even_with_another_in_the_cache(tmp_path: Path) -> None:
    cached = tmp_path / MODEL_FOLDER / "small.gguf"
    cached.parent.mkdir(parents=True)
    cached.touch()
    reason = missing("local-model", Outside(home=tmp_path, model=tmp_path / "gone.gguf"))
    assert reason is not None
    assert "gone.gguf" in reason


@pytest.mark.parametrize("thing", ["", "program", "program:", "local-model:x", "luck"])
def test_a_need_nobody_knows_is_a_mistake(tmp_path: Path, thing: str) -> None:
    with pytest.raises(ValueError, match="need"):
        missing(thing, Outside(home=tmp_path))


@pytest.mark.parametrize(("value", "strict"), [("1", True), ("", False), ("0", False)])
def test_what_was_set_outside_is_known_inside_and_in_worker_processes(value: str, strict: bool) -> None:
    environ = {"HOME": "/home/ann", "FERMIX_TEST_NO_SKIP": value, "FERMIX_TEST_MODEL": "/models/m.gguf"}
    outside = Outside.read({**environ, "FERMIX_TEST_SEED": "77"})
    assert outside == Outside(home=Path("/home/ann"), model=Path("/models/m.gguf"), no_skip=strict, seed=77)
    assert Outside.read(outside.as_environ()) == outside


def test_each_run_draws_anew_and_its_workers_draw_the_same() -> None:
    drawn = [Outside.read({"HOME": "/home/ann"}) for _ in range(9)]
    assert len({outside.seed for outside in drawn}) > 1
    assert [Outside.read(outside.as_environ()) for outside in drawn] == drawn


def test_an_unprivileged_program_is_stopped_by_a_files_mode(as_nobody: Unprivileged) -> None:
    closed = as_nobody.home / "closed"
    closed.touch(mode=0o000)
    assert as_nobody.run(["/bin/cat", closed]).returncode == 1
    assert as_nobody.run(["/bin/sh", "-c", "echo $HOME && touch made"]).stdout.strip() == str(as_nobody.home)
    assert (as_nobody.home / "made").exists()


def test_an_unprivileged_interpreter_has_our_packages_and_is_stopped_by_a_files_mode(
    tmp_path: Path, as_nobody: Unprivileged
) -> None:
    closed, open_to_us = tmp_path / "closed", tmp_path / "open"
    closed.touch(mode=0o000)
    open_to_us.touch(mode=0o600)
    code = "import sys, fermix.domain.ids; open(sys.argv[1]).close()"
    refused = as_nobody.python("-c", code, closed)
    assert refused.stderr.splitlines()[-1].startswith("PermissionError")
    assert as_nobody.python("-c", code, open_to_us).stderr == ""


def test_another_user_really_is_another(as_nobody: Unprivileged) -> None:
    ended = as_nobody.python_as_another(
        "import os; print(os.getuid(), os.geteuid(), os.getgid())", preload=["json"]
    )
    assert ended.stdout.strip() == f"{NOBODY} {NOBODY} {NOBODY}"
