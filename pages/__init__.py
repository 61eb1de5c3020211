"""The programs that make pages of docs/; `python -m pages` runs them."""
