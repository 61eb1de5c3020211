"""Every data set is read from tiny files of its real format, and every damaged file is named for what it is."""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from zoo.data import cifar as _cifar
from zoo.data import svhn as _svhn
from zoo.data.catalogue import load_data
from zoo.data.dataset import Augmentation, Dataset, stratified
from zoo.data.files import data_root
from zoo.errors import DataError

RANDOM = np.random.RandomState(0)


def patched(table: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish the MD5s of the files a test has made."""
    for name in table:
        if (folder / name).exists():
            content = (folder / name).read_bytes()
            monkeypatch.setitem(table, name, hashlib.md5(content, usedforsecurity=False).hexdigest())


def images(count: int, *shape: int) -> np.ndarray:
    return RANDOM.randint(0, 256, (count, *shape)).astype(np.uint8)


@pytest.fixture
def cifar_bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for name in _cifar.BINARY_MD5:
        records = np.concatenate([np.arange(4, dtype=np.uint8)[:, None], images(4, 3072)], axis=1)
        (folder / name).write_bytes(records.tobytes())
    patched(_cifar.BINARY_MD5, folder, monkeypatch)
    return tmp_path


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for half, count in (("train", 6), ("t10k", 3)):
        (raw / f"{half}-images-idx3-ubyte").write_bytes(idx(images(count, 28, 28)))
        (raw / f"{half}-labels-idx1-ubyte").write_bytes(idx(np.arange(count, dtype=np.uint8)))
    return tmp_path


def test_digits_need_no_files() -> None:
    """The digits come with scikit-learn, always with the same split, and no test image is a training image."""
    data = load_data()
    assert (data.q, data.classes, data.shape) == (16, 10, (1, 8, 8))
    assert data.digest == load_data("digits").digest
    together = torch.cat([data.train.images, data.test.images]).flatten(1)
    assert len(together) == 1797
    assert int(together.max()) == 16
    assert torch.bincount(data.test.labels).min() >= 34


def test_binary_cifar_batches_are_read_in_order(cifar_bin: Path) -> None:
    """Labels come first in a record, then the planes; the five batches follow each other."""
    data = load_data("cifar10", cifar_bin)
    raw = (cifar_bin / "cifar-10-batches-bin" / "data_batch_2.bin").read_bytes()
    assert len(data.train) == 20
    assert len(data.test) == 4
    assert data.train.labels[4:8].tolist() == [0, 1, 2, 3]
    assert data.train.images[5].numpy().tobytes() == raw[3073 + 1 : 2 * 3073]
    assert data.source == _cifar.BINARY_MD5


def test_a_corrupt_cifar_batch_is_refused_by_its_published_md5(cifar_bin: Path) -> None:
    """One flipped bit is found, and the error says what to do."""
    path = cifar_bin / "cifar-10-batches-bin" / "data_batch_3.bin"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"data_batch_3.bin is corrupt: its MD5 is .*, published is .*; delete it"):
        load_data("cifar10", cifar_bin)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.unlink(), "is missing; put it there, or point --data or ECM_DATA"),
        (lambda p: p.write_bytes(b""), "is empty"),
        (lambda p: p.write_text("\n <!DOCTYPE html><html>Sign in</html>"), "is a web page, not data"),
        (lambda p: os.truncate(p, 1000), "is corrupt"),
    ],
)
def test_damaged_files_are_called_what_they_are(cifar_bin: Path, damage, message: str) -> None:
    """Missing, empty, a web page, truncated: four errors, not one."""
    damage(cifar_bin / "cifar-10-batches-bin" / "test_batch.bin")
    with pytest.raises(DataError, match=message):
        load_data("cifar10", cifar_bin)


def python_batch(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol=2))


def test_python_cifar_batches_give_the_same_as_binary_ones(cifar_bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two formats are the same data set."""
    first = load_data("cifar10", cifar_bin)
    other = cifar_bin / "python"
    folder = other / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for k, name in enumerate(_cifar.PYTHON_MD5):
        split, part = (first.test, slice(0, 4)) if name == "test_batch" else (first.train, slice(4 * k, 4 * k + 4))
        labels = split.labels[part].tolist()
        python_batch(folder / name, {b"data": split.images[part].flatten(1).numpy(), b"labels": labels})
    patched(_cifar.PYTHON_MD5, folder, monkeypatch)
    assert load_data("cifar10", other).digest == first.digest


def test_cifar100_reads_fine_labels_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 classes by their fine names."""
    folder = tmp_path / "cifar-100-python"
    for name, labels in (("train", [0, 99, 5]), ("test", [1, 2])):
        python_batch(folder / name, {b"data": images(len(labels), 3072), b"fine_labels": labels})
    python_batch(folder / "meta", {b"fine_label_names": [f"class {k}".encode() for k in range(100)]})
    patched(_cifar.CIFAR100_MD5, folder, monkeypatch)
    data = load_data("cifar100", tmp_path)
    assert data.classes == 100
    assert data.class_names[99] == "class 99"
    assert data.train.labels.tolist() == [0, 99, 5]


class Attack:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch attacked",)


def test_a_pickle_that_wants_to_run_code_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cifar_bin: Path
) -> None:
    """Even with the right MD5, a batch can build arrays and nothing else."""
    folder = tmp_path / "other" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    python_batch(folder / "data_batch_1", {b"data": Attack()})
    patched(_cifar.PYTHON_MD5, folder, monkeypatch)
    with pytest.raises(DataError, match=r"it wants posix.system"):
        load_data("cifar10", tmp_path / "other")
    assert not (tmp_path / "attacked").exists()


def test_idx_files_plain_and_gzipped_agree(mnist: Path) -> None:
    """MNIST is read from its raw files or from their .gz."""
    data = load_data("mnist", mnist)
    assert (len(data.train), len(data.test), data.shape, data.q) == (6, 3, (1, 28, 28), 255)
    for path in (mnist / "MNIST" / "raw").iterdir():
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert load_data("mnist", mnist).digest == data.digest


def test_fashion_mnist_has_its_own_folder_and_names(mnist: Path) -> None:
    """The same format under FashionMNIST, with names of clothes."""
    (mnist / "MNIST").rename(mnist / "FashionMNIST")
    data = load_data("fashion_mnist", mnist)
    assert data.class_names[9] == "Ankle boot"
    assert data.augment.flip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(np.zeros((6, 28, 28), np.uint8))[:-5], "truncated or too long"),
        (b"\x89PNG....", "is no IDX file"),
        (b"<html>404</html>", "is a web page"),
    ],
)
def test_damaged_idx_files_are_named(mnist: Path, content: bytes, message: str) -> None:
    """An IDX file must be as long as its header says."""
    (mnist / "MNIST" / "raw" / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_data("mnist", mnist)


def test_a_truncated_gzip_is_named(mnist: Path) -> None:
    """Half a download does not become half a data set."""
    path = mnist / "MNIST" / "raw" / "t10k-images-idx3-ubyte"
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes())[:-20])
    path.unlink()
    with pytest.raises(DataError, match="truncated or no gzip"):
        load_data("mnist", mnist)


def test_svhn_label_ten_is_the_digit_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MATLAB order H, W, C, N becomes N, C, H, W."""
    pixels = images(32, 32, 3, 4)
    for name in _svhn.SVHN_MD5:
        savemat(tmp_path / name, {"X": pixels, "y": np.array([[10], [1], [2], [9]], dtype=np.uint8)})
    patched(_svhn.SVHN_MD5, tmp_path, monkeypatch)
    data = load_data("svhn", tmp_path)
    assert data.train.labels.tolist() == [0, 1, 2, 9]
    assert np.array_equal(data.train.images[3].numpy(), pixels[..., 3].transpose(2, 0, 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for half, count in (("train", 3), ("val", 2)):
        for label in ("cat", "dog"):
            (tmp_path / "pets" / half / label).mkdir(parents=True)
            for k in range(count):
                pixels = Image.fromarray(images(300, 240, 3))
                pixels.save(tmp_path / "pets" / half / label / f"{k}.jpg", quality=95)
    return tmp_path / "pets"


def test_image_folders_stream_as_uint8(folder: Path) -> None:
    """Any folder of class folders is a data set of 224x224 RGB levels; the training view is random but repeatable."""
    data = load_data(folder)
    assert (data.name, data.class_names, data.shape, data.q) == ("pets", ("cat", "dog"), (3, 224, 224), 255)
    assert data.train.take([0, 5]).dtype == torch.uint8
    order = [torch.tensor([0, 4]), torch.tensor([1, 2, 3])]
    first, again, later = (list(data.train.batches(order, data.augment, (0, epoch))) for epoch in (0, 0, 1))
    assert [tuple(batch.shape) for batch in first] == [(2, 3, 224, 224), (3, 3, 224, 224)]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], later[0])
    plain = list(data.train.batches(order, Augmentation(), (0, 0)))
    assert torch.equal(plain[0], data.train.take([0, 4]))


def test_imagenet_is_a_folder_under_the_root(folder: Path) -> None:
    """`imagenet` is looked for where the data are."""
    folder.rename(folder.parent / "imagenet")
    assert load_data("imagenet", folder.parent).name == "imagenet"


def test_damaged_images_and_folders_are_named(folder: Path) -> None:
    """A web page called .jpg, a broken JPEG, and folders without classes or images."""
    (folder / "train" / "cat" / "0.jpg").write_text("<!doctype html>")
    (folder / "train" / "cat" / "1.jpg").write_bytes(b"\xff\xd8broken")
    data = load_data(folder)
    with pytest.raises(DataError, match="is a web page"):
        data.train.take([0])
    with pytest.raises(DataError, match="is not a readable image"):
        data.train.take([1])
    (folder / "val" / "horse").mkdir()
    with pytest.raises(DataError, match="horse"):
        load_data(folder)
    with pytest.raises(DataError, match=r"train is missing: an image folder has train/<class>"):
        load_data(folder / "train" / "cat")


def test_a_damaged_image_met_by_a_worker_is_named_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker process sends the text of its traceback along; the user gets the sentence."""
    (folder / "train" / "cat" / "0.jpg").write_bytes(b"broken")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    split = load_data(folder).train
    with pytest.raises(DataError, match=r"^\S*0.jpg is not a readable image .*; replace or delete it$"):
        next(split.batches([torch.zeros(64, dtype=torch.int64)], Augmentation(), (0, 0)))


def test_the_folder_one_stands_in_has_a_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in `runs` is named after it."""
    monkeypatch.chdir(folder)
    assert load_data(".").name == folder.name


def test_unknown_names_and_missing_data_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A close name is suggested; a download that fails says where the files belong."""
    with pytest.raises(DataError, match="did you mean 'cifar10'"):
        load_data("cifra10")
    assert load_data("Digits").name == "digits"
    with pytest.raises(DataError, match="images are"):  # a pair is taken for (images, labels)
        load_data([1, 2])
    with pytest.raises(DataError, match="data of type set"):
        load_data({1, 2})

    def offline(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(_cifar.torchvision("datasets.utils"), "download_and_extract_archive", offline)
    with pytest.raises(DataError, match=r"CIFAR10 was not found under .* and could not be downloaded \(no network\)"):
        load_data("cifar10", tmp_path)


def test_the_root_is_argument_then_variable_then_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """--data beats ECM_DATA beats the user's cache folder."""
    monkeypatch.setenv("ECM_DATA", str(tmp_path))
    assert data_root("/given") == Path("/given")
    assert data_root() == tmp_path
    monkeypatch.delenv("ECM_DATA")
    assert data_root().parts[-2:] == ("ecm", "data")


def test_arrays_are_data_sets() -> None:
    """Images without a channel axis get one; tables keep their columns; q above 255 is kept in int32."""
    labels = np.arange(20) % 2
    assert load_data((images(20, 5, 5), labels)).shape == (1, 5, 5)
    table = Dataset.from_arrays((RANDOM.randint(0, 1001, (20, 3)), labels), q=1000)
    assert table.train.images.dtype == torch.int32
    both = load_data(((images(20, 3, 4, 4), labels), (images(10, 3, 4, 4), labels[:10])))
    assert (len(both.train), len(both.test)) == (20, 10)


@pytest.mark.parametrize(
    ("levels", "labels", "q", "message"),
    [
        (
            np.full((4, 3), 0.3),
            [0, 1, 0, 1],
            255,
            r"the value 0.3 is not v/255.*quantize\(x, 255\) if rounding is meant",
        ),
        (np.full((4, 3), 3.0), [0, 1, 0, 1], 255, r"the input spans 3.0..3.0; floats are v/255 in \[0,1\]"),
        (np.full((4, 3), 17), [0, 1, 0, 1], 16, r"levels run from 17 to 17, outside 0..q = 0..16"),
        (np.zeros((4, 3), int), [0, 1, 0], 255, r"labels of shape \(3,\) for 4 images"),
        (np.zeros((4, 3), int), [0, -1, 0, 1], 255, "labels run from -1 to 1"),
        (np.zeros((4,), int), [0, 1, 0, 1], 255, r"shape \(4,\)"),
        (np.zeros((4, 3), int), [[0, 1, 0, 1]], 255, "labels of shape"),
        (np.zeros((4, 3), int), ["cat", "dog"] * 2, 255, "number the classes: names, labels = np.unique"),
        (np.zeros((4, 3), int), [0, 0, 0, 0], 255, r"1 classes; a vote needs 2..65535"),
        (np.zeros((65536, 1), int), range(65536), 255, r"65536 classes; a vote needs"),
        (np.zeros((4, 3), int), [1, 2, 1, 2], 255, "labels go up to 2, but no training image has the label 0: number"),
        (np.zeros((2, 3), int), [0, 10**15], 255, "no training image has the label 1"),
        (np.zeros((4, 8, 9, 3), int), [0, 1, 0, 1], 255, r"channels last; .*levels.transpose\(0, 3, 1, 2\)"),
        (np.zeros((4, 8, 9, 1), int), [0, 1, 0, 1], 255, "channels last"),
        (np.zeros((4, 1, 0, 3), int), [0, 1, 0, 1], 255, r"shape \(4, 1, 0, 3\); images are"),
        (np.zeros((0, 3), int), [], 255, "labels of type float64|no images; give at least one"),
        (np.zeros((4, 3), int), [0, 1, 0, 1], 0, "q = 0; write the largest level"),
        (np.zeros((4, 3), int), [0, 1, 0, 1], 16.0, "q = 16.0; write the largest level"),
        ([[1, 2], [3]], [0, 1], 255, "the levels are not an array"),
        (None, [0, 1], 255, "levels of type object"),
    ],
)
def test_arrays_that_are_no_data_set_are_refused(levels, labels, q: int, message: str) -> None:
    """What breaks which rule is in the message."""
    with pytest.raises(DataError, match=message):
        Dataset.from_arrays((levels, np.array(labels)), (levels, np.array(labels)), q=q)


def test_a_class_without_training_images_must_have_a_name() -> None:
    """A label that only the test set has is refused, unless the classes are named; the test set may lack one."""
    levels, labels = np.zeros((4, 3), int), np.arange(4) % 2
    with pytest.raises(DataError, match=r"no training image has the label 2: number .* class_names"):
        Dataset.from_arrays((levels, labels), (levels, labels + 1))
    assert Dataset.from_arrays((levels, labels), (levels, labels + 1), class_names="abc").classes == 3
    assert Dataset.from_arrays((levels, labels), (levels, 0 * labels)).classes == 2


def test_a_split_that_would_be_empty_is_refused() -> None:
    """One image per class, an empty test set, and arrays without labels."""
    levels, labels = np.zeros((2, 3), int), np.arange(2)
    with pytest.raises(DataError, match="leaves none to train on; give a test set"):
        Dataset.from_arrays((levels, labels))
    with pytest.raises(DataError, match="no images"):
        Dataset.from_arrays((levels, labels), (levels[:0], labels[:0]))
    with pytest.raises(DataError, match=r"a ndarray; give the pair \(levels, labels\)"):
        Dataset.from_arrays(levels)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.uint32, np.uint64, np.int64])
