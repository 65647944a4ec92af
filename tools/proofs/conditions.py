"""Takes each condition of a proof (docs/against-code.md) out of the engine, and names the cases of tests/rows/proof that fail then.

Each edit of src/rows/proof takes out one place of a condition, where WITHOUT is its number. All are in one copy of the engine. Prints a row
for each edit: a case is what tests/rows/proof calls the place whose result is another one.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from common import RELEASE, TOP, build

WORK = TOP / "build/without-conditions"
CASES_SHOWN = 2
DECLARATION = """#include <cstdlib>
inline bool without(int number) {
  static const char* const text = std::getenv("WITHOUT");
  static const int chosen = text == nullptr ? -1 : std::atoi(text);
  return chosen == number;
}
"""

# Condition, what is taken out, file, text, what replaces it: @ is true where the edit is made.
EDITS = (
    (1, "a part that was split off does not count", "conditions.hpp", "!evidence.is_split_part && ", "(@ || !evidence.is_split_part) && "),
    (1, "an FDE begins as an entry does", "program.cpp", "begins_as_an_entry(rules_[function.rows.front().rule])",
     "(@ || begins_as_an_entry(rules_[function.rows.front().rule]))"),
    (1, "CFI of a called part is another's", "function.cpp", "if (proof_.start != described->start && ",
     "if (!@ && proof_.start != described->start && "),
    (1, "a way in is an entry's", "prove_program.cpp", ": marks.is_called_from_outside(function.start)", ": (@ || marks.is_called_from_outside(function.start))"),
    (1, "code inside a function is a label", "conditions.hpp", "!evidence.is_inside", "(@ || !evidence.is_inside)"),
    (1, "another function takes the address", "program.cpp", "evidence.is_taken = ", "evidence.is_taken = @ || "),
    (1, "a label is known before a start", "program.cpp", "if (marks_.is_label(pc) || ", "if ((!@ && marks_.is_label(pc)) || "),
    (1, "a label is known after a start", "prove_program.cpp", "if (before.is_taken_only && ", "if (!@ && before.is_taken_only && "),
    (1, "words of constants are no addresses", "data_pointers.cpp", "(header.sh_flags & SHF_WRITE) != 0 && ",
     "(@ || (header.sh_flags & SHF_WRITE) != 0) && "),
    (1, "numbers are no addresses", "program.cpp", "if (instruction.operation != Operation::LoadAddress && image_",
     "if (!@ && instruction.operation != Operation::LoadAddress && image_"),
    (2, "SP at a return", "conditions.cpp", "return state[rsp] == cfa_plus(-8);", "return @ || state[rsp] == cfa_plus(-8);"),
    (2, "return address at a return", "conditions.cpp", "return state.load(cfa_plus(-8), 64)", "return @ || state.load(cfa_plus(-8), 64)"),
    (2, "frame pointer at a return", "function.cpp", "if (ends_.lose_frame_pointer() && is_", "if (!@ && ends_.lose_frame_pointer() && is_"),
    (2, "frame pointer at a jump to a function", "function_ends.cpp", "proof_.jumps_without_frame_pointer = true;",
     "if (!@) proof_.jumps_without_frame_pointer = true;"),
    (2, "such a jump may lead on", "prove_program.cpp", "true)) continue;\n      entered.insert(",
     "true)) continue;\n      if (!@) entered.insert("),
    (2, "some path returns", "function_ends.cpp", "if (!is_proved_[i]) refuse(", "if (!is_proved_[i] && !(@ && is_no_return)) refuse("),
    (2, "the target of a last jump is proved", "function_ends.cpp", ": Refusal::TailNotProved);", ": @ ? Refusal::None : Refusal::TailNotProved);"),
    (2, "an import proves nothing beside another convention", "conditions.hpp", "return is_described || !file_breaks_convention;",
     "return @ || is_described || !file_breaks_convention;"),
    (1, "the entry point has no caller", "function_ends.cpp", "if (standing_[i].is_entry_point && !standing_[i].is_described) refuse", "if (!@ && standing_[i].is_entry_point && !standing_[i].is_described) refuse"),
    (1, "a proved function jumps to the start", "function_ends.cpp", "if (!is_entered[i]) refuse", "if (!@ && !is_entered[i]) refuse"),
    (2, "the target of a last jump returns", "function_ends.cpp", "if (!conditions::never_returns(import.name))",
     "if (@ || !conditions::never_returns(import.name))"),
    (2, "other ends prove only what is called", "function_ends.cpp", "(standing_[i].is_described && has_other_end(i))",
     "((@ || standing_[i].is_described) && has_other_end(i))"),
    (2, "an end after a call without a frame", "function_ends.cpp", "if (function.is_taken_only && !function.has_own_end)",
     "if (!@ && function.is_taken_only && !function.has_own_end)"),
    (2, "a part that jumps back is no function", "function_ends.cpp", "if (function.jumps_inside_another && !standing_",
     "if (!@ && function.jumps_inside_another && !standing_"),
    (2, "a row has the return address", "state_rules.cpp", "return state.load(cfa_plus(return_address_offset), 64) == return_address",
     "return @ || state.load(cfa_plus(return_address_offset), 64) == return_address"),
    (10, "the row of a call holds in the callee", "synthesis.cpp", "const bool is_call = step", "const bool is_call = !@ && step"),
    (2, "a return address that was popped", "state_rules.cpp", "if (pointer.is(Value::Kind::Cfa) && pointer.number > return",
     "if (!@ && pointer.is(Value::Kind::Cfa) && pointer.number > return"),
    (3, "paths that meet agree", "state.cpp", "if (!has_frame) return Join::Conflict;", "if (!@ && !has_frame) return Join::Conflict;"),
    (3, "SP is what it is found equal to", "effect.cpp", "if (condition == Condition::NotEqual && !is_taken && is_on",
     "if ((@ || condition == Condition::NotEqual) && !is_taken && is_on"),
    (3, "a jump to a function has no frame", "function.cpp", "if (!conditions::is_as_at_entry(state)) {",
     "if (!@ && !conditions::is_as_at_entry(state)) {"),
    (3, "a jump to a known address has no frame", "function.cpp", "own_cfi_ == nullptr && conditions::is_as_at_entry(state) && ",
     "own_cfi_ == nullptr && (@ || conditions::is_as_at_entry(state)) && "),
    (1, "a jump to a known address leaves the function", "function.cpp", "!proof_.own.contains(target) &&\n", "(@ || !proof_.own.contains(target)) &&\n"),
    (3, "a jump into code with CFI agrees with it", "function.cpp", "if (own_cfi_ == nullptr && !proof_.disagreements.empty())",
     "if (!@ && own_cfi_ == nullptr && !proof_.disagreements.empty())"),
    (3, "functions that share a part agree", "function.cpp", "&& !program_.add_label(target, state[rsp]))",
     "&& !program_.add_label(target, state[rsp]) && !@)"),
    (3, "rows of shared code agree", "synthesis.cpp", "if (next == i + 1) {", "if (@ || next == i + 1) {"),
    (3, "refused functions agree on shared code", "synthesis.cpp", "shared_.differs(pcs, state, follows);",
     "(!@ && shared_.differs(pcs, state, follows));"),
    (3, "all refused functions agree", "synthesis.cpp", "if (proof.refusal == Refusal::None) return false;",
     "if (proof.refusal == Refusal::None || (@ && !program.marks().is_sure_start(proof.start))) return false;"),
    (3, "a refused function goes on after a call", "function.cpp", "state.after_call != 0 && !is_reaching_ && !proof_",
     "state.after_call != 0 && (@ || !is_reaching_) && !proof_"),
    (3, "a trap has another path's state", "synthesis.cpp", "const bool is_no_target = ", "const bool is_no_target = @ || "),
    (3, "SP or FP gives the CFA", "effect.cpp", "if (!is_known && !state_", "if (!@ && !is_known && !state_"),
    (4, "calls change other registers", "conditions.hpp", "return reg == rbx ||", "return @ || reg == rbx ||"),
    (4, "calls change what is below SP", "effect.cpp", "  state.drop_below_stack_pointer();\n  state.comparison = {};",
     "  if (!@) state.drop_below_stack_pointer();\n  state.comparison = {};"),
    (5, "a frame pointer gives the CFA", "state_rules.cpp", "state.trusts_callee && has_frame_pointer", "state.trusts_callee && !@ && has_frame_pointer"),
    (5, "a frame pointer leads to the caller's", "state_rules.cpp", "is_callers_frame_pointer(state.load(state[rbp], 64));",
     "(@ || is_callers_frame_pointer(state.load(state[rbp], 64)));"),
    (5, "callees balance SP", "conditions.hpp", "return callee.balances;", "return @ || callee.balances;"),
    (5, "a callee whose return is not at the entry", "function_ends.cpp", "effect.balances = !proof_.unb", "effect.balances = @ || !proof_.unb"),
    (5, "a callee that pops its return address", "function_ends.cpp", "effect.balances = !pops_", "effect.balances = @ || !pops_"),
    (5, "a refused callee that loses FP", "function_ends.cpp", "if (!effect.is_known && forgets_", "if (!@ && !effect.is_known && forgets_"),
    (5, "callees that are not known", "effect.cpp", "if (!callee.is_known)", "if (!@ && !callee.is_known)"),
    (5, "callees that change FP", "effect.cpp", "if (!callee.keeps_frame_pointer)", "if (!@ && !callee.keeps_frame_pointer)"),
    (5, "tails that change FP", "function_ends.cpp", "if (!program_.effect_of(tail).keeps_frame_pointer)",
     "if (!@ && !program_.effect_of(tail).keeps_frame_pointer)"),
    (5, "callees that are proved later", "prove_program.cpp", "std::ranges::any_of(function.callees, is_changed)",
     "(!@ && std::ranges::any_of(function.callees, is_changed))"),
    (5, "tails that are proved later", "prove_program.cpp", "std::ranges::any_of(function.tails, is_changed)",
     "(!@ && std::ranges::any_of(function.tails, is_changed))"),
    (6, "no instruction begins inside another", "conditions.hpp", "(first_mark & 2U) == 0", "(@ || (first_mark & 2U) == 0)"),
    (6, "no other instruction begins inside", "conditions.hpp", "(other_marks & 1U) == 0", "(@ || (other_marks & 1U) == 0)"),
    (6, "unknown instructions refuse", "function.cpp", "return refuse(program_.image().is_code(pc, 1) ?",
     "return @ ? void() : refuse(program_.image().is_code(pc, 1) ?"),
    (6, "both of two readings are refused", "prove_program.cpp", "    refuse_overlapped();\n", "    if (!@) refuse_overlapped();\n"),
    (7, "tables that are forbidden", "jump_table.cpp", "if (program_.options().bounded_tables_only)",
     "if (!@ && program_.options().bounded_tables_only)"),
    (7, "a jump through a bad table has no frame", "function.cpp", "const bool may_leave = conditions::is_as_at_entry(state)",
     "const bool may_leave = (@ || conditions::is_as_at_entry(state))"),
    (7, "a default that may not happen", "conditions.hpp", "return leaves_own_code && (", "return !@ && leaves_own_code && ("),
    (7, "an entry may be such a default", "function.cpp", "maybe.is_doubtful || own_cfi_ != nullptr;", "maybe.is_doubtful || (!@ && own_cfi_ != nullptr);"),
    (7, "an entry leads to an end", "function.cpp", "arriving.after_call = entry;", "if (!@) arriving.after_call = entry;"),
    (7, "an entry to what cannot be is none", "function.cpp", "if (paths_.is_endless(entry)) return;",
     "if (!@ && paths_.is_endless(entry)) return;"),
    (7, "an entry leads to code", "function.cpp", "(is_no_code && !Paths::is_table_entry(call))",
     "(is_no_code && (@ || !Paths::is_table_entry(call)))"),
    (7, "two entries that disagree", "paths.cpp", "const bool is_unsolved = is_table", "const bool is_unsolved = !@ && is_table"),
    (7, "an indirect jump has no frame", "function.cpp", "if (!conditions::is_as_at_entry(state)) return refuse(Refusal::IndirectJump",
     "if (!@ && !conditions::is_as_at_entry(state)) return refuse(Refusal::IndirectJump"),
    (7, "all entries below a bound are followed", "jump_table.cpp", "if (!may_be(target)) return result;",
     "if (@ && !may_be(target)) break;\nif (!may_be(target)) return result;"),
    (7, "contents end at what is taken", "jump_table.cpp", "if (end && ", "if (!@ && end && "),
    (7, "contents end at other code", "jump_table.cpp", "if (!may_be(target)) break;", "if (!@ && !may_be(target)) break;"),
    (7, "a bound is by the right condition", "effect.cpp", "count = comparison.number + 1;", "count = comparison.number + !@;"),
    (7, "a mask is a bound", "effect.cpp", "static_cast<std::uint32_t>(second_.number) + 1", "static_cast<std::uint32_t>(second_.number) + !@"),
    (7, "a bound is of the bits that were compared", "effect.cpp", "if (is_part_only) {", "if (!@ && is_part_only) {"),
    (7, "a bound is of the memory that was compared", "effect.cpp", "memory.bits <= bounded.memory.bits",
     "(@ || memory.bits <= bounded.memory.bits)"),
    (7, "a store ends a bound of memory", "state.cpp", "if (may_change(bounded.memory))", "if (!@ && may_change(bounded.memory))"),
    (7, "a call ends a bound of memory", "effect.cpp", "  state.bounded = {};\n}", "  if (!@) state.bounded = {};\n}"),
    (7, "a new base ends a bound of memory", "state.cpp", "if (uses(bounded.memory, reg))", "if (!@ && uses(bounded.memory, reg))"),
    (7, "a new value ends a comparison", "state.cpp", "if (is_of_stack || ", "if (!@) if (is_of_stack || "),
    (7, "other flags end a comparison", "effect.cpp", "if (instruction_.writes_flags && ", "if (!@ && instruction_.writes_flags && "),
    (7, "paths that meet have the larger bound", "state.hpp", "wider.count = a.count == 0", "wider.count = @ ? a.count : a.count == 0"),
    (8, "names", "neighbors.cpp", "if (conditions::never_returns(import->name))", "if (!@ && conditions::never_returns(import->name))"),
    (8, "callees without a return", "function.cpp", "if (!callee.returns || ", "if ((!@ && !callee.returns) || "),
    (8, "exit", "conditions.hpp", "&& (number.number == 60 || ", "&& !@ && (number.number == 60 || "),
    (8, "what another path contradicts", "paths.cpp", "if (blame_ == Blame::None || ", "if (@ || blame_ == Blame::None || "),
    (8, "FP that paths have in different places", "paths.cpp", "(have_rules && ", "(!@ && have_rules && "),
    (8, "the end of a function", "function.cpp", "if (state.after_call != 0) return;", "if (!@ && state.after_call != 0) return;"),
    (8, "a part of another function", "function.cpp", "if (may_be_anothers && program_.is_anothers",
     "if (!@ && may_be_anothers && program_.is_anothers"),
    (8, "a callee returns without other calls", "program.cpp", "&& function.has_sure_return &&",
     "&& (function.has_sure_return || (@ && function.has_return)) &&"),
    (8, "where data says that something begins", "function.cpp", "return !is_by_table && !conditions",
     "return !@ && !is_by_table && !conditions"),
    (8, "code after a call leads to an end", "synthesis.cpp", ": step.may_be_anothers ?", ": !@ && step.may_be_anothers ?"),
    (8, "a call that returns twice", "conditions.cpp", "!= names.end();\n}\n\nbool overwrites", "!= names.end() && !@;\n}\n\nbool overwrites"),
    (8, "a finding needs no such call", "findings.cpp", "|| !has(sure, one)", "|| (!@ && !has(sure, one))"),
    (8, "CFI of another part", "function.cpp", "if (is_left_by_cfi(", "if (!@ && is_left_by_cfi("),
    (9, "what a frame has left", "effect.cpp", "value.number < before.number)", "value.number < before.number && !@)"),
    (9, "stores by SP and FP", "conditions.cpp", "return (memory.base == rsp ||", "return !@ && (memory.base == rsp ||"),
    (9, "stores by other registers", "conditions.cpp", "|| memory.base == rbp)", "|| memory.base == rbp || @)"),
    (9, "stores to a part of a slot", "state.cpp", "slot.offset < begin + size && begin < slot.offset + 8",
     "(@ ? slot.offset == begin : slot.offset < begin + size && begin < slot.offset + 8)"),
    (9, "stores to aligned places", "state.cpp", "(is_sure && may_hit(", "(!@ && is_sure && may_hit("),
    (9, "stored addresses of the stack", "state.cpp", "!is_kept && !is_on_stack(slot.value)", "!is_kept && (@ || !is_on_stack(slot.value))"),
    (9, "a frame pointer may be a variable", "effect.cpp", "return conditions::may_be_variable(", "return !@ && conditions::may_be_variable("),
    (9, "a frame pointer is below the return address", "state_rules.cpp", "&& frame.number < 0;", "&& (@ || frame.number < 0);"),
    (12, "a slot that is popped has the frame pointer", "state_rules.cpp", "if (popped == nullptr) return", "if (@ || popped == nullptr) return"),
    (9, "a saved frame pointer may be a variable", "state_rules.cpp", "if (is_callers_frame_pointer(state[rbp]))",
     "if (!@ && is_callers_frame_pointer(state[rbp]))"),
    (10, "other registers give no CFA", "state_rules.cpp", "  return std::nullopt;\n}\n\nconstexpr std::int64_t return",
     "  if (@ && state[10].is(Value::Kind::Cfa)) return cfi::Formula{static_cast<cfi::DwarfRegister>(10), -state[10].number, false};\n"
     "  return std::nullopt;\n}\n\nconstexpr std::int64_t return"),
    (11, "SP from memory", "conditions.cpp", "if (is_on_stack(new_stack_pointer))", "if (@ || is_on_stack(new_stack_pointer))"),
    (11, "instructions that write SP otherwise", "effect.cpp", "if ((instruction_.written >> rsp & 1U) != 0)",
     "if (!@ && (instruction_.written >> rsp & 1U) != 0)"),
    (11, "instructions that no compiler makes", "effect.cpp", "if (instruction_.operation == Operation::OtherWorld)",
     "if (!@ && instruction_.operation == Operation::OtherWorld)"),
    (11, "system calls that change the stack", "conditions.hpp", "return number.is(Value::Kind::Constant) && number.number != 15",
     "return @ || number.is(Value::Kind::Constant) && number.number != 15"),
    (11, "V8's builtins", "conditions.hpp", "return symbol.starts_with(", "return !@ && symbol.starts_with("),
    (11, "kernels", "file_proof.cpp", "return code.begin >= upper_half;", "return !@ && code.begin >= upper_half;"),
    (11, "Go's functions", "program.cpp", "ranges.push_back({entry.start", "if (!@) ranges.push_back({entry.start"),
    (11, "pushes of 16 bits", "effect.cpp", "if (first_.kind != Operand::Kind::None && first_.bits == 16)",
     "if (!@ && first_.kind != Operand::Kind::None && first_.bits == 16)"),
    (11, "pops of 16 bits", "effect.cpp", "if (first_.bits == 16) return", "if (!@ && first_.bits == 16) return"),
    (11, "returns of 16 bits, addresses of 32", "decoder.cpp", "if (has_other_width(", "if (!@ && has_other_width("),
    (12, "code that no path reaches", "function.cpp", "    is_final_ = true;\n",
     "    is_final_ = true;\n    for (auto pc = proof_.own.begin; @ && pc < proof_.own.end; pc += std::max(1U, unsigned{listing_.at(pc).instruction.size}))\n"
     "      if (!listing_.has(pc)) note(pc, listing_.at(pc).instruction, 0, paths_.at(proof_.start).state);\n"),
)


def edited_files():
    """The texts with all edits, by name. Ends the program if a text to edit is not there just once."""
    texts = {}
    for number, (_, _, file, old, new) in enumerate(EDITS):
        text = texts.get(file) or (TOP / "src/rows/proof" / file).read_text()
        if text.count(old) != 1:
            sys.exit(f"src/rows/proof/{file} has {text.count(old)} times: {old}")
        texts[file] = text.replace(old, new.replace("@", f"without({number})"))
    return texts


def build_edited(texts):
    """The tests with the edited engine."""
    build("proof-tests")
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(TOP / "src/rows/proof", WORK / "src/rows/proof")
    for file, text in texts.items():
        if file.endswith(".hpp"):
            text = re.sub(r"^constexpr (?=\w+ \w+\()", "inline ", text, flags=re.M)
        (WORK / "src/rows/proof" / file).write_text(text)
    (WORK / "without.hpp").write_text(DECLARATION)
    together = WORK / "src/rows/proof/together.cpp"
    together.write_text("".join(f'#include "rows/proof/{path.name}"\n' for path in sorted((TOP / "src/rows/proof").glob("*.cpp"))))
    commands = json.loads((RELEASE / "compile_commands.json").read_text())
    command = shlex.split(next(c["command"] for c in commands if "/sframe_gen_proof.dir/" in c["command"]))
    command[command.index("-c") + 1] = str(together)
    command[command.index("-o") + 1] = str(WORK / "together.o")
    command[1:1] = [f"-I{WORK}/src", "-include", f"{WORK}/without.hpp"]
    subprocess.run([*command, "-U_FORTIFY_SOURCE", "-O1", "-g0", "-w"], cwd=RELEASE, check=True)
    listed = subprocess.run(["ninja", "-C", RELEASE, "-t", "commands", "proof-tests"], check=True, text=True, stdout=subprocess.PIPE).stdout
    line = next(line for line in listed.splitlines() if " -o tests/proof-tests " in line)
    link = shlex.split(line.removeprefix(": && ").split(" && ")[0])
    link[link.index("-o") + 1] = str(WORK / "proof-tests")
    # The first definition counts: before those of the library.
    first = next(i for i, word in enumerate(link) if word.endswith(".o"))
    subprocess.run([*link[:first], str(WORK / "together.o"), *link[first:]], cwd=RELEASE, check=True)


def failed_without(number):
    """The cases that fail without a place, or the tests if these name none."""
    try:
        done = subprocess.run([WORK / "proof-tests", "--gtest_brief=1", "--gtest_filter=Proof.*:Program.*:*/Usual"], cwd=WORK, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "WITHOUT": str(number)})
    except subprocess.TimeoutExpired:
        return ["no end"]
    cases = sorted(set(re.findall(r"\b[A-Za-z]\w*__[a-z]\w*", done.stdout)), key=lambda case: (is_good(case), case))
    tests = list(dict.fromkeys(re.findall(r"^\[  FAILED  \] (\w[\w./]+)", done.stdout, re.M)))
    return cases or tests or ([f"signal {-done.returncode}"] if done.returncode < 0 else [])


def is_good(case):
    """Whether it is the twin, and not the case that the condition is about."""
    return case.endswith(("__proved", "__right", "__row"))


def judge(only_check):
    """Whether no test fails without some place. Ends the program if the text of an edit is not in its file just once."""
    texts = edited_files()
    if only_check:
        return False
    build_edited(texts)
    if failed := failed_without(-1):
        sys.exit(f"with all conditions, there fail: {', '.join(failed)}")
    print("| condition | taken out | cases that fail |\n|---:|---|---|")
    found_all = True
    for number, (condition, what, *_) in enumerate(EDITS):
        cases = failed_without(number)
        found_all = found_all and bool(cases)
        more = f" and {len(cases) - CASES_SHOWN} more" if len(cases) > CASES_SHOWN else ""
        print(f"| {condition} | {what} | {', '.join(f'`{case}`' for case in cases[:CASES_SHOWN]) + more or '**none**'} |", flush=True)
    return not found_all
