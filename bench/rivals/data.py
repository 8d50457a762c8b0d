"""The data that viva's rivals train on, as NumPy arrays: that of bench/training.cpp."""

import gzip

import numpy

IMAGES = "/usr/share/datasets/fashion-mnist/"
TEXT = "/usr/share/common-licenses/GPL-3"


def images():
    """Fashion-MNIST as floats, (n, 28, 28), and its labels: viva converts its bytes while it trains."""
    with gzip.open(IMAGES + "train-images-idx3-ubyte.gz") as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16)
    with gzip.open(IMAGES + "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return pixels.reshape(-1, 28, 28).astype(numpy.float32) / numpy.float32(255), labels


def text():
    """A text's characters as numbers, and how many different ones there are."""
    with open(TEXT, "rb") as file:
        characters, tokens = numpy.unique(numpy.frombuffer(file.read(), numpy.uint8), return_inverse=True)
    return tokens, len(characters)
