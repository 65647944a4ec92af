// A module that works in worker threads of its own, as a plugin does that has the library linked into it.
#include "support/workers.hpp"

extern "C" int work_in_a_worker() {
  int done = 0;
  sframe_gen::start_workers(1);
  sframe_gen::Async work = sframe_gen::async([&] { done = 1; });
  while (!work.wait_for(std::chrono::milliseconds(1))) {
  }
  work.get();
  return done;
}
