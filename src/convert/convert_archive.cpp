#include "convert/convert_archive.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

#include "convert/convert_object.hpp"
#include "elf/new_section.hpp"
#include "encode/coverage.hpp"
#include "encode/encode_functions.hpp"
#include "files/archive/rebuild.hpp"
#include "files/atomic_file.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::convert {

bool has_stack_trace_section(const elf::Image& image) {
  return std::ranges::any_of(image.sections(), [](const elf::Section& section) {
    return section.name == elf::sframe_section.name || section.name == elf::ctf_frame_section.name;
  });
}

std::optional<elf::Image> elf_image(std::span<const std::byte> bytes, const std::string& name) {
  try {
    return elf::Image::of_bytes(bytes, name);
  } catch (const Refused&) {
    return {};
  }
}

namespace {

std::filesystem::path path_of(const files::archive::Archive& archive, const files::archive::Member& member) {
  return std::filesystem::path(archive.file()).parent_path() / member.name;
}

uid_t owner_of(const MappedFile& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) throw SystemFailure(file.name(), "read", errno);
  return status.st_uid;
}

/// A thin archive names any file. One of another user must not lead root to files that this user may not write.
void check_may_name(const MappedFile& archive, const MappedFile& file, const std::string& name) {
  const uid_t owner = owner_of(archive);
  if (owner != 0 && owner != ::geteuid() && owner != owner_of(file))
    throw Refused(name, "has another owner than the archive that names it");
}

using MayReplace = std::function<bool(const std::filesystem::path&)>;

/// The work on one archive: all members are converted before anything is written, so that a damaged one leaves
/// everything as it was.
class ArchiveConversion {
 public:
  ArchiveConversion(const std::filesystem::path& input, std::filesystem::path output, const ConvertOptions& options,
                    const MayReplace& may_replace)
      : options_(options),
        may_replace_(may_replace),
        output_(std::move(output)),
        in_place_(output_ == input),
        input_(input),
        archive_(input_.bytes(), input.string()) {
    outcome_.is_thin = archive_.is_thin();
    if (options.debug_file) throw Refused(input.string(), "--cfi-from does not support archives");
    if (const char* const asked = encode::option_of_proof(options))
      throw Refused(input.string(), std::string(asked) + " does not support archives");
    if (archive_.is_thin() && !in_place_)
      throw Refused(input.string(), "--output does not support thin archives; convert it in place");
  }

  ArchiveOutcome run(const WorkObserver& observer) {
    // One takes twenty times the bytes of an empty member, and memory that grows grows to twice its size.
    outcome_.members.reserve(archive_.members().size());
    for (std::size_t place = 0; place < archive_.members().size(); ++place) {
      if (observer.progress) observer.progress(place, archive_.members().size());
      convert_member(place);
    }
    if (archive_.is_thin()) {
      write_thin();
    } else {
      write_regular();
    }
    return std::move(outcome_);
  }

 private:
  void convert_member(std::size_t place) {
    const files::archive::Member& member = archive_.members()[place];
    const std::string name = archive_.name_of(member);
    try {
      const MemberBytes opened = open_member(archive_, member);
      if (opened.file) {
        check_may_name(input_, *opened.file, name);
        if (may_replace_ && !may_replace_(path_of(archive_, member)))
          throw Refused(name,
                        "not among the files that --recursive converts (outside, excluded, or hard links outside)");
        read_as_[place] = opened.file->identity();
        if (is_named_before(place))
          return outcome_.members.push_back({std::string(member.name), "the file of an earlier member"});
      }
      const elf::Image image = elf::Image::of_bytes(opened.bytes, name);
      if (!image.is_object()) throw Refused(name, "linked already, and only objects are converted in archives");
      ConvertedObject converted = convert_object(image, options_);
      if (converted.is_unchanged) throw Refused(name, encode::why_no_function(converted.outcome.coverage));
      outcome_.growth += converted.outcome.growth;
      outcome_.members.push_back({std::string(member.name), std::move(converted.outcome)});
      contents_[place] = std::move(converted.bytes);
    } catch (const Refused& refused) {
      const std::string text = refused.what();
      outcome_.members.push_back(
          {std::string(member.name), text.starts_with(name + ": ") ? text.substr(name.size() + 2) : text});
    }
  }

