"""`fermix conformance`: gaps first, a line for each check, and a clear word when there is nothing to run."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.e2e.harness.homes import FermixHome, Run
from tests.e2e.harness.packages import TEMPLATE


def conformance(home: FermixHome, module: str, *more: str, path: Path) -> Run:
    home.environ["PYTHONPATH"] = str(path)
    return home.fermix("conformance", module, *more)


def test_the_template_passes_with_its_gaps_told_first(home: FermixHome) -> None:
    ended = conformance(home, "fermix_parley", path=TEMPLATE / "src")
    lines = ended.out.splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert lines[0].startswith("ParleyConformance declares ")
    assert "  it_tells_album: Parley carries words only" in lines[: lines.index("")]
    assert "passed  a_part_is_shown_as_it_is" in lines
    assert "gap     it_tells_album" in lines
    assert lines[-1].endswith(" 0 failed")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "modules"
    folder.mkdir()
    return folder


def test_a_promise_that_is_not_kept_is_told_with_the_check_and_ends_with_one(
    home: FermixHome, place: Path
) -> None:
    (place / "deaf.py").write_text(
        "from fermix.testing.suites import ModelConformance\n"
        "class Deaf(ModelConformance):\n    backends = ('asyncio',)\n"
        "    def harness(self):\n        raise OSError('no\\nsuch model')\n"
    )
    ended = conformance(home, "deaf", path=place)
    lines = ended.out.splitlines()
    assert ended.code == 1
    assert lines[0] == "Deaf declares no gap"
    assert "FAILED  an_unknown_model_is_told: OSError: no such model" in lines
    assert "passed  every_gap_names_a_check" in lines


def test_a_gap_that_names_no_check_fails(home: FermixHome, place: Path) -> None:
    (place / "odd.py").write_text(
        "from fermix.testing.checks import Gap\nfrom fermix.testing.suites import ModelConformance\n"
        "class Odd(ModelConformance):\n    checks = ()\n    gaps = (Gap(check='it_flies', reason='no wings'),)\n"
        "    def harness(self):\n        raise OSError\n"
    )
    document = conformance(home, "odd", "--json", path=place).document
    assert (document["ok"], document["exit_code"]) == (False, 1)
    assert document["suites"] == [{"name": "Odd", "gaps": [{"check": "it_flies", "reason": "no wings"}]}]
    (told,) = (check for check in document["checks"] if check["check"] == "every_gap_names_a_check")
    assert (told["status"], "it_flies" in told["failure"]) == ("failed", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "subject cannot be imported: ModuleNotFoundError: No module named 'subject'"),
        ("1 / 0", "subject cannot be imported: ZeroDivisionError: division by zero"),
        ("from fermix.testing.suites import ChannelConformance", "subject holds no suite"),
        (
            "from fermix.testing.suites import ChannelConformance\nclass Bare(ChannelConformance): pass",
            "with a method harness",
        ),
    ],
)
def test_a_module_without_a_suite_is_told_in_one_sentence(
    home: FermixHome, place: Path, text: str | None, said: str
) -> None:
    if text is not None:
        (place / "subject.py").write_text(text)
    ended = conformance(home, "subject", path=place)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


def test_without_pytest_the_command_that_installs_it_is_named(home: FermixHome, place: Path) -> None:
    (place / "sitecustomize.py").write_text("import sys\nsys.modules['pytest'] = None\n")
    ended = conformance(home, "subject", path=place)
    assert ended.code == 2
    assert "pip install pytest" in ended.err


def test_the_templates_developers_install_nothing_that_they_do_not_need() -> None:
    # Plugins that come with our own tools would load in their pytest, where every warning is an error.
    project = tomllib.loads((TEMPLATE / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"] == {"dev": ["pytest>=8.4"]}


def test_the_templates_own_tests_pass() -> None:
    options = ["--disable-plugin-autoload", "-pno:cacheprovider", "-q", "-k", "not TestParley"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        check=False,
        cwd=TEMPLATE,
        env={**os.environ, "PYTHONPATH": str(TEMPLATE / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
