// Changes one instruction of a function that changes SP or saves or restores a register. The checker judges the claims
// that were made before, and those that the engine makes of the changed function.
//
//     code-mutate FILE COUNT
//
// COUNT: at most so many functions, each with one change; those of large files are spread over the file. Prints a row
// of a table for the file: what became of the changes. Before it, each change that the engine does not notice: it
// claims what the checker objects to. Exit status 1 if there is one, or if the checker objects to claims about the file
// as it is.

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cfi/frame_source.hpp"
#include "rows/proof/checker/checker.hpp"
#include "rows/proof/checker/steps.hpp"
#include "rows/proof/file_proof.hpp"
#include "rows/proof/function.hpp"
#include "rows/proof/prove_program.hpp"
#include "rows/proof/state_rules.hpp"
#include "support/text.hpp"

namespace {

using namespace sframe_gen;
using namespace checker;
using namespace std::string_view_literals;

struct Change {
  std::uint64_t pc = 0;
  std::vector<std::byte> bytes;  ///< as many as before
  const char* name = "";
};

/// One instruction of so many bytes that does nothing (Intel SDM, volume 2: NOP).
std::vector<std::byte> nothing(std::size_t size) {
  static constexpr std::array<std::string_view, 8> forms{{"\x90"sv, "\x66\x90"sv, "\x0f\x1f\0"sv, "\x0f\x1f\x40\0"sv,
                                                          "\x0f\x1f\x44\0\0"sv, "\x66\x0f\x1f\x44\0\0"sv,
                                                          "\x0f\x1f\x80\0\0\0\0"sv, "\x0f\x1f\x84\0\0\0\0\0"sv}};
  std::vector<std::byte> bytes;
  for (const char byte : forms.at(size - 1)) bytes.push_back(static_cast<std::byte>(byte));
  return bytes;
}

/// The changes of one instruction.
class Changes {
 public:
  Changes(std::uint64_t pc, std::span<const std::byte> bytes, std::vector<Change>& changes)
      : pc_(pc), bytes_(bytes.begin(), bytes.end()), changes_(changes) {}

  void add_all(const Capstone& code) {
    const auto operands = code.operands();
    const auto first = operands.empty() ? no_register : code.whole_register(operands[0], 8);
    const auto last = bytes_.size() - 1;
    const bool has_number = operands.size() == 2 && operands[1].type == X86_OP_IMM;
    if ((code.id() == X86_INS_PUSH || code.id() == X86_INS_POP) && first != no_register && bytes_.size() <= 2) {
      add(code.id() == X86_INS_PUSH ? "push to pop" : "pop to push", last, 0x08);
      add(code.id() == X86_INS_PUSH ? "push of another register" : "pop of another register", last, 0x01);
      remove(code.id() == X86_INS_PUSH ? "push removed" : "pop removed");
    } else if ((code.id() == X86_INS_SUB || code.id() == X86_INS_ADD) && first == rsp && has_number) {
      constexpr std::size_t number = 3;
      add("another number", number, 0x08);
      add("another number", number, 0x10);
      add("add to sub, or back", 2, 0x28);
      remove("add or sub removed");
    } else if (code.id() == X86_INS_LEA && first == rsp && bytes_.size() == 4) {
      add("another distance", last, 0x08);
      remove("lea removed");
    } else if (code.id() == X86_INS_LEAVE) {
      add("leave to pop", 0, 0xc9 ^ 0x5d);
      remove("leave removed");
    } else if (code.id() == X86_INS_MOV && bytes_.size() == 3 && operands[0].type == X86_OP_REG &&
               (first == rsp || (first == rbp && code.whole_register(operands[1], 8) == rsp))) {
      remove("mov to SP or FP removed");
    } else if (code.id() == X86_INS_AND && first == rsp) {
      remove("and removed");
    }
  }

 private:
  void add(const char* name, std::size_t at, unsigned flipped) {
    auto bytes = bytes_;
    bytes[at] ^= std::byte(flipped);
    changes_.push_back({pc_, std::move(bytes), name});
  }
  void remove(const char* name) { changes_.push_back({pc_, nothing(bytes_.size()), name}); }

  std::uint64_t pc_;
  std::vector<std::byte> bytes_;
  std::vector<Change>& changes_;
};

/// The rule for each PC of a function that has one.
using Rows = std::map<std::uint64_t, cfi::Rules>;

/// What the engine makes of a function.
struct Proved {
  Function claims;
  Rows rows;
};

/// A file in memory, whose bytes may be changed.
class Mutated {
 public:
  explicit Mutated(const std::string& path)
      : original_(elf::Image::open(path)),
        bytes_(original_.file_bytes().begin(), original_.file_bytes().end()),
        image_(elf::Image::of_bytes(bytes_, path)),
        decoder_(path),
        functions_(functions_of_cfi(image_, rules_)),
        program_(image_, decoder_, functions_, rules_),
        checker_(image_) {
    prove_program(program_, {});
  }

