"""The page of `ecm lab`: what it computes, how it is drawn, and the server behind it."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.lab.server import HOST, serve

__all__ = ["HOST", "serve"]

__getattr__ = lazy(
    __name__,
    {
        "server": "HOST serve",
    },
)
