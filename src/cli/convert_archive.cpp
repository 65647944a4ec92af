#include "cli/convert_archive.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "archive/rebuild.hpp"
#include "cli/archive_members.hpp"
#include "cli/convert_object.hpp"
#include "files/replace_file.hpp"

namespace sframe_gen::cli {

namespace {

/// One archive on its way: first all members are converted, then all is written, so that a damaged one leaves
/// everything as it was.
class ArchiveConversion {
 public:
  ArchiveConversion(const Options& options, const std::filesystem::path& file)
      : options_(options), input_(file), archive_(input_.bytes(), file.string()) {
    report_.file = file.string();
    report_.output = options.output.value_or(file).string();
    report_.is_thin = archive_.is_thin();
    if (options.cfi_from) throw Refused(report_.file, "is an archive, for which --cfi-from does not work");
    if (archive_.is_thin() && options.output)
      throw Refused(report_.file, "is a thin archive, whose members are files of their own: convert it in place");
  }

  ArchiveReport run(const ShowMember& show) {
    for (std::size_t place = 0; place < archive_.members().size(); ++place) {
      show(place, archive_.members().size());
      convert_member(place);
    }
    if (archive_.is_thin()) {
      write_thin();
    } else {
      write_regular();
    }
    return std::move(report_);
  }

 private:
  void convert_member(std::size_t place) {
    const archive::Member& member = archive_.members()[place];
    MemberReport report{member.name, {}, {}};
    const std::string name = archive_.name_of(member);
    try {
      const MemberBytes opened = open_member(archive_, member);
      if (opened.file) read_as_[place] = opened.file->identity();
      const elf::Image image = elf::Image::of_bytes(opened.bytes, name);
      if (!image.is_object()) throw Refused(name, "is linked already, and members are converted as objects only");
      ConvertedObject converted = convert_object(options_, image);
      report_.growth += converted.report.growth;
      report.converted = std::move(converted.report);
      contents_[place] = std::move(converted.bytes);
    } catch (const Refused& refused) {
      const std::string text = refused.what();
      report.why_not = text.starts_with(name + ": ") ? text.substr(name.size() + 2) : text;
    }
    report_.members.push_back(std::move(report));
  }

  void write_regular() {
    const archive::NewContents contents(contents_.begin(), contents_.end());
    const archive::Rebuilt rebuilt = archive::rebuild(archive_, contents);
    report_.growth = static_cast<std::int64_t>(rebuilt.size() - input_.bytes().size());
    write(rebuilt);
  }

  void write_thin() {
    archive::NewSizes sizes;
    for (const auto& [place, bytes] : contents_) {
      sizes[place] = bytes.size();
      if (!options_.dry_run) write_file_of(place, bytes);
    }
    write(archive::resize(archive_, sizes));
  }

  /// Several members may be one file, which then is as it shall be from the second on.
  void write_file_of(std::size_t place, const std::vector<std::byte>& bytes) {
    const MappedFile file(path_of(archive_, archive_.members()[place]));
    if (std::ranges::equal(file.bytes(), bytes)) return;
    if (file.identity() != read_as_[place]) throw Refused(file.name(), "was changed while it was read");
    files::replace_file(file.name(), bytes, file);
  }

  /// An archive in which nothing changes is not written again.
  void write(const archive::Rebuilt& rebuilt) {
    if (options_.dry_run || (rebuilt.is_unchanged() && !options_.output)) return;
    files::replace_file(report_.output, rebuilt.pieces(), input_);
  }

  const Options& options_;
  MappedFile input_;
  archive::Archive archive_;
  ArchiveReport report_;
  std::map<std::size_t, std::vector<std::byte>> contents_;  ///< of converted members
  std::map<std::size_t, FileIdentity> read_as_;             ///< of a thin archive's members
};

}  // namespace

ArchiveReport convert_archive(const Options& options, const std::filesystem::path& file, const ShowMember& show) {
  return ArchiveConversion(options, file).run(show);
}

}  // namespace sframe_gen::cli
