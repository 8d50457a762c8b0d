"""Takes parameters from viva to PyTorch and back: every tensor keeps its shape and, in models.py, its name.

usage: exchange.py fresh RECIPE PARAMS                   writes the initial parameters of PyTorch's model
       exchange.py predict RECIPE PARAMS INPUTS OUT      the logits of images (bytes) or tokens; NPY files
       exchange.py eval RECIPE PARAMS                    prints the mean loss on the validation text
PARAMS is a safetensors file. RECIPE says which model, as for viva: mlp or cnn on Fashion-MNIST, or gpt on its text.
For other modules, import load_parameters and save_parameters.
"""

import pathlib
import sys
import tomllib

import numpy
import torch
import torch.nn.functional as F

from models import Cnn, Gpt, Mlp
from parameters import read_safetensors, write_safetensors


def load_parameters(module, path, names=None):
    """All of the module's parameters; its buffers stay. `names` maps viva's names to the module's where they differ."""
    names = names or {}
    state = {names.get(name, name): torch.from_numpy(array) for name, array in read_safetensors(path).items()}
    missing, unknown = module.load_state_dict(state, strict=False)
    missing = set(missing) & {name for name, _ in module.named_parameters()}
    if missing or unknown:
        raise KeyError(f"{path}: missing {sorted(missing)}, unknown to the module {sorted(unknown)}")


def save_parameters(module, path, names=None):
    """For viva to read; `names` as for load_parameters."""
    names = {theirs: ours for ours, theirs in (names or {}).items()}
    state = module.named_parameters()
    write_safetensors(path, {names.get(name, name): value.detach().numpy() for name, value in state})


class Text:
    """A recipe's text as tokens, and the part of it that judges."""

    def __init__(self, data):
        text = numpy.concatenate([numpy.fromfile(path, numpy.uint8) for path in data["text"]])
        characters = numpy.unique(text)
        self.vocabulary = len(characters)
        count = int(numpy.floor(len(text) * data["validation_fraction"] + 0.5))
        self.validation = torch.from_numpy(numpy.searchsorted(characters, text[len(text) - count :]))

    def windows(self, context):
        """Inputs and targets, (number, context) each, without overlaps."""
        count = (len(self.validation) - 1) // context
        whole = self.validation[: count * context + 1]
        return whole[:-1].view(count, context), whole[1:].view(count, context)


def make_model(recipe):
    settings = recipe["model"]
    if settings["kind"] == "mlp":
        return Mlp((784, *settings["hidden"], 10))
    if settings["kind"] == "cnn":
        return Cnn()
    sizes = {key: settings[key] for key in ("channels", "layers", "heads", "context")}
    return Gpt(Text(recipe["data"]).vocabulary, **sizes)


@torch.no_grad()
def main(command, recipe_path, params, *files):
    recipe = tomllib.loads(pathlib.Path(recipe_path).read_text())
    torch.manual_seed(0)
    model = make_model(recipe)
    if command == "fresh":
        return save_parameters(model, params)
    load_parameters(model, params)
    if command == "predict":
        inputs = torch.from_numpy(numpy.load(files[0]))
        inputs = inputs / 255 if inputs.dtype == torch.uint8 else inputs.long()
        return numpy.save(files[1], model(inputs).numpy())
    inputs, targets = Text(recipe["data"]).windows(recipe["model"]["context"])
    print(F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item())


if __name__ == "__main__":
    if len(sys.argv) != {"fresh": 4, "predict": 6, "eval": 4}.get(sys.argv[1] if len(sys.argv) > 1 else None):
        sys.exit(__doc__)
    main(*sys.argv[1:])
