"""Has a reader look up each PC of converted files, and compares its answers with what libdwarf says of the originals."""
import collections
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live")]
import harness  # noqa: E402

# Of Debian 12. Small ones, with C++, and with assembly that takes rules of its own.
FILES = ("/bin/bash", "/bin/ls", "/usr/bin/git", "/usr/bin/perl", "/usr/bin/gdb", *(f"/usr/lib/x86_64-linux-gnu/{name}" for name in (
    "libc.so.6", "libm.so.6", "libstdc++.so.6", "libcrypto.so.3", "libgcrypt.so.20")))


def build_rules(folder):
    program = os.path.join(folder, "cfi-rules")
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-I/usr/include/libdwarf", "-o", program, os.path.join(HERE, "cfi_rules.c"),
                    "-ldwarf"], check=True)
    return program


def compare(sframe_gen, folder, options, command):
    """Prints a line of a table for each file. `command`: looks up the lines of cfi-rules in the section of a file, whose name
    follows. Returns how many answers are wrong."""
    rules, total = build_rules(folder), collections.Counter()
    for path in FILES:
        converted, section = (os.path.join(folder, name) for name in ("converted", "section"))
        subprocess.run([sframe_gen, "-q", *options, "-o", converted, path], check=True, stderr=subprocess.DEVNULL)
        content = harness.read(converted)
        harness.write(section, harness.section_bytes(content, ".sframe"))
        address = harness.sections(content)[".sframe"].addr
        with subprocess.Popen([rules, path, str(address)], stdout=subprocess.PIPE) as lines:
            done = subprocess.run([*command(section)], stdin=lines.stdout, capture_output=True, text=True, check=False)
            lines.stdout.close()
        counts = dict(line.split() for line in done.stdout.splitlines() if line.count(" ") == 1)
        if lines.returncode != 0 or "wrong" not in counts:
            sys.exit(f"{path}: {lines.returncode}, {done.returncode}: {done.stdout}{done.stderr}")
        numbers = {name: int(count) for name, count in counts.items()}
        total.update(numbers)
        print(f"| {path} | {numbers['right']} | {numbers['left-out']} | {numbers['missing']} | {numbers['wrong']} |", flush=True)
        for line in done.stdout.splitlines():
            if line.startswith("pc "):
                print(" ", line)
    print(f"| all | {total['right']} | {total['left-out']} | {total['missing']} | {total['wrong']} |")
    return total["wrong"]


HEADING = ("| file | PCs with the CFI's rule | no row: the version cannot say the rule | no row, though it can | another rule |\n"
           "|---|---:|---:|---:|---:|")


def have_tools():
    if shutil.which("gcc") is None or not os.path.exists("/usr/include/libdwarf/libdwarf.h"):
        sys.exit("gcc and libdwarf-dev are missing")
