"""Packages of others, installed beside Fermix as pip does it, without asking any registry."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from tests.e2e.harness.people import ROOT

TEMPLATE = ROOT / "examples" / "adapter_template"


def install_template(folder: Path) -> Path:
    """Build the template's wheel and let pip install it into a folder for `PYTHONPATH`."""
    project = tomllib.loads((TEMPLATE / "pyproject.toml").read_text())["project"]
    (source,) = (path for path in (TEMPLATE / "src").iterdir() if (path / "__init__.py").is_file())
    files = {
        f"{source.name}/{path.relative_to(source)}": path.read_text()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return install(folder, project, files)


def install(folder: Path, project: dict[str, Any], files: dict[str, str]) -> Path:
    """Let pip install a package of these files, with the metadata that a build tool makes of `[project]`."""
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{stem}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
        for group, named in project.get("entry-points", {}).items()
    )
    files |= {
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    folder.mkdir(exist_ok=True)
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in (files | {f"{info}/RECORD": record}).items():
            archive.writestr(name, text)
    target = folder / "site"
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(wheel)],
        check=True,
        timeout=60,
    )
    return target
