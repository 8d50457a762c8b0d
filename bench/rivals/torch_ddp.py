"""The reference models in PyTorch: DistributedDataParallel over Gloo, or one process.

Models, data, batch sizes and optimizers are those of bench/training.cpp. Prints one JSON object.
"""

import contextlib
import os
import re
import sys
import tempfile
import time

import rival


def arguments():
    parser = rival.parser(__doc__)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--fused", action="store_true", help="the optimizer in one kernel")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    return parser.parse_args()


def describe():
    """The linear-algebra library is what the dynamic linker chose, or else what PyTorch itself contains."""
    import torch

    x = torch.ones(64, 64, requires_grad=True)
    (x @ torch.ones(64, 64)).sum().backward()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        libraries = {line.split()[-1] for line in maps if ".so" in line}
    blas = sorted(path for path in libraries if re.search("blas|mkl_rt", os.path.basename(path)))
    # NumPy's own and those of graphics cards are not what PyTorch computes with.
    blas = [path for path in blas if not re.search("/numpy.libs/|/nvidia/", path)]
    built_in = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    text = " ".join(blas) if blas else f"built with {built_in.group(1) if built_in else 'an unknown BLAS'}"
    # Debian's reference BLAS has a directory of its own, and so have its alternatives.
    reference = any(os.path.dirname(path).endswith("/blas") for path in blas)

    def compile_something():
        if not hasattr(torch, "compile"):
            raise RuntimeError("this PyTorch has no torch.compile")
        torch.compile(torch.nn.Linear(64, 64))(x)

    lacks = {
        "fused": rival.reason_against(lambda: torch.optim.AdamW([x], fused=True).step()),
        "compile": rival.reason_against(compile_something),
        "bf16": "" if rival.has_bf16() else "the processor has no bfloat16 instructions",
    }
    warning = "its BLAS is the slow reference; ./dev setup rivals installs OpenBLAS" if reference else ""
    rival.answer(name=f"PyTorch {torch.__version__}", details=text, lacks=lacks, warning=warning)


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
    distributed = options.workers > 1
    step_model = model
    if distributed:
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + rendezvous, rank=rank, world_size=options.workers
        )
        step_model = nn.parallel.DistributedDataParallel(
            model, gradient_as_bucket_view=True, broadcast_buffers=False
        )
    if options.compile:
        step_model = torch.compile(step_model)
    order = torch.randperm(data.size)
    global_batch = options.workers * options.batch_size
    precision = torch.autocast("cpu", torch.bfloat16) if options.bf16 else contextlib.nullcontext()

    def step(number):
        begin = (number * global_batch + rank * options.batch_size) % (data.size - options.batch_size)
        inputs, targets = data.batch(order[begin : begin + options.batch_size])
        optimizer.zero_grad(set_to_none=True)
        with precision:
            loss = loss_of(step_model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    step(0)
    first_step = time.monotonic() - options.started
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
    peak = torch.tensor(rival.peak_mebibytes())
    if distributed:
        copies = [torch.empty_like(flat) for _ in range(options.workers)]
        torch.distributed.all_gather(copies, flat)
        same = all(torch.equal(copy, flat) for copy in copies)
        torch.distributed.all_reduce(peak)
        # A process that closes its sockets while the other still gathers leaves that one waiting for ever.
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    if rank == 0:
        rival.answer(
            samples_per_second=options.steps * global_batch / seconds,
            loss=float(torch.stack(losses[-5:]).mean()),
            parameters=flat.numel(),
            same_parameters=same,
            seconds_to_first_step=first_step,
            peak_mebibytes=float(peak),
        )
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
    elif options.workers == 1:
        train(0, options, "")
    else:
        import torch.multiprocessing

        with tempfile.TemporaryDirectory() as directory:
            rendezvous = os.path.join(directory, "rendezvous")
            torch.multiprocessing.spawn(train, (options, rendezvous), nprocs=options.workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
