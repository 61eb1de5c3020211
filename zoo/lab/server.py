"""The server of the page, on this machine alone."""

from __future__ import annotations

import asyncio

from nicegui import app, ui
from starlette.middleware.trustedhost import TrustedHostMiddleware

from zoo.lab.page import Lab
from zoo.lab.worker import Worker

HOST = "127.0.0.1"  # there is no option for another address
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2467b3"/>'
    '<path d="M6 26C7 13 15 8 26 7" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round"/></svg>'
)


def serve(port: int, *, browser: bool) -> None:
    """Answer at http://127.0.0.1:port until interrupted; `browser` opens the page there."""
    quick = Worker("zoo.lab.results", "smoothing.certificates.certifier", "sympy")
    slow = Worker("zoo.lab.samples", "smoothing.scheme.noise")

    async def warm() -> None:
        await asyncio.gather(quick.warm(), slow.warm())

    def close() -> None:
        quick.close()
        slow.close()

    app.on_startup(warm)
    app.on_shutdown(close)
    # A foreign page whose name resolves to this machine is not answered.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    ui.run(
        lambda: Lab(quick, slow),
        host=HOST,
        port=port,
        title="ecm lab",
        favicon=_ICON,
        dark=None,  # as the reader's system has it
        show=browser,
        reload=False,
        tailwind=False,
        show_welcome_message=False,
    )
