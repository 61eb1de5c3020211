"""The programs that make pages of docs/; `python -m docs.programs` runs them."""
