"""What /proc tells of processes, and how to be rid of them."""

import ctypes
import os
import signal

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """From now on processes whose parent dies become children of this one, where they are seen and reaped."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def read(pid: int, name: str) -> bytes:
    """A file of /proc/PID; nothing where the process is gone."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat(pid: int) -> tuple[str, int]:
    """State and parent; ("", 0) where the process is gone."""
    fields = read(pid, "stat").rpartition(b")")[2].split()
    return (fields[0].decode(), int(fields[1])) if fields else ("", 0)


def children_of(pid: int) -> list[int]:
    """Zombies included."""
    return [child for child in pids() if stat(child)[1] == pid]


def family_of(pid: int) -> set[int]:
    """The process and all that descend from it, zombies included."""
    children: dict[int, list[int]] = {}
    for child in pids():
        children.setdefault(stat(child)[1], []).append(child)
    family: set[int] = set()
    remaining = [pid]
    while remaining:
        member = remaining.pop()
        family.add(member)
        remaining += children.get(member, [])
    return family


def has_mark(pid: int, mark: str) -> bool:
    return any(entry.startswith(mark.encode()) for entry in read(pid, "environ").split(b"\0"))


def marked(mark: str) -> list[int]:
    """Processes whose environment has an entry that begins with `mark`. A zombie has none."""
    return [pid for pid in pids() if pid != os.getpid() and has_mark(pid, mark)]


def strike(pid: int, number: int, mark: str) -> bool:
    """Sends a signal, but never to a stranger that has got the same pid."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not has_mark(pid, mark):
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


def left(mark: str, expected: set[int]) -> list[int]:
    """The processes of a run that are still there, and any orphan; the dead ones among them are reaped.

    `expected` are children whose end their owner awaits himself.
    """
    orphans = {pid for pid in set(children_of(os.getpid())) - expected if os.waitpid(pid, os.WNOHANG)[0] == 0}
    return sorted(orphans | (set(marked(mark)) - expected))


def end_all(mark: str) -> None:
    """Kills a run's processes, and any child of this one: those are the program and its orphans."""
    for pid in marked(mark):
        strike(pid, signal.SIGKILL, mark)
    for pid in children_of(os.getpid()):
        os.kill(pid, signal.SIGKILL)


def describe(pid: int) -> str:
    return f"{pid} ({read(pid, 'comm').decode().strip()}, state {stat(pid)[0]})"


def descriptors(pid: int) -> int:
    """-1 where the process is gone."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except (FileNotFoundError, ProcessLookupError):
        return -1


def proportional_memory(pid: int) -> int:
    """PSS in KiB: pages that n processes share count 1/n in each.

    Without those of files: a library's pages count less as soon as any other program on the machine maps it too.
    """
    lines = (line.split() for line in read(pid, "smaps_rollup").splitlines())
    return sum(int(line[1]) for line in lines if line[0] in (b"Pss_Anon:", b"Pss_Shmem:"))
