"""`fermix model`: the small model that answers when no provider is configured."""

import click

from fermix.entrypoints.cli.command_failed import CommandFailed, write_document
from fermix.entrypoints.cli.foreground import install_model
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.terminal import this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode


@click.group()
def model() -> None:
    """Install or list the local model."""


@model.command("install")
def install_command() -> int:
    """Fetch the local model (98 MB), check it, and keep it in the home."""
    terminal = this_terminal()

    def note(text: str) -> None:
        terminal.err.write(f"fermix: {visible(text)}\n")
        terminal.err.flush()

    path = install_model(home_folder(terminal.environ), terminal.environ, note=note)
    terminal.out.write(f"{path}\n")
    return ExitCode.OK


@model.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_command(*, as_json: bool) -> int:
    """List the local model and whether it is installed."""
    from fermix.infrastructure.providers.local.files import model_file
    from fermix.infrastructure.system.home import home_unusable

    terminal = this_terminal()
    home = home_folder(terminal.environ)
    path = model_file(home)
    try:
        installed = path.is_file()
    except OSError as exc:
        unusable = home_unusable(home, exc)
        raise CommandFailed(str(unusable), code="home_unusable", exit_code=ExitCode.FAILURE) from exc
    if as_json:
        models = [{"provider": "local", "name": path.stem, "installed": installed, "path": str(path)}]
        write_document(terminal.out, {"ok": True, "models": models})
    else:
        terminal.out.write(f"local/{path.stem}  {'installed' if installed else 'not installed'}  {path}\n")
    return ExitCode.OK
