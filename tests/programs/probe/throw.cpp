// The part of the probe that throws: .eh_frame, .eh_frame_hdr and .gcc_except_table have to be found and right.
#include <stdexcept>
#include <string>

namespace {

struct Guard {
  int& count;
  ~Guard() { ++count; }
};

__attribute__((noinline)) void throw_from(int depth, int& unwound) {
  const Guard guard{unwound};
  if (depth == 0) throw std::runtime_error("thrown");
  throw_from(depth - 1, unwound);
}

}  // namespace

extern "C" int exceptions_work() {
  int unwound = 0;
  try {
    throw_from(5, unwound);
  } catch (const std::exception& error) {
    return error.what() == std::string("thrown") && unwound == 6 ? 1 : 0;
  }
  return 0;
}
