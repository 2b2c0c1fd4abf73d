"""`fermix run`: the daemon, in this process."""

import click


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> int:
    """Run the daemon in the foreground until it is stopped.

    The same as `python -m fermix.entrypoints.daemon`.
    """
    from fermix.entrypoints.daemon import main

    return main(list(arguments))