  /// Those that are proved, in an order of their own.
  std::vector<rows::proof::FunctionProof> shuffled() const {
    std::vector<rows::proof::FunctionProof> proved;
    std::ranges::copy_if(program_.functions(), std::back_inserter(proved),
                         [](const auto& function) { return function.refusal == rows::proof::Refusal::None; });
    std::mt19937_64 random(proved.size());  // the same each time
    std::ranges::shuffle(proved, random);
    return proved;
  }

  /// Proves it again, with what is known of its callees.
  std::optional<Proved> prove(const rows::proof::FunctionProof& proof) {
    Proved proved;
    const auto last = visit_steps(program_, proof, [&](const rows::proof::Step& step, const rows::proof::State& state) {
      if (const auto rules = rows::proof::rules_of(state)) proved.rows.emplace(step.pc, *rules);
    });
    if (!last.has_return && !last.has_indirect_tail && last.tails.empty()) return std::nullopt;
    auto claims = claims_of(program_, proof);
    if (!claims) return std::nullopt;
    proved.claims = std::move(*claims);
    return proved;
  }

  std::vector<Change> changes_of(const Function& function) {
    std::vector<Change> changes;
    for (const Step& step : function.steps) {
      if (!capstone_.read(code_at(step.pc), step.pc)) continue;
      Changes(step.pc, code_at(step.pc).first(capstone_.size()), changes).add_all(capstone_);
    }
    return changes;
  }

  bool objects_to(const Function& function) {
    const auto before = checker_.faults().size();
    checker_.check(function);
    return checker_.faults().size() != before;
  }

  /// Changes the bytes, and returns what was there.
  Change change(const Change& change) {
    const auto place = bytes_.begin() + static_cast<std::ptrdiff_t>(elf::offset_of(image_, code_at(change.pc)));
    Change before{change.pc, {place, place + static_cast<std::ptrdiff_t>(change.bytes.size())}, change.name};
    std::ranges::copy(change.bytes, place);
    return before;
  }
  std::string text_at(std::uint64_t pc) {
    return capstone_.read(code_at(pc), pc) ? capstone_.text() : std::string("?");
  }

 private:
  static std::vector<cfi::Function> functions_of_cfi(const elf::Image& image, cfi::RuleTable& rules) {
    return rows::proof::described_functions(cfi::FrameSource(image, image), rules);
  }

  std::span<const std::byte> code_at(std::uint64_t pc) const {
    const auto bytes = elf::loaded_bytes_from(image_, pc);
    return bytes.first(std::min<std::uint64_t>({bytes.size(), image_.code_left(pc), 15}));
  }

  elf::Image original_;
  std::vector<std::byte> bytes_;
  elf::Image image_;
  rows::proof::Decoder decoder_;
  cfi::RuleTable rules_;
  std::vector<cfi::Function> functions_;
  rows::proof::Program program_;
  Checker checker_;
  Capstone capstone_;
};

/// What became of the changes of a file.
struct Outcomes {
  std::size_t changed = 0;
  /// Of those whose old claims the checker objects to, and of the others: what the engine makes of the changed
  /// function.
  struct Engine {
    std::size_t refused = 0, other_rows = 0, same_rows = 0;
  } objected, not_objected;
  std::size_t not_noticed = 0;  ///< the engine makes claims to which the checker objects
  std::size_t wrong = 0;        ///< the checker objects to the claims before a change
};

int mutate(const std::string& path, std::size_t most) {
  Mutated file(path);
  std::mt19937_64 random(most);  // the same changes each time
  Outcomes outcomes;
  for (const rows::proof::FunctionProof& function : file.shuffled()) {
    if (outcomes.changed == most) break;
    const auto before = file.prove(function);
    if (!before) continue;
    const std::vector<Change> changes = file.changes_of(before->claims);
    if (changes.empty()) continue;
    if (file.objects_to(before->claims)) {
      ++outcomes.wrong;
      continue;
    }
    const Change& change = changes[random() % changes.size()];
    ++outcomes.changed;
    const std::string text = file.text_at(change.pc);
    const Change back = file.change(change);
    Outcomes::Engine& engine = file.objects_to(before->claims) ? outcomes.objected : outcomes.not_objected;
    if (const auto after = file.prove(function); !after) {
      ++engine.refused;
    } else if (file.objects_to(after->claims)) {
      ++outcomes.not_noticed;
      std::cout << "not noticed: function " << hex(function.start) << ", " << hex(change.pc) << ": " << change.name
                << ": " << text << " -> " << file.text_at(change.pc) << '\n';
    } else {
      ++(after->rows == before->rows ? engine.same_rows : engine.other_rows);
    }
    file.change(back);
  }
  std::cout << "| " << path << " | " << outcomes.changed;
  for (const auto& engine : {outcomes.objected, outcomes.not_objected})
    std::cout << " | " << engine.refused << " | " << engine.other_rows << " | " << engine.same_rows;
  std::cout << " | " << outcomes.not_noticed << " | " << outcomes.wrong << " |\n";
  return outcomes.not_noticed + outcomes.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  try {
    return mutate(arguments[1], std::stoul(arguments[2]));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
