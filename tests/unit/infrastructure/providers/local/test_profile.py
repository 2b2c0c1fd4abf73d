"""What the local model is asked with."""

from dataclasses import fields
from pathlib import Path

import pytest

from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.local.files import (
    SMOLLM2,
    DefaultModelFile,
    ModelFileError,
    UserModelFile,
)
from fermix.infrastructure.providers.local.process import ServerOrder
from fermix.infrastructure.providers.local.profile import (
    DEFAULT_SAMPLING,
    Sampling,
    default_profile,
    other_profile,
)
from fermix.infrastructure.system.child_python import Launch, child_environment


def test_the_default_model_uses_no_tools_takes_one_turn_and_leaves_room_for_the_question() -> None:
    local = default_profile(Path("/home/me/.fermix"))

    assert local.file == DefaultModelFile(path=Path("/home/me/.fermix/models") / SMOLLM2.file_name)
    assert (local.profile.provider, local.profile.tools, local.profile.max_concurrent_turns) == (
        "local",
        False,
        1,
    )
    assert local.profile.max_output_tokens is not None
    assert local.profile.context_window is not None
    assert local.profile.max_output_tokens * 4 <= local.profile.context_window
    assert "Fermix" in (local.profile.system_prompt or "")


def test_another_model_gets_the_agents_prompt_and_the_window_it_is_given() -> None:
    local = other_profile(Path("/models/Qwen3-4B.Q4_K_M.gguf"), context_window=16_384)

    assert local.file == UserModelFile(path=Path("/models/Qwen3-4B.Q4_K_M.gguf"))
    assert local.profile.model == "Qwen3-4B.Q4_K_M"
    assert local.profile.context_window == 16_384
    assert local.profile.max_output_tokens == 4_096
    assert local.profile.system_prompt is None


def test_sampling_becomes_fields_of_the_request_under_the_servers_names() -> None:
    body = DEFAULT_SAMPLING.body()

    assert set(body) == {field.name for field in fields(Sampling)}
    assert body["temperature"] == DEFAULT_SAMPLING.temperature
    assert "max_tokens" not in body


def test_the_child_gets_nothing_of_our_environment_but_what_python_needs_to_start() -> None:
    ours = {"OPENAI_API_KEY": "k", "HOME": "/h", "HTTPS_PROXY": "p", "LD_LIBRARY_PATH": "/lib", "LANG": "C"}

    assert child_environment(ours) == {"LD_LIBRARY_PATH": "/lib", "LANG": "C"}
    assert Launch().environment == {}


def test_the_order_is_one_line_whatever_the_path_holds_and_never_shows_its_key() -> None:
    path = Path('/odd/na\nme "é"/m.gguf')
    order = ServerOrder(model_path=path, model="m", context_window=1, threads=None, api_key="sesame")

    assert order.line().count(b"\n") == 1
    assert order.line().endswith(b"\n")
    assert "sesame" not in repr(order)


def test_what_does_not_load_is_the_machines_fault_only_where_the_file_is_known() -> None:
    known = DefaultModelFile(path=Path("/m.gguf")).unloadable()
    unknown = UserModelFile(path=Path("/m.gguf")).unloadable()

    assert (known[0], unknown[0]) == (FailureKind.PROVIDER_FAILED, FailureKind.NO_MODEL)


def test_a_users_file_that_cannot_be_read_is_named_without_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine.gguf"
    folder.mkdir()

    with pytest.raises(ModelFileError, match=r"mine\.gguf") as caught:
        UserModelFile(path=folder).check()

    assert str(tmp_path) not in str(caught.value)
    assert str(tmp_path) in caught.value.cause
