// Files a person writes or downloads: traces of jobs and TOML configurations. What is left of a
// trace can be simulated.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/config.hpp"
#include "sim/formats/records.hpp"
#include "sim/formats/sacct.hpp"
#include "sim/swf.hpp"
#include "sim/trace_file.hpp"

namespace {

using namespace holon;

constexpr std::int64_t kProcs = 64;

void check(const Result<sim::SwfTrace>& trace) {
  if (!trace) return;
  for (const auto& job : trace->workload.jobs)
    if (job.procs < 1 || job.procs > kProcs || job.submit < 0 || job.run < 0 || job.limit < 0)
      std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool strict : {false, true}) {
    check(sim::read_swf(text, {.strict = strict, .keep_overruns = strict, .procs = kProcs}));
    check(sim::read_records(text, {.strict = strict, .keep_overruns = strict, .procs = kProcs}));
    check(sim::read_sacct(text, {.strict = strict, .keep_overruns = strict, .procs = kProcs}));
    check(sim::read_json_lines(text, {.strict = strict, .keep_overruns = strict, .procs = kProcs}));
  }
  config::Config config;
  if (const auto read = config::apply_toml(config, text, "x.toml");
      !read && read.error().where.empty())
    std::abort();
  return 0;
}
