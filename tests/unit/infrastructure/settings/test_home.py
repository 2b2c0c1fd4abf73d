from pathlib import Path

import pytest

from fermix.infrastructure.settings.home import absolute_path, resolve_home, resolve_user_home

CWD = Path("/somewhere/else")


@pytest.mark.parametrize("value", [None, "", "  ", "\n"])
def test_a_home_that_is_unset_or_blank_is_dot_fermix_below_the_persons_home(value: str | None) -> None:
    environ = {"HOME": "/people/ada"} | ({} if value is None else {"FERMIX_HOME": value})
    assert resolve_home(environ, cwd=CWD) == Path("/people/ada/.fermix")


@pytest.mark.parametrize(
    ("value", "home"),
    [
        ("/srv/fermix", "/srv/fermix"),
        ("/srv/fermix\n", "/srv/fermix"),
        ("here", "/somewhere/else/here"),
        ("../here", "/somewhere/here"),
        ("~/robot", "/people/ada/robot"),
        ("~", "/people/ada"),
        ("~bert/robot", "/somewhere/else/~bert/robot"),
    ],
)
def test_a_home_is_made_absolute(value: str, home: str) -> None:
    assert resolve_home({"HOME": "/people/ada", "FERMIX_HOME": value}, cwd=CWD) == Path(home)


def test_without_home_variable_the_account_says_where_the_person_lives() -> None:
    assert resolve_user_home({}).is_absolute()
    assert resolve_user_home({"HOME": " "}) == resolve_user_home({})


def test_a_relative_path_starts_at_its_base() -> None:
    user_home = Path("/people/ada")
    assert absolute_path(Path("models/a.gguf"), base=Path("/h"), user_home=user_home) == Path(
        "/h/models/a.gguf"
    )
    assert absolute_path(Path("~/a.gguf"), base=Path("/h"), user_home=user_home) == Path("/people/ada/a.gguf")
    assert absolute_path(Path("/a.gguf"), base=Path("/h"), user_home=user_home) == Path("/a.gguf")
