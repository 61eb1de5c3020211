"""The command `ecm`. Each subcommand is a small module of `zoo/_cli` and imports what is slow only when it runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from zoo._cli import allocate, derive


class _Commands(TyperGroup):
    """Shows the package's own errors in red on stderr, without a traceback: 2 for bad input, 1 for what failed."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ValueError as error:
            from ecm._errors import ECMError, ExpressionError, NotAnECM

            if not isinstance(error, ECMError):
                raise
            from rich.console import Console
            from rich.text import Text

            Console(stderr=True, soft_wrap=True).print(Text(f"{error}", style="red"))
            given = type(error) is ECMError or isinstance(error, ExpressionError | NotAnECM)
            raise typer.Exit(2 if given else 1) from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("ecm"))
        raise typer.Exit


@app.callback(epilog='Start with:  [bold]ecm derive "z**0.5/18"[/bold]')
def _ecm(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Declare a metric as a formula; get a classifier with certified robustness in that metric.

    The metric is d(x, y) = sum_i g(|x_i - y_i|) with g concave, rising from g(0) = 0 to at most 1 on [0, 1].
    """


app.command()(derive.derive)
app.command()(allocate.allocate)


def main() -> None:
    """The console script `ecm`."""
    app()
