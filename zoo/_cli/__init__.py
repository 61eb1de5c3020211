"""One small module a subcommand; `zoo/cli.py` puts them together."""
