"""A progress bar with the time left, or nothing at all."""

from ecm.progress import ProgressBar as progress_bar

__all__ = ["progress_bar"]
