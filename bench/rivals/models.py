"""The reference models and their data in PyTorch, with the names of viva's parameters."""

import math

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import data

CONTEXT = 64


class Mlp(nn.Module):
    def __init__(self, sizes=(784, 256, 128, 10)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*ends) for ends in zip(sizes, sizes[1:]))

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.hidden, self.output = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x.unsqueeze(1)))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.output(F.relu(self.hidden(x)))


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.register_buffer("later", torch.full((CONTEXT, CONTEXT), float("-inf")).triu(1), persistent=False)

    def forward(self, x):
        batch, length, channels = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, channels // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(channels, 2)
        )
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
            y = F.softmax(scores + self.later[:length, :length], -1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, channels))


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(channels), Attention(channels, heads)
        self.norm2 = nn.LayerNorm(channels)
        self.expand, self.contract = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.contract(F.gelu(self.expand(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary, channels=128, layers=4, heads=4, context=CONTEXT):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, channels)
        self.position_embedding = nn.Embedding(context, channels)
        self.blocks = nn.ModuleList(Block(channels, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(channels), nn.Linear(channels, vocabulary, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Images:
    def __init__(self):
        pixels, labels = data.images()
        self.inputs, self.labels = torch.from_numpy(pixels), torch.from_numpy(labels.astype(numpy.int64))
        self.size = len(labels)

    def batch(self, chosen):
        return self.inputs[chosen], self.labels[chosen]


class Text:
    """Windows of a text's characters; the target is the next character."""

    def __init__(self):
        tokens, self.vocabulary = data.text()
        self.tokens = torch.from_numpy(tokens)
        self.size = len(tokens) - CONTEXT

    def batch(self, chosen):
        places = chosen[:, None] + torch.arange(CONTEXT)
        return self.tokens[places], self.tokens[places + 1]


def make(name):
    """The model, its data, and its optimizer's class and settings: those of bench/training.cpp."""
    if name == "mlp":
        return Mlp(), Images(), torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}
    if name == "cnn":
        return Cnn(), Images(), torch.optim.Adam, {"lr": 1e-3}
    text = Text()
    return Gpt(text.vocabulary), text, torch.optim.AdamW, {"lr": 1e-3, "weight_decay": 0.01}
