#include "instance/per_user/own_failures.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace holon::instance {
namespace {

// After an instance that ended before it was up no other is made for kFirstWait, which doubles with
// each further failure up to kLongestWait.
constexpr Duration kFirstWait = 5'000, kLongestWait = 60'000;

Duration pause_after(unsigned failures) {
  constexpr unsigned kMostDoublings = 4;
  return std::min(kLongestWait, kFirstWait << std::min(failures - 1, kMostDoublings));
}

// An instance that was cancelled while it waited, that gave its place to another job, or that had
// nothing to do has not failed.
bool has_failed(const msg::JobRecord& record) {
  const bool went_wrong = record.result == "FAILED" || record.result == "TIMEOUT";
  return went_wrong && record.child_uri.empty();
}

}  // namespace

OwnFailures failures_with(const msg::JobRecord& newest, unsigned before, Time now) {
  if (!has_failed(newest)) return {};
  const unsigned in_a_row = before + 1;
  const Time next = newest.t_inactive + pause_after(in_a_row);
  const bool is_in_pause = newest.t_inactive <= now && now < next;
  return {in_a_row, is_in_pause ? next : 0};
}

std::string how_it_failed(msg::JobRecord record, const Hiding& hiding) {
  hiding.record(record);
  return fmt::format(
      "{0}, the instance of your own, has ended before it was up{1}{2}; `holon job output {0}` "
      "says more",
      record.path, record.reason.empty() ? "" : ": ", record.reason);
}

}  // namespace holon::instance
