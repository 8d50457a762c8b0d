"""The reference models in JAX: one compiled step over one device, or over several whose gradients are averaged.

Models, data, batch sizes and optimizers are those of bench/training.cpp. A device takes what CPUs it may. Prints one
JSON object.
"""

import os
import sys
import time

import rival


def describe():
    import jax

    lacks = {"shard_map": "" if hasattr(jax, "shard_map") else "this JAX has no jax.shard_map"}
    rival.answer(name=f"JAX {jax.__version__}", details=f"XLA on {jax.default_backend()}", lacks=lacks, warning="")


def make_update(model):
    """The initial state of the model's optimizer, and its rule: params, state, gradients to params, state."""
    import jax
    import jax.numpy as jnp

    def zeros(params):
        return jax.tree.map(jnp.zeros_like, params)

    def momentum(params, moment, grads):
        moment = jax.tree.map(lambda m, g: 0.9 * m + g, moment, grads)
        return jax.tree.map(lambda p, m: p - 0.05 * m, params, moment), moment

    def adam(params, state, grads):
        first, second, steps = state
        rate, decay, steps = 1e-3, 0.01 if model == "gpt" else 0.0, steps + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)

        def apply(p, m, v):
            scaled = (m / (1 - 0.9**steps)) / (jnp.sqrt(v / (1 - 0.999**steps)) + 1e-8)
            return p * (1 - rate * decay) - rate * scaled

        return jax.tree.map(apply, params, first, second), (first, second, steps)

    if model == "mlp":
        return zeros, momentum
    return lambda params: (zeros(params), zeros(params), jnp.zeros(())), adam


def make_step(options, model):
    """The compiled step, and where its state and its samples lie."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    _, update = make_update(options.model)
    mesh = Mesh(jax.devices(), ("workers",))
    everywhere, split = PartitionSpec(), PartitionSpec("workers")

    def step(params, state, inputs, targets):
        def loss_of(params):
            likelihoods = jax.nn.log_softmax(model(params, inputs))
            return -jnp.take_along_axis(likelihoods, targets[..., None], -1).mean()

        loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(params), "workers")
        return *update(params, state, grads), loss

    # Without check_vma a gradient is that of the device's own samples until pmean averages it.
    mapped = jax.shard_map(
        step, mesh=mesh, in_specs=(everywhere, everywhere, split, split), out_specs=everywhere, check_vma=False
    )
    return jax.jit(mapped, donate_argnums=(0, 1)), NamedSharding(mesh, everywhere), NamedSharding(mesh, split)


def train(options):
    import jax
    import numpy

    import jax_models

    if len(jax.devices()) != options.workers:
        raise RuntimeError(f"expected {options.workers} devices, found {jax.devices()}")
    model, params, size, samples = jax_models.make(options.model)
    step, everywhere, split = make_step(options, model)
    initial_state, _ = make_update(options.model)
    params = jax.device_put(params, everywhere)
    state = jax.device_put(initial_state(params), everywhere)
    order = numpy.random.default_rng(1).permutation(size)
    global_batch = options.workers * options.batch_size

    def run(number):
        nonlocal params, state
        begin = number * global_batch % (size - global_batch)
        batch = jax.device_put(samples(order[begin : begin + global_batch]), split)
        params, state, loss = step(params, state, *batch)
        if options.workers > 1:
            # Steps that overlap may take each other's threads, and then wait in the sum of the gradients for ever.
            loss.block_until_ready()
        return loss

    run(0).block_until_ready()
    first_step = time.monotonic() - options.started
    for number in range(1, options.warm_up):
        run(number)
    jax.block_until_ready(params)
    begin = time.perf_counter()
    losses = [run(options.warm_up + number) for number in range(options.steps)]
    jax.block_until_ready(params)
    seconds = time.perf_counter() - begin

    leaves = jax.tree.leaves(params)
    copies = [[numpy.asarray(shard.data) for shard in leaf.addressable_shards] for leaf in leaves]
    rival.answer(
        samples_per_second=options.steps * global_batch / seconds,
        loss=float(numpy.mean([float(loss) for loss in losses[-5:]])),
        parameters=sum(leaf.size for leaf in leaves),
        same_parameters=all(numpy.array_equal(copy, of_leaf[0]) for of_leaf in copies for copy in of_leaf),
        seconds_to_first_step=first_step,
        peak_mebibytes=rival.peak_mebibytes(),
    )


def main():
    options = rival.parser(__doc__).parse_args()
    # Before JAX is loaded.
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options.workers}"
    if options.describe:
        describe()
    else:
        train(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
