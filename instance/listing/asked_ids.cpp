#include "instance/listing/asked_ids.hpp"

#include <fmt/core.h>

#include "msg/job_filter.hpp"
#include "msg/usage.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kMostIds = 10'000;

}  // namespace

Status check_ids(const std::vector<std::uint64_t>& ids) {
  if (ids.size() <= kMostIds) return {};
  return fail(Errc::out_of_range,
              fmt::format("{} ids; one request may have {}", ids.size(), kMostIds), "ids");
}

Status check_request(const msg::JobsRequest& ask) {
  if (ask.tasks && (ask.recursive || ask.limit > 0 || !ask.ids.empty()))
    return fail(Errc::invalid_argument,
                "is of all arrays of one instance: without recursive, limit and ids", "tasks");
  if (ask.stats && ask.recursive)
    return fail(Errc::invalid_argument, "counts the jobs of one instance", "stats");
  if (!ask.by.empty()) {
    if (auto known = msg::check_usage_key(ask.by); !known) return known;
    if (ask.recursive || ask.stats)
      return fail(Errc::invalid_argument, "adds up the jobs of one instance", "by");
  }
  if (auto known = msg::check_filter(ask.filter); !known) return known;
  return check_ids(ask.ids);
}

}  // namespace holon::instance
