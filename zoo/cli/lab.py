"""`ecm lab`: a local page to play with formulas, budgets and radii."""

from __future__ import annotations

from typing import Annotated

import typer


def lab(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 8137,
    *,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Explore a metric on a local page: its proof, law, budget, noise and certified radii.

    Only this machine (127.0.0.1) can open the page, and the page loads nothing from the network. Stop it with Ctrl-C.
    It needs an extra: pip install "ecm\\[lab]"

    Examples:

        ecm lab

        ecm lab --port 9000 --no-browser
    """
    import socket

    from ecm.errors import ECMError

    try:
        from zoo.lab import HOST, serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "nicegui":
            raise
        raise ECMError('`ecm lab` needs NiceGUI, which is not installed here: pip install "ecm[lab]"') from error
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ECMError(
                f"Port {port} of {HOST} cannot be used ({error.strerror}); choose another --port."
            ) from error
    typer.echo(f"The lab is at http://{HOST}:{port}. Stop it with Ctrl-C.")
    serve(port, browser=browser)