def test_every_integer_type_and_layout_of_arrays_is_read(kind: type) -> None:
    """Unsigned types that torch cannot compare, mirrored views, and read-only buffers give the same data set."""
    levels, labels = RANDOM.randint(0, 100, (20, 3, 4, 5)), np.arange(20) % 2
    plain = Dataset.from_arrays((levels, labels))
    mirrored = levels[..., ::-1].astype(kind)[..., ::-1]
    mirrored.flags.writeable = False
    assert Dataset.from_arrays((mirrored, labels.astype(kind)[::-1][::-1])).digest == plain.digest


def test_images_are_moved_by_less_than_their_size() -> None:
    """A larger shift would read beyond the mirrored border."""
    levels, labels = images(20, 3, 2, 4), np.arange(20) % 2
    for shift in (2, -1):
        with pytest.raises(DataError, match=rf"augment.shift = {shift} .*; write a number of pixels in 0..1"):
            Dataset.from_arrays((levels, labels), augment=Augmentation(shift=shift))
    Dataset.from_arrays((levels, labels), augment=Augmentation(shift=1))
    Dataset.from_arrays((levels[:, 0, 0], labels), augment=Augmentation(shift=1))


def test_a_data_set_keeps_its_content() -> None:
    """Changing the array that it was made from does not change it."""
    levels, labels = images(20, 3, 4, 4), np.arange(20) % 2
    data = Dataset.from_arrays((levels, labels), (levels, labels))
    before = data.train.take([0])
    levels[:] = 0
    assert torch.equal(before, data.train.take([0]))


