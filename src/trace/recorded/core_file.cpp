#include "trace/recorded/core_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "elf/machine.hpp"
#include "support/bytes.hpp"
#include "support/mapped_file.hpp"
#include "support/text.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::recorded {

namespace {

// struct elf_prstatus and elf_prpsinfo of 64-bit machines (linux/elfcore.h): the same places on all three.
constexpr std::uint64_t status_signal = 12, status_thread = 32, status_registers = 112;
constexpr std::uint64_t program_pid = 24, program_name = 40, program_name_size = 16;

constexpr std::uint64_t header_page = 4096;

elf::Image open_core(const std::filesystem::path& path) {
  elf::Image image = elf::Image::open(path);
  if (image.header().e_type != ET_CORE) throw Refused(image.name(), "not a core file");
  return image;
}

}  // namespace

CoreFile::CoreFile(const std::filesystem::path& path, const FileRoot& root, std::filesystem::path program,
                   const walk::TranslationOptions& options)
    : image_(open_core(path)),
      root_(root),
      program_(std::move(program)),
      options_(options),
      abi_(elf::machine_of(image_).abi) {
  for (const Elf64_Phdr& segment : image_.segments()) {
    if (segment.p_type == PT_LOAD) loads_.push_back(segment);
  }
  std::ranges::sort(loads_, {}, &Elf64_Phdr::p_vaddr);
  read_notes();
  for (const FilePart& part : parts_) parts_by_path_[part.path].push_back(&part);
  if (threads_.empty()) throw Refused(image_.name(), "no thread's registers");
}

void CoreFile::read_notes() {
  std::uint64_t left = image_.file_bytes().size();
  for (const Elf64_Phdr& segment : image_.segments()) {
    if (segment.p_type != PT_NOTE) continue;
    const InputOrigin origin{image_.name(), "PT_NOTE"};
    if (segment.p_filesz > left) throw MalformedInput(origin, 0, "notes that are together larger than the file");
    left -= segment.p_filesz;
    const auto bytes = image_.slice(segment.p_offset, segment.p_filesz, "PT_NOTE");
    for (const elf::Note& note : elf::read_notes(bytes, segment.p_align, image_.endian(), origin)) take_note(note);
  }
}

void CoreFile::take_note(const elf::Note& note) {
  const InputOrigin origin{image_.name(), "note of type " + hex(note.type)};
  const auto field = [&](std::uint64_t offset, std::uint64_t size, const char* what) {
    ByteReader reader(note.descriptor, image_.endian(), origin);
    reader.take(offset, what);
    return reader.take(size, what);
  };
  if (note.owner != "CORE") return;
  if (note.type == NT_PRSTATUS) {
    const auto registers = walk::general_registers(
        abi_, note.descriptor.subspan(std::min<std::uint64_t>(status_registers, note.descriptor.size())));
    if (!registers) throw MalformedInput(origin, 0, "too short for a thread's registers");
    const auto id = load<std::uint32_t>(field(status_thread, 4, "thread"), image_.endian());
    const auto signal = load<std::uint16_t>(field(status_signal, 2, "signal"), image_.endian());
    // The kernel writes the signal that killed the process into each thread's.
    threads_.push_back({static_cast<int>(id), threads_.empty() ? signal : 0, *registers});
  } else if (note.type == NT_FPREGSET && !threads_.empty()) {
    walk::add_floating_point_registers(abi_, note.descriptor, threads_.back().registers);
  } else if (note.type == NT_SIGINFO && !threads_.empty()) {
    walk::add_signal(abi_, note.descriptor, threads_.back().registers);
  } else if (note.type == NT_PRPSINFO) {
    pid_ = static_cast<int>(load<std::uint32_t>(field(program_pid, 4, "process"), image_.endian()));
    name_ = printable(text_before_zero(field(program_name, program_name_size, "name")));
  } else if (note.type == NT_AUXV) {
    read_auxiliary_vector(note);
  } else if (note.type == NT_FILE) {
    read_files(note);
  }
}

void CoreFile::read_auxiliary_vector(const elf::Note& note) {
  const InputOrigin origin{image_.name(), "NT_AUXV"};
  constexpr std::uint64_t program_headers = 3, sysinfo_header = 33;  // AT_PHDR, AT_SYSINFO_EHDR
  for (ByteReader reader(note.descriptor, image_.endian(), origin); !reader.at_end();) {
    const std::uint64_t type = reader.u64("type");
    const std::uint64_t value = reader.u64("value");
    if (type == sysinfo_header) vdso_ = value;
    if (type == program_headers) program_headers_ = value;
  }
}

