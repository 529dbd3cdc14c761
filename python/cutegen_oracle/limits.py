"""How much memory this process may take on the CPU."""

import resource


def field_of(path, name):
    """A kB field of a /proc file, in bytes; 0 where there is none."""
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def available_bytes():
    """What the kernel says is free, or what the control group still allows, whichever is less."""
    free = field_of("/proc/meminfo", "MemAvailable") or 1 << 33
    for limit, used in (("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
                        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes")):
        try:
            with open(limit, encoding="ascii") as a, open(used, encoding="ascii") as b:
                free = min(free, max(0, int(a.read()) - int(b.read())))
        except (OSError, ValueError):
            continue  # no such control group, or "max"
    return free


def limit_memory(size):
    """Allocations past `size` more bytes fail with an exception, rather than wake the kernel's killer. Returns `size`."""
    data = field_of("/proc/self/status", "VmData")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = data + size
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    return size
