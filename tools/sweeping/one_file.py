"""Converts one file and looks at the result: verified, restored, compared by eu-elflint."""
import dataclasses
import filecmp
import json
import os
import re
import subprocess

from sweeping import elf_files, elflint


@dataclasses.dataclass
class Outcome:
    path: str
    is_object: bool
    report: dict  # of the conversion
    output: str | None = None  # the converted file, if there is one
    verified: dict = dataclasses.field(default_factory=dict)
    phases: dict = dataclasses.field(default_factory=dict)  # name of the phase to what failed, or None


def run(program, *arguments):
    result = subprocess.run([program, "--report=json", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, errors="replace")
    lines = [line for line in result.stdout.splitlines() if line]
    report = json.loads(lines[-1]) if lines else {"status": f"ended with status {result.returncode} and no report"}
    return result.returncode, report, result.stderr.strip()


def reason_of(report, path):
    """The refusal without what differs from file to file."""
    text = report.get("error", report["status"]).removeprefix(path + ": ")
    text = text.replace("1 FDE ", "1 FDEs ")
    return re.sub(r"0x[0-9a-f]+|'[^']*'|\.(?!eh_frame|debug_frame)[a-z_.]+[a-z_]|\b\d+\b(?!-bit)", "…", text)


def verify(program, outcome):
    status, outcome.verified, error = run(program, "--verify", outcome.output)
    return None if status == 0 and outcome.verified["status"] == "verified" else error or str(outcome.verified)


def remove(program, outcome):
    original = outcome.output + ".removed"
    try:
        status, _, error = run(program, "--remove", "-o", original, outcome.output)
        if status != 0:
            return error
        return None if filecmp.cmp(original, outcome.path, shallow=False) else "gives back other bytes"
    finally:
        if os.path.exists(original):
            os.unlink(original)


def examine(options, scratch, path):
    """What becomes of one file. The converted one stays in `scratch` under its own path; others may want it."""
    output = os.path.join(scratch, path.lstrip("/"))
    os.makedirs(os.path.dirname(output), exist_ok=True)
    status, report, error = run(options.program, *(["--compact"] if options.compact else []), "-o", output, path)
    outcome = Outcome(path, elf_files.is_object(path), report)
    if report["status"] != "done":
        refused = report["status"] == "failed" and status == 1 and not os.path.exists(output)
        outcome.phases["convert"] = None if refused else f"status {status}: {error or report['status']}"
        return outcome
    outcome.output = output
    outcome.phases["convert"] = None if status == 0 else f"status {status}: {error}"
    if options.verify:
        outcome.phases["verify"] = verify(options.program, outcome)
    if options.remove and not outcome.is_object:  # objects have no undo record: their compiler makes them again
        outcome.phases["remove"] = remove(options.program, outcome)
    if options.elflint:
        outcome.phases["elflint"] = elflint.new_complaints(path, output)
    return outcome