void CoreFile::read_files(const elf::Note& note) {
  const InputOrigin origin{image_.name(), "NT_FILE"};
  ByteReader reader(note.descriptor, image_.endian(), origin);
  const std::uint64_t count = reader.u64("number of files");
  const std::uint64_t unit = reader.u64("page size");
  constexpr std::uint64_t entry = 24;
  if (count > reader.left() / entry) reader.fail("fewer files than it says, " + std::to_string(count));
  // There may be several such notes.
  const std::size_t first = parts_.size();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = reader.u64("begin"), end = reader.u64("end");
    parts_.push_back({begin, end, reader.u64("offset") * unit, {}});
  }
  for (FilePart& part : std::span(parts_).subspan(first)) {
    for (char letter = 0; (letter = static_cast<char>(reader.u8("path"))) != 0;) part.path += letter;
  }
}

const Elf64_Phdr* CoreFile::segment_at(std::uint64_t address) const {
  const auto behind = std::ranges::upper_bound(loads_, address, {}, &Elf64_Phdr::p_vaddr);
  if (behind == loads_.begin()) return nullptr;
  const Elf64_Phdr& segment = *std::prev(behind);
  return address - segment.p_vaddr < segment.p_memsz ? &segment : nullptr;
}

std::span<const std::byte> CoreFile::memory_at(std::uint64_t address) const {
  const Elf64_Phdr* const segment = segment_at(address);
  if (segment == nullptr) return {};
  const std::uint64_t into = address - segment->p_vaddr;
  const auto file = image_.file_bytes();
  // A dump that was cut short keeps its headers.
  if (into >= segment->p_filesz || segment->p_offset > file.size() || file.size() - segment->p_offset <= into)
    return {};
  return file.subspan(segment->p_offset + into,
                      std::min(segment->p_filesz - into, file.size() - segment->p_offset - into));
}

bool CoreFile::read_word(void* context, std::uint64_t address, void* bytes) {
  constexpr std::size_t size = 8;
  const auto memory = static_cast<const CoreFile*>(context)->memory_at(address);
  if (memory.size() < size) return false;
  std::memcpy(bytes, memory.data(), size);
  return true;
}

bool CoreFile::is_cut() const {
  const std::uint64_t size = image_.file_bytes().size();
  return std::ranges::any_of(loads_, [&](const Elf64_Phdr& segment) {
    return segment.p_filesz != 0 && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset);
  });
}

void CoreFile::check_is_whole() const {
  sframe_gen::check_is_whole(image_.file_bytes(), image_.name());
}

walk::AddressSpace CoreFile::address_space() {
  std::vector<walk::Mapping> mappings;
  // What is of no file, as code of just-in-time compilers, if it is known what is: the parts of files that follow take
  // their places.
  for (const Elf64_Phdr& segment : loads_) {
    const std::uint64_t end = segment.p_vaddr + segment.p_memsz;
    if (!parts_.empty() && (segment.p_flags & PF_X) != 0)
      mappings.push_back({.begin = segment.p_vaddr, .end = end, .path = ""});
  }
  for (const FilePart& part : parts_) {
    // gdb's cores leave out what the file has unchanged, such as code: then any part may be code.
    const Elf64_Phdr* const segment = segment_at(part.begin);
    if (segment != nullptr && (segment->p_flags & PF_X) == 0) continue;
    mappings.push_back({.begin = part.begin, .end = part.end, .file_offset = part.file_offset, .path = part.path});
  }
  if (const Elf64_Phdr* const segment = segment_at(vdso_); vdso_ != 0 && segment != nullptr) {
    mappings.push_back({.begin = vdso_, .end = segment->p_vaddr + segment->p_memsz, .path = "[vdso]"});
  }
  return {mappings,
          [this](const walk::Mapping& mapping) { return files_.get(mapping.path, [&] { return open(mapping); }); }};
}

