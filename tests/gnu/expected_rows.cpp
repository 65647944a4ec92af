// What our lookup says of a file's PCs, for GNU's libsframe to be held against.
//
//     expected-rows FILE SECTION
//
// Writes the bytes of .sframe to SECTION, and for the edges of every row and function one line to standard output:
//
//     PC none                    PC counts from the section's start, as libsframe wants it
//     PC undefined
//     PC TYPE CFA RA FP [KEY]    TYPE: default, flexible or mask; a rule: BASE OFFSET DEREFERENCED
//
// BASE is a register's number or -1 for the CFA; "- 0 0" stands for no rule; KEY is signed-a or signed-b where the
// return address is signed.

#include <fstream>
#include <iostream>
#include <set>

#include "elf/image.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"

namespace {

using namespace sframe_gen;

void write_rule(const std::optional<sframe::Rule>& rule) {
  if (!rule) {
    std::cout << " - 0 0";
    return;
  }
  std::cout << ' ' << (rule->base_register ? std::int64_t{*rule->base_register} : -1) << ' ' << rule->offset << ' '
            << rule->dereferenced;
}

const char* type_name(const sframe::Fde& function) {
  if (function.pc_type == sframe::PcType::Mask) return "mask";
  return function.type == sframe::FdeType::Flexible ? "flexible" : "default";
}

void write_pc(const sframe::Section& section, std::uint64_t pc) {
  std::cout << static_cast<std::int64_t>(pc - section.address);
  const sframe::Fde* const function = sframe::find_fde(section, pc);
  const sframe::Fre* const row = function != nullptr ? sframe::find_fre(*function, pc - function->start) : nullptr;
  if (row == nullptr) {
    std::cout << " none\n";
  } else if (!row->recovery) {
    std::cout << " undefined\n";
  } else {
    std::cout << ' ' << type_name(*function);
    write_rule(row->recovery->cfa);
    write_rule(row->recovery->return_address);
    write_rule(row->recovery->frame_pointer);
    if (row->recovery->mangled_ra) std::cout << (function->b_key ? " signed-b" : " signed-a");
    std::cout << '\n';
  }
}

/// First and last PC of every row and function, and the PCs beside them.
std::set<std::uint64_t> pcs_of(const sframe::Section& section) {
  std::set<std::uint64_t> pcs;
  for (const sframe::Fde& function : section.fdes) {
    pcs.insert({function.start - 1, function.start, function.start + function.size});
    sframe::for_each_interval(function, [&](std::uint64_t begin, std::uint64_t end, const sframe::Fre&) {
      pcs.insert({function.start + begin, function.start + end - 1});
    });
  }
  return pcs;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  try {
    const elf::Image image = elf::Image::open(arguments[1]);
    const elf::Section* const header = image.find_section(".sframe");
    if (header == nullptr) throw Refused(image.name(), "has no .sframe section");
    const auto bytes = image.bytes_of(*header);
    std::ofstream(arguments[2], std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const sframe::Section section = sframe::decode(bytes, header->header.sh_addr, {image.name(), ".sframe"});
    for (const std::uint64_t pc : pcs_of(section)) write_pc(section, pc);
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}
