"""Programs of other compilers, C libraries and rewriters."""
import os

from harness import run, tool
from matrix.targets import PROBE

RUSTC = {"rust-pie": [], "rust-exec": ["-C", "relocation-model=static"], "rust-static": ["-C", "target-feature=+crt-static"],
         "rust-lld": ["-C", "link-arg=-fuse-ld=lld"]}
MUSL = {"musl-pie": ["-fPIE", "-pie"], "musl-exec": ["-fno-pie", "-no-pie"],
        "musl-static": ["-fno-pie", "-static", "-no-pie"], "musl-static-pie": ["-fPIE", "-static-pie"]}


def build_go(name, output, folder):
    environment = {**os.environ, "GOCACHE": os.path.join(folder, "cache"), "GOFLAGS": "", "CGO_ENABLED": "0"}
    mode = "pie" if name == "go-pie" else "exe"
    return run(tool("go"), "build", "-buildmode=" + mode, "-o", output, os.path.join(PROBE, "probe.go"),
               env=environment)


def build_rust(name, output, folder):
    del folder
    compiler = tool("rustc")
    return run(compiler, "-g", "-O", *RUSTC[name], "-o", output, os.path.join(PROBE, "probe.rs"))


def build_musl(name, output, folder):
    del folder
    return run(tool("musl-gcc"), "-g", "-O1", "-DNO_CPP", "-DNO_IFUNC", *MUSL[name], "-o", output,
               os.path.join(PROBE, "probe.c"))


def build_bolt(name, output, folder):
    """BOLT moves the program headers into a new segment."""
    input_path = os.path.join(folder, "before-bolt")
    mode = ["-fPIE", "-pie"] if name == "bolt-pie" else ["-fno-pie", "-no-pie"]
    linked = run(tool("gcc"), "-g", "-O1", "-pthread", *mode, "-Wl,-q", os.path.join(PROBE, "probe.c"),
                 os.path.join(PROBE, "throw.cpp"), "-o", input_path, "-lstdc++")
    if linked.status != 0:
        return linked
    return run(tool("llvm-bolt-16"), input_path, "-o", output, "-reorder-blocks=ext-tsp", "-split-functions")


def build_other(name, folder):
    output = os.path.join(folder, "program")
    builder = {"go": build_go, "rust": build_rust, "musl": build_musl, "bolt": build_bolt}[name.split("-")[0]]
    return output, builder(name, output, folder)
