#include "trace/record/walked_records.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "trace/record/event_files.hpp"
#include "trace/recorded/call_chain_file.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::test {
namespace {

class SampleRecord : public testing::Test {
 protected:
  SampleRecord() { layouts_.add(trace::record::attributes_of(request_, 0, true, true), {}); }

  /// A sample with a call chain of the kernel's, the fields of a tracepoint, all registers as their number, and a stack
  /// of which `used` bytes are filled.
  std::vector<std::byte> sample(std::uint64_t room, std::uint64_t used, const std::string& fields = {}) const {
    ByteWriter body(host_endian);
    for (const std::uint64_t value : {7U, 0x1000U}) body.u64(value);
    body.u32(11);
    body.u32(12);
    for (const std::uint64_t value : {99U, 0U, 1U}) body.u64(value);  // time, processor, period
    body.u64(2);
    body.u64(static_cast<std::uint64_t>(-128));
    body.u64(0xffff'ffff'8100'0000);
    if (!fields.empty()) {
      body.u32(static_cast<std::uint32_t>(fields.size()));
      body.append_bytes(std::as_bytes(std::span(fields)));
    }
    body.u64(2);
    for (std::uint64_t mask = trace::walk::registers_to_record(trace::walk::host_abi()); mask != 0; mask &= mask - 1)
      body.u64(5);
    body.u64(room);
    for (std::uint64_t i = 0; i < room; ++i) body.u8(i < used ? 0xaa : 0);
    if (room != 0) body.u64(used);
    ByteWriter record(host_endian);
    record.u32(trace::perf::record_type::sample);
    record.u16(1);
    record.u16(static_cast<std::uint16_t>(8 + body.size()));
    record.append_bytes(body.bytes());
    return record.release();
  }

  const trace::record::EventRequest request_{
      .kinds = {trace::record::event_named("cpu-clock")}, .rate = 99, .stack = 256};
  trace::perf::EventLayouts layouts_{{"test", "events"}, host_endian};
};

TEST_F(SampleRecord, LosesTheRoomThatItsStackDoesNotFill) {
  const auto shortened = [&](std::uint64_t room, std::uint64_t used) {
    const std::vector<std::byte> whole = sample(room, used);
    return trace::record::without_room(trace::record::read_record(whole, layouts_), whole);
  };
  EXPECT_EQ(shortened(256, 40), sample(40, 40));
  EXPECT_EQ(shortened(256, 36).size(), sample(40, 36).size());
  EXPECT_EQ(shortened(256, 256), sample(256, 256));
  EXPECT_EQ(shortened(256, 0), sample(256, 0));
  EXPECT_EQ(shortened(0, 0), sample(0, 0));
}

TEST_F(SampleRecord, KeepsTheFieldsOfATracepoint) {
  trace::record::EventRequest request = request_;
  request.kinds = {{.name = "some:event", .type = PERF_TYPE_TRACEPOINT}};
  trace::perf::EventLayouts layouts({"test", "events"}, host_endian);
  layouts.add(trace::record::attributes_of(request, 0, true, true), {});
  const std::string fields = "fields, of 20 bytes.";
  const std::vector<std::byte> whole = sample(256, 40, fields);
  EXPECT_EQ(trace::record::without_room(trace::record::read_record(whole, layouts), whole), sample(40, 40, fields));
}

TEST_F(SampleRecord, GetsTheCallChainThatWasWalked) {
  const std::vector<std::byte> whole = sample(256, 40);
  const trace::perf::PerfRecord record = trace::record::read_record(whole, layouts_);
  EXPECT_EQ(record.time, 99U);
  trace::recorded::RecordedPrograms programs({"test", host_endian, trace::walk::host_abi(), nullptr, 0},
                                             [](const trace::walk::Mapping&) {
                                               return trace::walk::OpenedFile{nullptr, "none"};
                                             });
  trace::walk::Walker walker(9, false);
  std::vector<std::byte> written;
  programs.take(record, walker, [&](const trace::recorded::Sample& sample) {
    EXPECT_TRUE(sample.has_user_stack);
    trace::recorded::Sample walked = sample;
    walked.user.frames = {{0x1234}, {0x5678, false}};
    written = trace::recorded::call_chain_record(record, walked, host_endian).bytes;
  });
  trace::perf::EventLayouts layouts({"test", "events"}, host_endian);
  layouts.add(trace::record::attributes_of(request_, 0, true, false), {});
  EXPECT_FALSE(layouts.has_stacks());
  const trace::perf::PerfRecord read = trace::record::read_record(written, layouts);
  EXPECT_EQ(written.size(), load<std::uint16_t>(std::span(written).subspan(6), host_endian));
  EXPECT_EQ(read.time, 99U);
  EXPECT_EQ(read.flags, 1U);
  const InputOrigin origin{"test", "sample"};
  ByteReader reader(read.body.subspan(48), host_endian, origin);
  std::vector<std::uint64_t> chain;
  while (!reader.at_end()) chain.push_back(reader.u64("entry"));
  EXPECT_EQ(chain, (std::vector<std::uint64_t>{5, static_cast<std::uint64_t>(-128), 0xffff'ffff'8100'0000,
                                               static_cast<std::uint64_t>(-512), 0x1234, 0x5678}));
}

}  // namespace
}  // namespace sframe_gen::test
