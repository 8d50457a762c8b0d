"""What the rivals' scripts have in common: their arguments, what they measure of themselves, and their answer."""

import argparse
import json
import time


def parser(description):
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--describe", action="store_true", help="print what this rival is and can, train nothing")
    result.add_argument("--model", choices=("mlp", "cnn", "gpt"), default="mlp")
    result.add_argument("--workers", type=int, default=2, help="processes or devices that share the work")
    result.add_argument("--batch-size", type=int, default=64, help="of each worker")
    result.add_argument("--steps", type=int, default=300)
    result.add_argument("--warm-up", type=int, default=50, help="steps before the clock starts")
    result.add_argument(
        "--started", type=float, default=time.monotonic(), help="when the program was started, by the monotonic clock"
    )
    return result


def peak_mebibytes():
    """Of this process. Unlike getrusage's, it does not begin with that of the process which started this one."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def has_bf16():
    """Whether the processor multiplies bfloat16 numbers."""
    with open("/proc/cpuinfo", encoding="ascii") as cpus:
        flags = next((line.split() for line in cpus if line.startswith("flags")), [])
    return bool({"avx512_bf16", "amx_bf16"} & set(flags))


def reason_against(attempt):
    """Why it fails, in a line; empty where it does not."""
    try:
        attempt()
        return ""
    except Exception as error:  # pylint: disable=broad-except
        return (str(error).strip() or repr(error)).splitlines()[0]


def answer(**values):
    print(json.dumps(values), flush=True)
