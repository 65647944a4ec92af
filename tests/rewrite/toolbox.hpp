#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "elf/records.hpp"
#include "rewrite/check/layout_check.hpp"
#include "rewrite/plan/choose.hpp"
#include "rewrite/undo/undo.hpp"
#include "rewrite/write/rewrite.hpp"
#include "sframe_gen/convert.hpp"
#include "support/folder.hpp"

/// Compiling, running and damaging small ELF files.
namespace sframe_gen::elf::test {

using namespace rewrite;

using sframe_gen::test::Folder;

/// Sizes of sections: what the gaps between the segments of a small file have room for, and what they do not.
inline constexpr std::size_t fits_a_gap = 64, fits_no_gap = 0x2345;

struct Outcome {
  int status;  ///< of the shell; -1: a signal
  std::string output;
};

inline Outcome run(const std::string& command) {
  Outcome outcome{-1, {}};
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = ::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
    outcome.output.append(buffer.data(), size);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

/// A test that leaves something out for want of a tool counts as skipped, which tools/no-skips makes a failure of the
/// gate. What else it checks goes on.
inline bool has_tool(const std::string& name) {
  const bool found = run("command -v " + name).status == 0;
  if (!found) [&name] { GTEST_SKIP() << name << " is not installed"; }();
  return found;
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Bytes that a program recognizes in its own memory.
inline std::vector<std::byte> payload(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + 1) & 0xff);
  return bytes;
}

/// As a section's bytes come to the writer.
inline ByteChunks in_chunks(std::span<const std::byte> bytes) {
  ByteChunks chunks;
  chunks.append(bytes);
  return chunks;
}

/// Rewrites `input`, or what it was made from, as the program does. Checks all of the result, and that it can be
/// undone.
inline rewrite::Layout inject(const std::filesystem::path& input, const std::filesystem::path& output, std::size_t size,
                              const NewSection& section = sframe_section) {
  const Image opened = Image::open(input);
  const auto original = rewrite::find_original(opened, section, {});
  const Image& image = original ? *original : opened;
  rewrite::Layout layout = rewrite::plan_layout(image, size, section);
  {
    rewrite::Rewrite rewrite(image, opened, output);
    rewrite.begin_writing(layout);
    rewrite.finish(in_chunks(payload(size)));
  }
  const Image converted = Image::open(output);
  rewrite::check_layout(image, converted, rewrite::Contents::All, section);
  const auto restored = rewrite::find_original(converted, section, {});
  const auto same = [](std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  if (!restored || !same(restored->file_bytes(), image.file_bytes()))
    throw std::logic_error(output.string() + ": cannot be undone");
  return layout;
}

/// A shared object of GNU ld with .text, .eh_frame, .data and .bss; linked once.
inline const std::filesystem::path& small_library() {
  static const Folder folder;
  static const std::filesystem::path library = [] {
    write_text(folder / "small.c",
               "int data = 3; static int space[64]; int f(int i) { return space[i & 63] += data; }\n");
    auto path = folder / "libsmall.so";
    run("gcc -O1 -shared -fPIC -nostdlib -fuse-ld=bfd -Wl,--build-id -o " + path.string() + " " +
        (folder / "small.c").string());
    return path;
  }();
  return library;
}

/// A copy of `input` with some fields of its headers changed.
struct Fields {
  Elf64_Ehdr header;
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Shdr> sections;
  std::string bytes;  ///< of the whole file; the headers above are stored over it

  Elf64_Phdr& segment(std::uint32_t type) {
    for (Elf64_Phdr& s : segments)
      if (s.p_type == type) return s;
    return segments.at(segments.size());
  }
};

inline void change(const std::filesystem::path& input, const std::filesystem::path& output,
                   const std::function<void(Fields&)>& edit) {
  const Image image = Image::open(input);
  Fields fields{image.header(), image.segments(), {}, read_text(input)};
  if (image.has_section_headers())
    for (const Section& section : image.sections()) fields.sections.push_back(section.header);
  const std::uint64_t segments_at = fields.header.e_phoff;
  const std::uint64_t sections_at = fields.header.e_shoff;
  edit(fields);
  const Endian endian = image.endian();
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(fields.bytes));
  store_header(bytes, fields.header, endian);
  for (std::size_t i = 0; i < fields.segments.size(); ++i)
    store_segment(bytes.subspan(segments_at + i * sizeof(Elf64_Phdr)), fields.segments[i], endian);
  for (std::size_t i = 0; i < fields.sections.size(); ++i)
    store_section(bytes.subspan(sections_at + i * sizeof(Elf64_Shdr)), fields.sections[i], endian);
  std::ofstream(output, std::ios::binary) << fields.bytes;
  std::filesystem::permissions(output, std::filesystem::status(input).permissions());
}

/// As sstrip does: the file ends with the last byte that a program header names.
inline void drop_section_headers(Fields& f) {
  std::uint64_t end = sizeof(Elf64_Ehdr) + f.segments.size() * sizeof(Elf64_Phdr);
  for (const Elf64_Phdr& s : f.segments)
    if (s.p_type != PT_GNU_RELRO) end = std::max<std::uint64_t>(end, s.p_offset + s.p_filesz);
  f.header.e_shoff = f.header.e_shnum = f.header.e_shstrndx = 0;
  f.sections.clear();
  f.bytes.resize(end);
}

/// Takes the record for undoing out of a file that was just converted, so that it looks like another tool's work.
inline void drop_record(const std::filesystem::path& file) {
  change(file, file, [](Fields& f) {
    f.bytes.resize(f.sections.back().sh_offset - sizeof(Elf64_Shdr));
    f.sections.pop_back();
    --f.header.e_shnum;
  });
}

/// The message of the Failure that `action` throws; empty when it throws none.
inline std::string failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace sframe_gen::elf::test
