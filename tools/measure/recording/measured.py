"""What recordings have, and how busy the machine is."""
import collections
import contextlib
import mmap
import os
import re
import struct
import subprocess

import perf_data

Contents = collections.namedtuple("Contents", "samples lost bytes")


def contents_of(path):
    """perf tells of lost samples twice: where they are missing, and at the end."""
    samples, lost = 0, collections.Counter()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        for kind, _, body in perf_data.records_of(content):
            samples += kind == perf_data.SAMPLE
            if kind in (perf_data.LOST, perf_data.LOST_SAMPLES):
                lost[kind] += struct.unpack_from("<Q", body, 8 if kind == perf_data.LOST else 0)[0]
        return Contents(samples, max(lost.values(), default=0), len(content))


def contents_as_said(err):
    """By the summary of sframe-trace record."""
    samples, size = map(int, re.search(r": (\d+) samples?, (\d+) bytes?$", err, re.MULTILINE).groups())
    lost = re.search(r"(\d+) samples lost", err)
    return Contents(samples, int(lost[1]) if lost else 0, size)


def busy_seconds():
    """Of all processors since the start of the machine."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def busy_loops(count):
    """Runs so many at the same time."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
