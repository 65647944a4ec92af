// Changes one instruction of a function that changes SP or saves or restores a register, and lets the checker judge the
// claims that were made before.
//
//     code-mutate FILE COUNT <LISTING
//
// COUNT: at most so many functions, each with one change; those of large files are spread over the file. Prints each
// change that the checker does not object to, with what it has changed, and a summary. Exit status 1 if the checker
// objects to claims about the file as it is.

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "code/checker/checker.hpp"
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

/// A file in memory, whose bytes may be changed.
class Mutated {
 public:
  explicit Mutated(const std::string& path)
      : original_(elf::Image::open(path)),
        bytes_(original_.file_bytes().begin(), original_.file_bytes().end()),
        image_(elf::Image::of_bytes(bytes_, path)),
        checker_(image_) {}

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

  bool objects_after(const Change& change, const Function& function) {
    const auto place = bytes_.begin() + static_cast<std::ptrdiff_t>(elf::offset_of(image_, code_at(change.pc)));
    std::vector<std::byte> kept(place, place + static_cast<std::ptrdiff_t>(change.bytes.size()));
    text_ = text_at(change.pc);
    std::ranges::copy(change.bytes, place);
    text_ += " -> " + text_at(change.pc);
    const bool objects = objects_to(function);
    std::ranges::copy(kept, place);
    return objects;
  }
  /// Of the last change.
  const std::string& text() const { return text_; }

 private:
  std::span<const std::byte> code_at(std::uint64_t pc) const {
    const auto bytes = elf::loaded_bytes_from(image_, pc);
    return bytes.first(std::min<std::uint64_t>({bytes.size(), image_.code_left(pc), 15}));
  }
  std::string text_at(std::uint64_t pc) {
    return capstone_.read(code_at(pc), pc) ? capstone_.text() : std::string("?");
  }

  elf::Image original_;
  std::vector<std::byte> bytes_;
  elf::Image image_;
  Checker checker_;
  Capstone capstone_;
  std::string text_;
};

int mutate(const std::string& path, std::size_t most) {
  std::vector<Function> functions;
  Function function;
  for (std::string header; read_function(std::cin, header, function);) functions.push_back(std::move(function));
  Mutated file(path);
  std::mt19937_64 random(functions.size());  // the same changes each time
  std::ranges::shuffle(functions, random);
  std::size_t changed = 0, objected = 0, wrong = 0;
  for (const Function& claimed : functions) {
    if (changed == most) break;
    const std::vector<Change> changes = file.changes_of(claimed);
    if (changes.empty()) continue;
    if (file.objects_to(claimed)) {
      ++wrong;
      continue;
    }
    const Change& change = changes[random() % changes.size()];
    ++changed;
    if (file.objects_after(change, claimed)) {
      ++objected;
    } else {
      std::cout << "not objected to: function " << hex(claimed.start) << ", " << hex(change.pc) << ": " << change.name
                << ": " << file.text() << '\n';
    }
  }
  std::cout << path << ": " << changed << " functions changed, " << objected << " objected to, " << changed - objected
            << " not; " << wrong << " objected to as they are\n";
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  try {
    std::ios::sync_with_stdio(false);
    return mutate(arguments[1], std::stoul(arguments[2]));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