  /// A thin archive may name one file many times: its result is kept once.
  bool is_named_before(std::size_t place) {
    const FileIdentity& file = read_as_.at(place);
    const auto [first, is_new] = first_of_.try_emplace({file.device, file.inode}, place);
    if (!is_new) same_as_[place] = first->second;
    return !is_new;
  }

  void write_regular() {
    const files::archive::NewContents contents(contents_.begin(), contents_.end());
    const files::archive::Rebuilt rebuilt = files::archive::rebuild(archive_, contents);
    outcome_.growth = static_cast<std::int64_t>(rebuilt.size() - input_.bytes().size());
    write(rebuilt);
  }

  void write_thin() {
    files::archive::NewSizes sizes;
    for (const auto& [place, bytes] : contents_) {
      sizes[place] = bytes.size();
      if (!options_.dry_run) replace_thin_member(archive_, archive_.members()[place], read_as_.at(place), bytes);
    }
    for (const auto& [place, first] : same_as_)
      if (const auto size = sizes.find(first); size != sizes.end()) sizes[place] = size->second;
    write(files::archive::resize(archive_, sizes));
  }

  /// An archive in which nothing changes is not written again.
  void write(const files::archive::Rebuilt& rebuilt) {
    if (options_.dry_run || (rebuilt.is_unchanged() && in_place_)) return;
    files::replace_file(output_, rebuilt.pieces(), input_);
  }

  const ConvertOptions& options_;
  const MayReplace& may_replace_;
  std::filesystem::path output_;
  bool in_place_;
  MappedFile input_;
  files::archive::Archive archive_;
  ArchiveOutcome outcome_;
  std::map<std::size_t, std::vector<std::byte>> contents_;   ///< of converted members
  std::map<std::size_t, FileIdentity> read_as_;              ///< of a thin archive's members
  std::map<std::pair<dev_t, ino_t>, std::size_t> first_of_;  ///< the first member that is this file
  std::map<std::size_t, std::size_t> same_as_;               ///< later ones, with the first
};

}  // namespace

MemberBytes open_member(const files::archive::Archive& archive, const files::archive::Member& member) {
  if (!archive.is_thin()) return {{}, archive.data_of(member)};
  MemberBytes opened{open_thin_member(archive, member), {}};
  opened.bytes = opened.file->bytes();
  return opened;
}

void for_each_converted(const std::filesystem::path& file,
                        const std::function<void(const std::string&, const elf::Image&)>& visit,
                        const std::function<void(const std::string&, const Failure&)>& failed,
                        const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const MappedFile mapped(file);
  const files::archive::Archive archive(mapped.bytes(), file.string());
  std::size_t count = 0, done = 0;
  for (const files::archive::Member& member : archive.members()) {
    if (progress) progress(done++, archive.members().size());
    if (member.is_nested) continue;
    const std::string name = archive.name_of(member);
    try {
      const MemberBytes opened = open_member(archive, member);
      const auto image = elf_image(opened.bytes, name);
      if (!image || !has_stack_trace_section(*image)) continue;
      ++count;
      visit(name, *image);
    } catch (const Failure& failure) {
      failed(name, failure);
    }
  }
  if (count == 0) throw Refused(file.string(), "no member with a .sframe or .ctf_frame section");
}

MappedFile open_thin_member(const files::archive::Archive& archive, const files::archive::Member& member) {
  if (member.is_nested) throw Refused(archive.name_of(member), "a member of that archive: convert it there");
  try {
    return MappedFile(path_of(archive, member));
  } catch (const Failure& failure) {
    throw Failure(archive.name_of(member) + ": " + failure.what());
  }
}

void replace_thin_member(const files::archive::Archive& archive, const files::archive::Member& member,
                         const FileIdentity& read_as, std::span<const std::byte> bytes) {
  const MappedFile file(path_of(archive, member));
  if (equal_bytes(file.bytes(), bytes)) return;
  if (file.identity() != read_as) throw Refused(file.name(), "changed while it was read");
  files::replace_file(file.name(), {&bytes, 1}, file);
}

ArchiveOutcome convert_archive(const std::filesystem::path& input, const std::filesystem::path& output,
                               const ConvertOptions& options, const WorkObserver& observer,
                               const MayReplace& may_replace) {
  return ArchiveConversion(input, output, options, may_replace).run(observer);
}

}  // namespace sframe_gen::convert
