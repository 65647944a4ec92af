#include "trace/perf/perf_data_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/folder.hpp"
#include "trace/perf/perf_data_file.hpp"

namespace sframe_gen::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t id_of_event = 7;
constexpr unsigned feature_of_machine = 6;

/// struct perf_event_attr of an event whose records have their time and the event's number.
std::vector<std::byte> event_attributes(Endian endian) {
  ByteWriter event(endian);
  event.u32(1);
  event.u32(112);
  for (int i = 0; i < 2; ++i) event.u64(0);
  event.u64(trace::perf::sample_bit::time | trace::perf::sample_bit::identifier);
  event.u64(0);
  event.u64(std::uint64_t{1} << (endian == Endian::Little ? 18U : 45U));  // sample_id_all
  while (event.size() < 112) event.u64(0);
  return event.release();
}

std::vector<std::byte> exit_record(Endian endian, std::uint64_t time) {
  ByteWriter record(endian);
  record.u32(trace::perf::record_type::exit);
  record.u16(0);
  record.u16(48);
  for (int i = 0; i < 3; ++i) record.u64(0);
  record.u64(time);
  record.u64(id_of_event);
  return record.release();
}

class WrittenRecording : public testing::TestWithParam<Endian> {
 protected:
  trace::perf::PerfDataWriter writer() const {
    return {file_.number(), path_.string(), GetParam(), {{event_attributes(GetParam()), {id_of_event}}}};
  }
  void add(trace::perf::PerfDataWriter& writer, std::uint64_t time) const {
    writer.append(exit_record(GetParam(), time));
  }
  std::vector<std::byte> machine() const {
    return trace::perf::text_feature(GetParam() == Endian::Little ? "aarch64" : "s390x", GetParam());
  }
  trace::perf::PerfDataFile read() const { return {MappedFile(path_), sframe::Abi::Amd64}; }
  static std::vector<std::uint64_t> times(const trace::perf::PerfDataFile& file) {
    std::vector<std::uint64_t> times;
    for (const trace::perf::PerfRecord& record : file.records()) times.push_back(record.time);
    return times;
  }

  const Folder folder_;
  const fs::path path_ = folder_ / "perf.data";
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  const Descriptor file_{::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
};

TEST_P(WrittenRecording, IsReadAsItWasWritten) {
  trace::perf::PerfDataWriter writer = this->writer();
  writer.set_feature(feature_of_machine, machine());
  for (const unsigned time : {3U, 1U, 2U}) add(writer, time);
  writer.update();
  const trace::perf::PerfDataFile file = read();
  EXPECT_EQ(file.endian(), GetParam());
  EXPECT_EQ(file.abi(), GetParam() == Endian::Little ? sframe::Abi::Aarch64Little : sframe::Abi::S390x);
  EXPECT_FALSE(file.is_cut());
  EXPECT_EQ(times(file), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(writer.size(), fs::file_size(path_));
}

TEST_P(WrittenRecording, HasRecordsUpToTheLastUpdate) {
  trace::perf::PerfDataWriter writer = this->writer();
  writer.set_feature(feature_of_machine, machine());
  add(writer, 1);
  writer.update();
  add(writer, 2);
  EXPECT_EQ(times(read()), (std::vector<std::uint64_t>{1}));
  EXPECT_FALSE(read().is_cut());
  writer.update();
  EXPECT_EQ(times(read()), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_FALSE(read().is_cut());
}

TEST_P(WrittenRecording, IsCutShortWhereFeaturesWereToFollow) {
  trace::perf::PerfDataWriter writer = this->writer();
  add(writer, 1);
  writer.update();
  const trace::perf::PerfDataFile file = read();
  EXPECT_TRUE(file.is_cut());
  EXPECT_EQ(times(file), (std::vector<std::uint64_t>{1}));
}

TEST_P(WrittenRecording, IsUpdatedByItselfOnceMuchWaits) {
  trace::perf::PerfDataWriter writer = this->writer();
  std::uint64_t added = 0;
  while (fs::file_size(path_) < (1U << 20U) && added < 1'000'000) add(writer, ++added);
  EXPECT_EQ(read().records().size(), added);
}

TEST_P(WrittenRecording, HasTheWholeRecordsThatThereWasRoomFor) {
  trace::perf::PerfDataWriter writer = this->writer();
  writer.set_feature(feature_of_machine, machine());
  writer.update();
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  for (std::uint64_t time = 1; time <= 100; ++time) add(writer, time);
  EXPECT_THROW(writer.update(), SystemFailure);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_TRUE(read().is_cut());
  const std::size_t begin_of_records = 104 + 8 + 112 + 16;
  EXPECT_EQ(read().records().size(), (1000 - begin_of_records) / exit_record(GetParam(), 1).size());
}

TEST(EventLayouts, ReadTheSmallestEvent) {
  trace::perf::EventLayouts layouts({"test", "events"}, Endian::Little);
  layouts.add(std::vector<std::byte>(trace::perf::EventLayouts::smallest_event), {});
  EXPECT_FALSE(layouts.empty());
  EXPECT_THROW(layouts.add(std::vector<std::byte>(trace::perf::EventLayouts::smallest_event - 1), {}), MalformedInput);
}

INSTANTIATE_TEST_SUITE_P(BothOrders, WrittenRecording, testing::Values(Endian::Little, Endian::Big));

}  // namespace
}  // namespace sframe_gen::test
