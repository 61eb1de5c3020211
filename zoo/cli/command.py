"""The command `ecm`. Each subcommand is a small module of `zoo/cli` and imports what is slow only when it runs."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from zoo.cli import (
    allocate,
    attack,
    certify,
    compare,
    demo,
    derive,
    ensemble,
    export,
    lab,
    leaderboard,
    listing,
    report,
    reproduce,
    train,
    verify,
)
from zoo.cli.options import fitting


class _Commands(TyperGroup):
    """Print errors in red on stderr, without a traceback.

    The exit code is 2 if the input is wrong (a formula, a name, a folder, data, an option), 1 if the work failed
    (a full disk, a missing device, a damaged checkpoint), and 130 if it was interrupted.
    """

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help, without a type."""
        return _untyped(super().get_help_option(ctx))

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return the command, with the types of its options in common words."""
        command = super().get_command(ctx, name)
        kinds = get_type_hints(command.callback) if command is not None and command.callback is not None else {}
        for param in command.params if command is not None else ():
            if param.name not in kinds:
                continue
            kind = _kind(kinds[param.name])
            if param.metavar is None:
                param.metavar = kind
            elif hasattr(param, "display_type_rich"):  # an argument: its name is its metavar, its type is shown apart
                param.display_type_rich = partial(_word, kind or "")
        return command

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            _say(f"{stop or 'Stopped. Finished work is kept.'}\nTo resume: {shlex.join(['ecm', *sys.argv[1:]])}")
            raise typer.Exit(130) from None
        except OSError as error:
            _say(f"{error.filename or 'a file'}: {error.strerror or error}")
            raise typer.Exit(1) from error
        except (MemoryError, RuntimeError) as error:
            if "memory" not in f"{type(error).__name__} {error}".lower():
                raise
            _say(f"{error}\nNot enough memory: write a smaller --batch-size (certify) or --set batch=... (train).")
            raise typer.Exit(1) from error
        except ValueError as error:
            from ecm.errors import ECMError, ExpressionError, NotAnECM
            from zoo.errors import DataError, ModelError, SettingError

            if not isinstance(error, ECMError):
                raise
            _say(str(error))
            wrong = ExpressionError | NotAnECM | DataError | ModelError | SettingError
            raise typer.Exit(2 if type(error) is ECMError or isinstance(error, wrong) else 1) from error


class _Command(TyperCommand):
    """A subcommand whose help has whole paragraphs instead of the lines of the source."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        paragraphs = (self.help or "").split("\n\n")
        self.help = "\n\n".join(one if one.startswith(" ") else one.replace("\n", " ") for one in paragraphs)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help, without a type."""
        return _untyped(super().get_help_option(ctx))


def _untyped(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option


def _word(word: str, ctx: Any) -> str:
    return word


def _kind(annotation: Any) -> str | None:
    """Return what stands after an option: N, NUMBER, PATH or TEXT; nothing after a switch; None for a list of choices.

    >>> from pathlib import Path
    >>> [_kind(one) for one in (int | None, list[str] | None, Path, bool)]
    ['N', 'TEXT', 'PATH', '']
    """
    words = {"bool": "", "int": "N", "float": "NUMBER", "Path": "PATH", "str": "TEXT"}
    parts = (annotation, *get_args(annotation), *(inner for one in get_args(annotation) for inner in get_args(one)))
    return next((words[part.__name__] for part in parts if getattr(part, "__name__", None) in words), None)


def _say(text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, soft_wrap=True).print(Text(fitting(text), style="red"))


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
        bool,
        typer.Option("--version", callback=_version, is_eager=True, metavar="", help="Print the version and stop."),
    ] = False,
) -> None:
    """Train, certify and attack classifiers that are provably robust in a metric of your choice.

    You declare the metric d(x, y) = sum_i g(|x_i - y_i|) as a formula for g,
    which must be concave and rise from g(0) = 0 to at most 1 on [0, 1].
    """


_command = partial(app.command, cls=_Command)
_command()(derive.derive)
_command()(allocate.allocate)
_command()(verify.verify)
_command()(train.train)
_command()(ensemble.ensemble)
_command()(certify.certify)
_command()(attack.attack)
_command()(export.export)
_command()(report.report)
_command()(compare.compare)
_command("list")(listing.list_)
_command()(leaderboard.leaderboard)
_command()(demo.demo)
_command()(lab.lab)
_command()(reproduce.reproduce)


def main() -> None:
    """The console script `ecm`.

    >>> from unittest.mock import patch
    >>> with patch("sys.argv", ["ecm", "--version"]):
    ...     main()
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    app()
