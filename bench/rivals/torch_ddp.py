"""The benchmark's perceptron in PyTorch: DistributedDataParallel over Gloo, or one process.

The model, data, batch size and optimizer are those of bench/mlp_training.cpp. The images are floats in memory before
the clock starts, which spares PyTorch the conversion that viva pays for. Prints one JSON object.
"""

import argparse
import json
import os
import sys
import tempfile
import time

DATA = "/usr/share/datasets/fashion-mnist/"
WARM_UP_STEPS = 50


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--describe", action="store_true", help="print the version and the BLAS library, train nothing")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--batch-size", type=int, default=64, help="of each process")
    parser.add_argument("--steps", type=int, default=300)
    return parser.parse_args()


def describe():
    """The linear-algebra library is what the dynamic linker chose, whatever PyTorch was built with."""
    import torch

    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        libraries = {line.split()[-1] for line in maps if ".so" in line}
    blas = sorted(path for path in libraries if "blas" in os.path.basename(path) or "mkl_rt" in path)
    if not blas:
        blas = sorted(path for path in libraries if os.path.basename(path).startswith("libtorch_cpu"))
    text = " ".join(blas) if blas else "unknown BLAS"
    # Debian's reference BLAS has a directory of its own, and so have its alternatives.
    reference = any(os.path.dirname(path).endswith("/blas") for path in blas)
    print(json.dumps({"version": torch.__version__, "blas": text, "reference_blas": reference}))


def load(torch):
    import gzip

    import numpy

    with gzip.open(DATA + "train-images-idx3-ubyte.gz") as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16)
    with gzip.open(DATA + "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    images = pixels.reshape(-1, 784).astype(numpy.float32) / numpy.float32(255)
    return torch.from_numpy(images), torch.from_numpy(labels.astype(numpy.int64))


def train(rank, options, rendezvous):
    import torch
    from torch import nn

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    images, labels = load(torch)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    distributed = options.processes > 1
    step_model = model
    if distributed:
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + rendezvous, rank=rank, world_size=options.processes
        )
        step_model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    order = torch.randperm(len(images))
    global_batch = options.processes * options.batch_size

    def step(number):
        begin = (number * global_batch + rank * options.batch_size) % (len(images) - options.batch_size)
        chosen = order[begin : begin + options.batch_size]
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(step_model(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        return loss.detach()

    for number in range(WARM_UP_STEPS):
        step(number)
    if distributed:
        torch.distributed.barrier()
    begin = time.perf_counter()
    losses = [step(WARM_UP_STEPS + number) for number in range(options.steps)]
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
            "loss": float(torch.stack(losses[-20:]).mean()),
            "parameters": flat.numel(),
            "same_parameters": same,
        }
        print(json.dumps(answer), flush=True)


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
