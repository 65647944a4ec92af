// What is printed of samples, whatever comes of them at once.

#include "trace/report/text_report.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sframe_gen {
namespace {

using namespace trace;

/// Of kernel frames, whose names come from a list.
class SampleTextTest : public testing::Test {
 protected:
  SampleTextTest() {
    constexpr std::string_view list = "ffffffff81000000 T first\nffffffff81000100 T second\n";
    kernel_ = recorded::KernelNames(std::vector<char>(list.begin(), list.end()));
  }

  static recorded::Sample sample(int number) {
    recorded::Sample sample;
    sample.name = "bash";
    sample.thread = number;
    sample.period = 250'000;
    sample.time = 1'000'000'000ULL * static_cast<unsigned>(number) + 2000;
    sample.kernel = {0xffffffff81000010, 0xffffffff81000104};
    return sample;
  }
  static std::string text_of(int number) {
    const std::string digits = std::to_string(number);
    return "bash " + digits + " " + digits +
           ".000002:     250000 page-faults:\nffffffff81000010 first ([kernel.kallsyms])\n"
           "ffffffff81000104 second ([kernel.kallsyms])\n\n";
  }

  const recorded::SampledEvent event_{.name = "page-faults"};
  recorded::KernelNames kernel_;
  std::ostringstream out_;
};

TEST_F(SampleTextTest, ComesInTheOrderOfSamplesHoweverMuchItIs) {
  constexpr int samples = 30'000;  // some megabytes: it is written in parts
  std::string expected;
  report::SampleText text(out_, kernel_);
  for (int i = 0; i < samples; ++i) {
    text.add(sample(i), event_, std::nullopt);
    expected += text_of(i);
  }
  text.finish();
  EXPECT_EQ(out_.str(), expected);
  text.finish();
  EXPECT_EQ(out_.str().size(), expected.size());
}

TEST_F(SampleTextTest, IsWrittenWhenARecordingEndsInAnError) {
  {
    report::SampleText text(out_, kernel_);
    text.add(sample(7), event_, std::nullopt);
  }
  EXPECT_EQ(out_.str(), text_of(7));
}

}  // namespace
}  // namespace sframe_gen
