"""Stacks that sframe-trace finds in a recording, beside those that were recorded."""
import collections
import json

import harness

MOST_FRAMES = "512"


def pcs(frames):
    """What is between both ends of a deep stack is an entry at address 0."""
    return tuple(int(frame.get("pc", "0x0"), 16) for frame in frames)


def stacks_of(program, prefix, path):
    """What sframe-trace --json prints of a recording."""
    command = [*prefix, program, "--json", "--frames", MOST_FRAMES, "-q", path]
    return [json.loads(line) for line in harness.need(harness.run(*command, timeout=3600)).splitlines()]


def sample_of(stack):
    return stack["process"], stack["thread"], stack["ns"], pcs(stack["kernel"]), pcs(stack.get("frames", []))


def differences(name, ours, theirs):
    """How many samples have no equal; the first of them are shown."""
    lacking = collections.Counter(ours) - collections.Counter(theirs), collections.Counter(theirs) - collections.Counter(ours)
    for what, samples in zip(("recorded", "read"), lacking):
        for sample in sorted(samples)[:3]:
            *thread, kernel, frames = sample
            print(f"  {name}, {what}: {thread}, kernel {[hex(pc) for pc in kernel]}, frames {[hex(pc) for pc in frames]}")
    return max(part.total() for part in lacking)