def test_the_digest_sees_every_change() -> None:
    """One level, one label or one class name changed is another data set."""
    pixels, labels = images(10, 3, 4, 4), np.arange(10) % 2
    changed, moved = pixels.copy(), labels.copy()
    changed[3, 0, 0, 0] ^= 1
    moved[3] ^= 1
    made = [Dataset.from_arrays((x, y), (x, y)) for x, y in ((pixels, labels), (changed, labels), (pixels, moved))]
    made.append(Dataset.from_arrays((pixels, labels), (pixels, labels), class_names=["a", "b"]))
    assert len({data.digest for data in made}) == 4


def test_a_split_takes_its_share_of_every_class() -> None:
    """Stratified: a fifth of each class, at least one."""
    labels = np.array([0] * 50 + [1] * 10 + [2])
    held = stratified(labels, 0.2)
    assert torch.bincount(torch.from_numpy(labels)[held]).tolist() == [10, 2, 1]


def test_shifts_are_crops_of_the_mirrored_image() -> None:
    """Each augmented image is a window of its mirrored original, flipped or not, and no draw depends on the batch."""
    data = Dataset.from_arrays((images(12, 3, 6, 6), np.arange(12) % 2), (images(2, 3, 6, 6), np.arange(2)))
    augment = Augmentation(shift=2, flip=True)
    order = torch.randperm(12)
    (whole,) = data.train.batches([order], augment, (0, 7))
    halves = torch.cat(list(data.train.batches([order[:5], order[5:]], augment, (0, 7))))
    assert torch.equal(whole, halves)
    seen = set()
    for original, made in zip(data.train.images[order].numpy(), whole.numpy(), strict=True):
        padded = np.pad(original, ((0, 0), (2, 2), (2, 2)), mode="reflect")
        windows = {(y, x): padded[:, y : y + 6, x : x + 6] for y in range(5) for x in range(5)}
        matches = [
            (where, flipped)
            for where, window in windows.items()
            for flipped in (False, True)
            if np.array_equal(window[..., ::-1] if flipped else window, made)
        ]
        assert matches
        seen.update(matches)
    assert len(seen) > 6
