#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/step/file_rows.hpp"
#include "support/range.hpp"

namespace sframe_gen::stepping {

/// Makes copies with a section, each once.
class Copies {
 public:
  /// `command`: sframe-gen with options.
  Copies(std::vector<std::string> command, std::filesystem::path folder)
      : command_(std::move(command)), folder_(std::move(folder)) {}

  /// The copy of a file; the file itself if it is refused.
  std::filesystem::path of(const std::filesystem::path& file) const;

 private:
  std::vector<std::string> command_;
  std::filesystem::path folder_;
};

/// The files whose code a program executes.
class ProgramFiles {
 public:
  /// `only`: a part of the path of those whose rows are looked up. `proves`: so is what src/code proves.
  ProgramFiles(Copies copies, std::string only, bool proves)
      : copies_(std::move(copies)), only_(std::move(only)), proves_(proves) {}

  /// The instruction at a PC of the process; null: in no such file.
  SteppedPc* at(const SteppedThread& thread, std::uint64_t pc);
  /// What is mapped may have changed.
  void look_again();
  /// The same after a system call of a thread, of which these were the registers before.
  void look_again_after(const Registers& before);

  const std::map<std::string, std::unique_ptr<FileRows>>& files() const { return files_; }
  /// What making copies and reading their rows has taken, while the thread stood still.
  std::chrono::steady_clock::duration preparation() const { return preparation_; }

 private:
  struct Mapping {
    Range addresses;
    std::uint64_t file_offset;
    FileRows* file;  ///< null: none whose rows are looked up
  };

  void read_mappings(int process);
  FileRows* file_at(const std::string& path);
  SteppedPc* find(const SteppedThread& thread, std::uint64_t pc);

  Copies copies_;
  std::string only_;
  bool proves_;
  std::chrono::steady_clock::duration preparation_{};
  std::map<std::string, std::unique_ptr<FileRows>> files_;  ///< null: not an ELF file that can be read
  std::vector<Mapping> mappings_;                           ///< of code, ascending
  std::unordered_map<std::uint64_t, SteppedPc*> pcs_;
};

}  // namespace sframe_gen::stepping
