"""What the tests against GNU's SFrame tools have in common. A test is an ordinary program: it prints figures, and ends
with status 1 at the first thing that is not as it should be."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
LONG = os.environ.get("SFRAME_GEN_LONG") == "1"  # of what is much alike, all, and not a part (tools/test --long)


class Failure(Exception):
    """Something is not as it should be."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def run(*command, **options):
    """Output of a command that must succeed without a word on standard error."""
    result = subprocess.run([str(word) for word in command], capture_output=True, check=False, **options)
    text = result.stderr.decode(errors="replace")
    line = " ".join(map(str, command))
    expect(result.returncode == 0, f"{command[0]} ends with status {result.returncode}: {line}\n{text}")
    expect(not text, f"{command[0]} complains: {line}\n{text}")
    return result.stdout.decode(errors="replace")


class Toolbox:
    """The programs under test, GNU's tools, and a scratch folder that goes with the test."""

    def __init__(self, arguments, scratch):
        self.arguments = arguments
        self.source = arguments.source
        self.scratch = scratch
        self.suite = os.path.join(arguments.toolchains, "forky")

    def gnu(self, tool, suite="forky"):
        path = os.path.join(self.arguments.toolchains, suite, "bin", tool)
        expect(os.access(path, os.X_OK),
               f"{path} is missing; 'tools/fetching/gnu-toolchains {self.arguments.toolchains} {suite}' fetches it")
        return path

    def gnu_version(self, suite="forky"):
        return run(self.gnu("readelf", suite), "--version").splitlines()[0]

    def file(self, name):
        return os.path.join(self.scratch, name)

    def sframe_gen(self, *words):
        """Converts quietly. Warnings are allowed: they are not about the section's contents."""
        result = subprocess.run([self.arguments.sframe_gen, "-q", *words], capture_output=True, text=True, check=False)
        complaints = [line for line in result.stderr.splitlines() if ": warning: " not in line]
        expect(result.returncode == 0 and not complaints, f"sframe-gen {' '.join(words)}: {result.stderr}")
        return result.stdout

    def convert(self, path, name=None):
        output = self.file(name or os.path.basename(path))
        self.sframe_gen("-o", output, path)
        return output

    def compile(self, compiler, *words):
        compiler = shutil.which(compiler) or compiler
        run(compiler, *words)


def main(test, *options):
    """Runs `test(toolbox)`. `options` are names of further paths the test is given."""
    parser = argparse.ArgumentParser()
    for option in ("sframe-gen", "toolchains", "source", *options):
        parser.add_argument("--" + option, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sframe-gen-gnu-") as scratch:
        try:
            test(Toolbox(arguments, scratch))
        except Failure as failure:
            sys.stdout.flush()
            sys.exit(f"FAILED: {failure}")
