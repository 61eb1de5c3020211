"""scikit-learn's handwritten digits: 8x8 images with levels 0..16, part of scikit-learn, nothing to download."""

from __future__ import annotations

from zoo.data.dataset import Dataset


def load_digits() -> Dataset:
    """Load 1797 images; a fixed fifth of each class is the test split. A digit fills its 8x8 frame, so none is shifted.

    >>> load_digits()
    Dataset('digits', 1438 train, 359 test, shape (1, 8, 8), q=16, 10 classes)
    """
    from sklearn.datasets import load_digits as read

    bunch = read()
    return Dataset.from_arrays(
        (bunch.images.round().astype("uint8"), bunch.target.astype("int64")),
        q=16,
        name="digits",
        source={"scikit-learn": "load_digits"},
    )
