"""The modes of sframe-gen and sframe-trace, each with files of its own, for tools that make something fail in each."""
import os
import shutil
import subprocess

import harness
import perf_data

SOURCE = """
#include <stdio.h>
__attribute__((noinline)) int twice(int i) { return printf("%d\\n", 2 * i); }
int main(int count, char** arguments) { (void)arguments; return twice(count) < 0; }
"""
MODES = ("linked", "compact", "object", "archive", "thin", "tree", "remove", "launch", "verify", "dump", "recording", "core", "process")


class Scene:
    """The files that a mode works on, made once and laid out again for each run."""

    def __init__(self, programs, place):
        self.place = place
        self.gen, self.trace = (os.path.join(os.path.abspath(programs), name) for name in ("sframe-gen", "sframe-trace"))
        harness.write(os.path.join(place, "source.c"), SOURCE)
        self.tool("gcc", "-g", "-o", "plain", "source.c")
        self.tool("gcc", "-c", "-o", "a.o", "source.c")
        self.tool("ar", "qcs", "lib.a", "a.o", "a.o", "a.o")
        self.process = subprocess.Popen(["sleep", "3600"])
        harness.come_to_rest(self.process.pid)
        self.tool("gcore", "-o", "core", str(self.process.pid))
        self.core = os.path.join(place, f"core.{self.process.pid}")
        core, recording = perf_data.Core(self.core), perf_data.Recording()
        recording.comm(7000, 7000, 1, "recorded", is_exec=True)
        for begin, end, offset, name in core.files:
            recording.map(7000, 2, begin, end, offset, name)
        for number, (thread, registers) in enumerate(core.threads * 2):
            recording.sample(7000, thread, 10 + number, registers, core.memory(registers[19], 2048), 2048)
        self.recording = harness.write(os.path.join(place, "perf.data"), recording.content())
        self.work = os.path.join(place, "work")

    def tool(self, *command):
        harness.need(harness.run(*command, cwd=self.place))

    def files_of(self, mode):
        """{name in the directory: content}"""
        def of(name):
            return harness.read(os.path.join(self.place, name))
        plain, member = of("plain"), of("a.o")
        converted = os.path.join(self.place, "converted")
        harness.need(harness.run(self.gen, "-o", converted, os.path.join(self.place, "plain")))
        if mode in ("linked", "compact"):
            return {"target": plain}
        if mode in ("remove", "verify", "dump"):
            return {"target": harness.read(converted)}
        if mode == "object":
            return {"target.o": member}
        if mode == "archive":
            return {"lib.a": of("lib.a")}
        if mode == "thin":
            return {"a.o": member, "b.o": member}
        if mode == "tree":
            return {"one": plain, "two": plain, "a.o": member, "lib.a": of("lib.a")}
        if mode == "launch":
            return {"source.c": SOURCE.encode()}
        return {}

    def command(self, mode):
        gen = {"linked": ("target",), "compact": ("--compact", "target"), "object": ("target.o",), "archive": ("lib.a",), "thin": ("lib.a",),
               "tree": ("-r", "--objects", "-j2", "."), "remove": ("--remove", "target"), "verify": ("--verify", "target"), "dump": ("--dump", "target"),
               "launch": ("--launch", "--", "gcc", "-c", "source.c", "-o", "made.o")}
        trace = {"recording": ("-q", self.recording), "core": ("-q", "--core", self.core), "process": ("-q", str(self.process.pid))}
        return (self.gen, *gen[mode]) if mode in gen else (self.trace, *trace[mode])

    def lay_out(self, mode, files):
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)
        for name, content in files.items():
            os.chmod(harness.write(os.path.join(self.work, name), content), 0o755)
        if mode == "thin":
            harness.need(harness.run("ar", "qcsT", "lib.a", "a.o", "b.o", cwd=self.work))

    def left(self):
        return {name: harness.read(os.path.join(self.work, name)) for name in os.listdir(self.work)}

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.place)
