"""The command `ecm`: one small module per subcommand."""

from zoo.cli.command import app, main

__all__ = ["app", "main"]
