#include "cli/show/wait_notice.hpp"

#include <fmt/format.h>

#include <ostream>

#include "cli/outcome.hpp"
#include "cli/show/table.hpp"
#include "instance/clock.hpp"

namespace holon::cli {
namespace {

constexpr Duration kForPeople = 500;
constexpr Duration kForFiles = 3'000;

}  // namespace

WaitNotice::WaitNotice(Invocation& call, Client& client, std::uint64_t job,
                       const std::string& verb) {
  const auto tell = [&call, job, verb](const msg::JobRecord& record) {
    if (record.t_alloc > 0 || record.state == "INACTIVE") return;
    const std::string why = why_it_waits(record, instance::wall_clock_ms());
    call.io.err << fmt::format("{}: job {} waits{}{}\n", verb, job, why.empty() ? "" : ": ",
                               printable(why))
                << std::flush;
  };
  timer_ = client.reactor().after(
      call.io.err_terminal ? kForPeople : kForFiles,
      [this, &client, job, tell] { answer_ = client.record_later(job, tell); });
}

}  // namespace holon::cli
