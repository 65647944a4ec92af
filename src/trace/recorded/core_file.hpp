#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "elf/notes.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "support/hash.hpp"
#include "trace/files/file_root.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace::recorded {

/// What a core file says of the process that it was (core(5)): threads, memory, and which files it had mapped. Of any
/// of the three machines.
class CoreFile {
 public:
  struct Thread {
    int id = 0;
    int signal = 0;  ///< that it was dumped for; 0 of the others
    unwind::Registers registers;
  };

  /// `root`: where the process's files are. `program`: the program's file, wherever it was; empty: where it was. Throws
  /// Failure.
  CoreFile(const std::filesystem::path& path, const FileRoot& root, std::filesystem::path program,
           const walk::TranslationOptions& options);
  CoreFile(const CoreFile&) = delete;
  CoreFile& operator=(const CoreFile&) = delete;

  const std::string& file_name() const { return image_.name(); }
  /// It has not all the memory that its headers tell of: the disk was full, or a limit reached.
  bool is_cut() const;
  /// Throws Refused if it became shorter since.
  void check_is_whole() const;
  /// "bash"; empty if the file does not say.
  const std::string& name() const { return name_; }
  int pid() const { return pid_; }
  sframe::Abi abi() const { return abi_; }
  /// The one that was dumped for a signal comes first, as the kernel writes them.
  const std::vector<Thread>& threads() const { return threads_; }

  walk::AddressSpace address_space();
  const walk::PerfMaps& perf_maps() const { return perf_maps_; }

  /// An unwind::ReadMemory; `context` is a CoreFile.
  static bool read_word(void* context, std::uint64_t address, void* bytes);

 private:
  /// A part of a file that was mapped.
  struct FilePart {
    std::uint64_t begin, end, file_offset;
    std::string path;
  };

  void read_notes();
  void take_note(const elf::Note& note);
  void read_files(const elf::Note& note);
  void read_auxiliary_vector(const elf::Note& note);
  /// Bytes of memory from `address`, as far as the file has them.
  std::span<const std::byte> memory_at(std::uint64_t address) const;
  const Elf64_Phdr* segment_at(std::uint64_t address) const;

  const std::vector<const FilePart*>& parts_of(const std::string& path) const;
  walk::OpenedFile open(const walk::Mapping& mapping);
  bool is_program(const walk::Mapping& mapping) const;
  std::string why_other(const elf::Image& image, const walk::Mapping& mapping) const;
  std::vector<std::byte> build_id_at(std::uint64_t begin) const;

  elf::Image image_;
  const FileRoot& root_;
  std::filesystem::path program_;
  const walk::TranslationOptions& options_;
  sframe::Abi abi_;
  std::vector<Elf64_Phdr> loads_;  ///< ascending
  std::vector<FilePart> parts_;
  SeededMap<std::string_view, std::vector<const FilePart*>> parts_by_path_;
  std::vector<Thread> threads_;
  std::string name_;
  int pid_ = 0;
  std::uint64_t vdso_ = 0;             ///< address; 0: none
  std::uint64_t program_headers_ = 0;  ///< address of the program's; 0: not known
  walk::OpenedFiles files_;
  walk::PerfMaps perf_maps_;
};

}  // namespace sframe_gen::trace::recorded
