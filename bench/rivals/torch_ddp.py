"""The reference models in PyTorch: DistributedDataParallel over Gloo, or one process.

Models, data, batch sizes and optimizers are those of bench/training.cpp. Prints one JSON object.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time

STARTED = time.perf_counter()


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--describe", action="store_true", help="print what this PyTorch is and can, train nothing")
    parser.add_argument("--model", choices=("mlp", "cnn", "gpt"), default="mlp")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--batch-size", type=int, default=64, help="of each process")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--warm-up", type=int, default=50, help="steps before the clock starts")
    parser.add_argument("--fused", action="store_true", help="the optimizer in one kernel")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    return parser.parse_args()


def can(attempt):
    try:
        attempt()
        return True
    except Exception:  # pylint: disable=broad-except
        return False


def describe():
    """The linear-algebra library is what the dynamic linker chose, whatever PyTorch was built with."""
    import torch

    x = torch.ones(64, 64, requires_grad=True)
    (x @ torch.ones(64, 64)).sum().backward()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        libraries = {line.split()[-1] for line in maps if ".so" in line}
    blas = sorted(path for path in libraries if "blas" in os.path.basename(path) or "mkl_rt" in path)
    if not blas:
        blas = sorted(path for path in libraries if os.path.basename(path).startswith("libtorch_cpu"))
    text = " ".join(blas) if blas else "unknown BLAS"
    # Debian's reference BLAS has a directory of its own, and so have its alternatives.
    reference = any(os.path.dirname(path).endswith("/blas") for path in blas)
    answer = {
        "version": torch.__version__,
        "blas": text,
        "reference_blas": reference,
        "fused": can(lambda: torch.optim.AdamW([x], fused=True).step()),
        "compile": can(lambda: torch.compile(torch.nn.ReLU())(torch.ones(3))),
    }
    print(json.dumps(answer))


def train(rank, options, rendezvous):
    import torch
    from torch import nn

    import models

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model, data, optimizer_class, settings = models.make(options.model)
    if options.fused:
        settings["fused"] = True
    optimizer = optimizer_class(model.parameters(), **settings)
    loss_of = nn.CrossEntropyLoss()
    distributed = options.processes > 1
    step_model = model
    if distributed:
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + rendezvous, rank=rank, world_size=options.processes
        )
        step_model = nn.parallel.DistributedDataParallel(
            model, gradient_as_bucket_view=True, broadcast_buffers=False
        )
    if options.compile:
        step_model = torch.compile(step_model)
    order = torch.randperm(data.size)
    global_batch = options.processes * options.batch_size

    def step(number):
        begin = (number * global_batch + rank * options.batch_size) % (data.size - options.batch_size)
        inputs, targets = data.batch(order[begin : begin + options.batch_size])
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(step_model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    step(0)
    first_step = time.perf_counter() - STARTED
    for number in range(1, options.warm_up):
        step(number)
    if distributed:
        torch.distributed.barrier()
    begin = time.perf_counter()
    losses = [step(options.warm_up + number) for number in range(options.steps)]
    if distributed:
        torch.distributed.barrier()
    seconds = time.perf_counter() - begin

    flat = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    same = True
    if distributed:
        copies = [torch.empty_like(flat) for _ in range(options.processes)]
        torch.distributed.all_gather(copies, flat)
        same = all(torch.equal(copy, flat) for copy in copies)
        # A process that closes its sockets while the other still gathers leaves that one waiting for ever.
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    if rank == 0:
        answer = {
            "samples_per_second": options.steps * global_batch / seconds,
            "loss": float(torch.stack(losses[-5:]).mean()),
            "parameters": flat.numel(),
            "same_parameters": same,
            "first_step_seconds": first_step,
            "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(answer), flush=True)
    if distributed:
        # The process group's destructor waits for a thread that waits for Python's lock, which the destructor holds: in
        # PyTorch 1.13 that is now and then for ever.
        os._exit(0)


def main():
    options = arguments()
    # Before PyTorch is loaded: more threads than its share of the CPUs would only slow it down.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    if options.describe:
        describe()
    elif options.processes == 1:
        train(0, options, "")
    else:
        import torch.multiprocessing

        with tempfile.TemporaryDirectory() as directory:
            rendezvous = os.path.join(directory, "rendezvous")
            torch.multiprocessing.spawn(train, (options, rendezvous), nprocs=options.processes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
