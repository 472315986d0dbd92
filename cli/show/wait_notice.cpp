#include "cli/show/wait_notice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/outcome.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "instance/basics/clock.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

constexpr Duration kForPeople = 500;
constexpr Duration kForFiles = 3'000;
constexpr Duration kLookEvery = 250;
constexpr Duration kAskAgain = 5'000;
constexpr Duration kTellEvery = 10'000;

}  // namespace

std::string how_far(const msg::JobRecord& job, Time now) {
  if (job.state == "INACTIVE") return "";
  if (job.t_start == 0) {
    const std::string why = why_it_waits(job, now);
    return fmt::format("job {} waits{}{}", msg::label_of(job), why.empty() ? "" : ": ",
                       printable(why));
  }
  const std::string limit = job.limit > 0 ? " of " + show_duration(job.limit) : "";
  return fmt::format("job {} runs on {}, {}{}", msg::label_of(job), printable(job.nodelist),
                     show_duration(std::max<Duration>(0, now - job.t_start)), limit);
}

void WaitNotice::tell(Invocation& call, const std::string& verb, const msg::JobRecord& record,
                      Time now) {
  const Told state = record.t_start > 0 ? Told::runs : Told::waits;
  const std::string text = how_far(record, instance::wall_clock_ms());
  if (text.empty() || (state == told_ && now - told_at_ < kTellEvery)) return;
  call.io.err << fmt::format("{}: {}\n", verb, text) << std::flush;
  told_ = state;
  told_at_ = now;
}

// Starts are told soon; a job that runs has news only every ten seconds. A long answer is waited
// for, but a lost one never comes.
Duration WaitNotice::ask_every() const {
  if (is_asked_) return kAskAgain;
  return told_ == Told::runs ? kTellEvery : kLookEvery;
}

WaitNotice::WaitNotice(Invocation& call, Client& client, std::uint64_t job, const std::string& verb,
                       What what) {
  if (what == What::progress) {
    timer_ = client.reactor().every(kLookEvery, [this, &call, &client, job, verb] {
      const Time now = client.reactor().now();
      if (now - asked_at_ < ask_every()) return;
      asked_at_ = now;
      is_asked_ = true;
      answer_ =
          client.record_later(job, [this, &call, &client, verb](const msg::JobRecord& record) {
            is_asked_ = false;
            tell(call, verb, record, client.reactor().now());
          });
    });
    return;
  }
  const auto tell = [&call, verb](const msg::JobRecord& record) {
    if (record.t_alloc > 0 || record.state == "INACTIVE") return;
    const std::string why = why_it_waits(record, instance::wall_clock_ms());
    call.io.err << fmt::format("{}: job {} waits{}{}\n", verb, msg::label_of(record),
                               why.empty() ? "" : ": ", printable(why))
                << std::flush;
  };
  timer_ = client.reactor().after(
      call.io.err_terminal ? kForPeople : kForFiles,
      [this, &client, job, tell] { answer_ = client.record_later(job, tell); });
}

}  // namespace holon::cli
