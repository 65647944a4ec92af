"""Adds up what became of all files, and prints it as tables of Markdown."""
import collections

from sweeping import one_file


class Totals:
    def __init__(self):
        self.counts = {kind: collections.Counter() for kind in ("linked", "objects")}
        self.reasons = collections.defaultdict(collections.Counter)
        self.refusals = collections.defaultdict(list)
        self.plans = collections.Counter()
        self.phases = collections.defaultdict(collections.Counter)
        self.answers = collections.defaultdict(list)
        self.problems = []

    def add(self, outcome):
        counts = self.counts["objects" if outcome.is_object else "linked"]
        counts["files"] += 1
        for phase, problem in outcome.phases.items():
            self.phases[phase]["failed" if problem else "passed"] += 1
            if problem:
                self.problems.append(f"{outcome.path}: {phase}: {problem}")
        if outcome.output is None:
            self.refusals[one_file.reason_of(outcome.report, outcome.path)].append(outcome.path)
        else:
            self.add_converted(counts, outcome.report, outcome.verified)

    def add_converted(self, counts, report, verified):
        counts["converted"] += 1
        for key in ("total", "whole", "in_part", "left_out"):
            counts["functions " + key.replace("_", " ")] += report["functions"][key]
        counts["bytes described"] += report["bytes"]["described"]
        counts["bytes covered"] += report["bytes"]["covered"]
        code = report["code"]
        counts["bytes of code, without padding"] += code["bytes"] - code["padding"]
        counts["bytes of code that no FDE describes"] += code["without_cfi"]
        counts["bytes of code without a row"] += code["without_row"]
        counts["rows"] += report["section"]["rows"]
        counts[".sframe bytes"] += report["section"]["size"]
        for key in ("default", "flexible", "repeating"):
            counts[key + " FDEs"] += report["section"][key + "_descriptors"]
        for key, value in report["dropped_fdes"].items():
            if key != "first_unreadable":  # which names some
                counts["dropped FDEs: " + key.replace("_", " ")] += value
        for value in report["reasons"].values():
            self.reasons[value["meaning"]]["functions"] += value["functions"]
            self.reasons[value["meaning"]]["bytes"] += value["bytes"]
        rewrite = report["rewrite"]
        if "section_plan" in rewrite:  # objects have neither segments nor a first page
            self.plans[rewrite["section_plan"] + "+" + rewrite["table_plan"]] += 1
            counts["build-id left the first page"] += rewrite["build_id_left_first_page"]
        counts["PCs checked"] += verified.get("checked_pcs", 0)
        counts["wrong rows"] += verified.get("difference_count", 0)

    def add_answer(self, path, kind, problem):
        self.answers[kind].append(path)
        if problem:
            self.problems.append(f"{path}: answers: {problem}")
        if problem or not kind.startswith("not "):  # neither run nor comparable is neither passed nor failed
            self.phases["answers"]["failed" if problem else "passed"] += 1

    def converted(self):
        return sum(counts["converted"] for counts in self.counts.values())

    def count_rows(self):
        keys = dict.fromkeys(key for counts in self.counts.values() for key in counts)
        return [(key, *(counts[key] for counts in self.counts.values())) for key in keys]

    def markdown(self):
        lines = table(["what", *self.counts], self.count_rows())
        lines += table(["left out because", "functions", "bytes"],
                       [(key, value["functions"], value["bytes"]) for key, value in sorted(self.reasons.items())])
        lines += table(["plan", "files"], sorted(self.plans.items()))
        lines += table(["refused because", "files", "for example"],
                       [(key, len(value), value[0]) for key, value in sorted(self.refusals.items())])
        lines += table(["phase", "files passed", "failed"],
                       [(key, value["passed"], value["failed"]) for key, value in self.phases.items()])
        if self.answers:
            lines += table(["programs asked for --version or --help", "files", "for example"],
                           [(key, len(value), value[0]) for key, value in sorted(self.answers.items())])
        return "\n".join(lines[:-1]) + "\n"


def table(head, rows):
    """Words to the left, numbers to the right, an empty line behind."""
    rows = list(rows)
    right = [bool(rows) and all(isinstance(row[column], int) for row in rows) for column in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---:" if numbers else "---" for numbers in right) + "|"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def replace_between_marks(path, tool, text):
    """Puts a tool's tables into a document, in place of those that it has."""
    begin, end = f"<!-- {tool} -->\n", f"<!-- end of {tool} -->\n"
    with open(path) as file:
        before, found, rest = file.read().partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise SystemExit(f"{path} has no lines '{begin.strip()}' and '{end.strip()}'")
    with open(path, "w") as file:
        file.write(before + begin + text + end + after)
