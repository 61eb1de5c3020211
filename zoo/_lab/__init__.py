"""The page of `ecm lab`: what is computed (`_verdict`, `_state`, `_seen`), how it is drawn, and the page around it."""