/// The build-id of a file that was mapped at `begin`, by its headers there. Empty: it has none, or the core file lacks
/// it.
std::vector<std::byte> CoreFile::build_id_at(std::uint64_t begin) const {
  const auto head = memory_at(begin);
  if (head.size() < sizeof(Elf64_Ehdr)) return {};
  const InputOrigin origin{image_.name(), "headers of a file"};
  const Endian endian = image_.endian();
  const auto offset = load<std::uint64_t>(head.subspan(offsetof(Elf64_Ehdr, e_phoff)), endian);
  const auto count = load<std::uint16_t>(head.subspan(offsetof(Elf64_Ehdr, e_phnum)), endian);
  if (offset > head.size() || (head.size() - offset) / sizeof(Elf64_Phdr) < count) return {};
  std::optional<std::uint64_t> first;  // address of the file's begin, as the file has it
  for (std::size_t i = 0; i < count; ++i) {
    const auto segment = head.subspan(offset + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
    const auto type = load<std::uint32_t>(segment, endian);
    const auto address = load<std::uint64_t>(segment.subspan(offsetof(Elf64_Phdr, p_vaddr)), endian);
    const auto size = load<std::uint64_t>(segment.subspan(offsetof(Elf64_Phdr, p_filesz)), endian);
    const auto alignment = load<std::uint64_t>(segment.subspan(offsetof(Elf64_Phdr, p_align)), endian);
    if (type == PT_LOAD && !first)
      first = address - load<std::uint64_t>(segment.subspan(offsetof(Elf64_Phdr, p_offset)), endian);
    if (type != PT_NOTE) continue;
    // Linkers put notes after the headers, and no linker puts them before the first segment's header.
    const auto bytes = memory_at(begin + address - first.value_or(0));
    constexpr std::uint64_t most_notes = std::uint64_t{1} << 16U;
    if (size > bytes.size() || size > most_notes) continue;
    for (const elf::Note& note : elf::read_notes(bytes.first(size), alignment, endian, origin))
      if (note.type == NT_GNU_BUILD_ID && note.owner == "GNU") return {note.descriptor.begin(), note.descriptor.end()};
  }
  return {};
}

const std::vector<const CoreFile::FilePart*>& CoreFile::parts_of(const std::string& path) const {
  static const std::vector<const FilePart*> none;
  const auto known = parts_by_path_.find(path);
  return known == parts_by_path_.end() ? none : known->second;
}

/// By the build-id if both have one: a file that was stripped or converted since keeps it. Else by the page with the
/// file's headers, which kernels dump of each file. Empty: it is the one.
std::string CoreFile::why_other(const elf::Image& image, const walk::Mapping& mapping) const {
  const FilePart* first = nullptr;
  for (const FilePart* const part : parts_of(mapping.path))
    if (part->file_offset == 0 && part->begin <= mapping.begin) first = part;
  const auto memory = first == nullptr ? std::span<const std::byte>() : memory_at(first->begin);
  const auto file = image.file_bytes();
  const auto size = std::min<std::size_t>(header_page, file.size());
  if (first != nullptr) {
    const std::vector<std::byte> loaded = build_id_at(first->begin);
    const auto own = elf::build_id(image);
    if (!loaded.empty() && !own.empty())
      return std::ranges::equal(loaded, own) ? "" : "not the file that was loaded (its build-id is another)";
  }
  if (memory.size() < size) return "cannot be told from another: the core file lacks the page with its headers";
  return std::memcmp(memory.data(), file.data(), size) == 0 ? "" : "not the file that was loaded";
}

bool CoreFile::is_program(const walk::Mapping& mapping) const {
  return std::ranges::any_of(parts_of(mapping.path), [&](const FilePart* part) {
    return part->begin <= program_headers_ && program_headers_ < part->end;
  });
}

walk::OpenedFile CoreFile::open(const walk::Mapping& mapping) {
  if (mapping.path == "[vdso]") {
    elf::Image image = elf::Image::of_bytes(memory_at(mapping.begin), mapping.path);
    return {std::make_shared<walk::CodeFile>(std::move(image), std::vector<std::byte>(), options_, root_), {}};
  }
  if (mapping.path.empty()) return {nullptr, walk::is_of_no_file, perf_maps_.of(pid_, root_)};
  const bool is_given = !program_.empty() && is_program(mapping);
  elf::Image image = is_given ? elf::Image::open(program_) : root_.open(mapping.path);
  if (std::string why = why_other(image, mapping); !why.empty()) return {nullptr, std::move(why)};
  return {std::make_shared<walk::CodeFile>(std::move(image), std::vector<std::byte>(), options_, root_), {}};
}

}  // namespace sframe_gen::trace::recorded
