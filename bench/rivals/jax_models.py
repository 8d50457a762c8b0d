"""The reference models in JAX: nested dictionaries of parameters, PyTorch's initial values, images in JAX's order."""

import jax
import jax.numpy as jnp
import numpy

import data

CONTEXT, CHANNELS, LAYERS, HEADS = 64, 128, 4, 4


class Initial:
    """Draws initial values, one after the other."""

    def __init__(self, seed=1):
        self.random = numpy.random.default_rng(seed)

    def uniform(self, bound, *shape):
        return self.random.uniform(-bound, bound, shape).astype(numpy.float32)

    def normal(self, *shape):
        return self.random.normal(0, 0.02, shape).astype(numpy.float32)

    def linear(self, inputs, outputs):
        bound = inputs**-0.5
        return {"weight": self.uniform(bound, inputs, outputs), "bias": self.uniform(bound, outputs)}

    def small_linear(self, inputs, outputs):
        return {"weight": self.normal(inputs, outputs), "bias": self.uniform(inputs**-0.5, outputs)}

    def convolution(self, inputs, outputs):
        bound = (9 * inputs) ** -0.5
        return {"weight": self.uniform(bound, 3, 3, inputs, outputs), "bias": self.uniform(bound, outputs)}


def linear(params, x):
    return x @ params["weight"] + params["bias"]


def convolve(params, x):
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, params["weight"], (1, 1), "VALID", dimension_numbers=layout) + params["bias"]


def norm(params, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * params["weight"] + params["bias"]


def mlp_params(initial):
    return [initial.linear(*ends) for ends in ((784, 256), (256, 128), (128, 10))]


def mlp(params, x):
    x = x.reshape(len(x), -1)
    for layer in params[:-1]:
        x = jax.nn.relu(linear(layer, x))
    return linear(params[-1], x)


def cnn_params(initial):
    return {
        "conv1": initial.convolution(1, 32),
        "conv2": initial.convolution(32, 64),
        "hidden": initial.linear(9216, 128),
        "output": initial.linear(128, 10),
    }


def cnn(params, x):
    x = jax.nn.relu(convolve(params["conv1"], x[..., None]))
    x = jax.nn.relu(convolve(params["conv2"], x))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return linear(params["output"], jax.nn.relu(linear(params["hidden"], x.reshape(len(x), -1))))


def gpt_params(initial, vocabulary):
    def norm_params():
        return {"weight": numpy.ones(CHANNELS, numpy.float32), "bias": numpy.zeros(CHANNELS, numpy.float32)}

    def block():
        return {
            "norm1": norm_params(),
            "qkv": initial.small_linear(CHANNELS, 3 * CHANNELS),
            "out": initial.small_linear(CHANNELS, CHANNELS),
            "norm2": norm_params(),
            "expand": initial.small_linear(CHANNELS, 4 * CHANNELS),
            "contract": initial.small_linear(4 * CHANNELS, CHANNELS),
        }

    return {
        "tokens": initial.normal(vocabulary, CHANNELS),
        "positions": initial.normal(CONTEXT, CHANNELS),
        "blocks": [block() for _ in range(LAYERS)],
        "norm": norm_params(),
        "head": initial.normal(CHANNELS, vocabulary),
    }


def gpt(params, tokens):
    x = params["tokens"][tokens] + params["positions"]
    for block in params["blocks"]:
        parts = jnp.split(linear(block["qkv"], norm(block["norm1"], x)), 3, -1)
        q, k, v = (part.reshape(*part.shape[:2], HEADS, CHANNELS // HEADS) for part in parts)
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(block["out"], mixed.reshape(x.shape))
        hidden = jax.nn.gelu(linear(block["expand"], norm(block["norm2"], x)), approximate=False)
        x = x + linear(block["contract"], hidden)
    return norm(params["norm"], x) @ params["head"]


def make(name):
    """The model's function, its parameters, the number of its samples, and what gives the samples of some numbers."""
    initial = Initial()
    if name == "gpt":
        tokens, vocabulary = data.text()
        tokens = tokens.astype(numpy.int32)

        def windows(chosen):
            places = chosen[:, None] + numpy.arange(CONTEXT)
            return tokens[places], tokens[places + 1]

        return gpt, gpt_params(initial, vocabulary), len(tokens) - CONTEXT, windows
    pixels, labels = data.images()
    labels = labels.astype(numpy.int32)
    model, params = (mlp, mlp_params(initial)) if name == "mlp" else (cnn, cnn_params(initial))
    return model, params, len(labels), lambda chosen: (pixels[chosen], labels[chosen])
