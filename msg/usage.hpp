// usage.hpp - what jobs that are over have used, added up. Broker and command line ask the same
// functions.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "msg/instance.hpp"

namespace holon::msg {

// What JobsRequest::by takes, but for "".
std::span<const std::string_view> usage_keys();
// Errors: invalid_argument, with those that are accepted.
Status check_usage_key(const std::string& by);

// By the key of each.
using UsageTable = std::map<std::string, Usage>;

// Adds a job, `n` times; one that is not over is passed over. An array's record stands for those of
// its tasks that are over; what they have used together is added by the array's own key.
// REQUIRES: check_usage_key(by).
void add_usage(UsageTable& table, const std::string& by, const JobRecord& job, std::uint64_t n = 1);
// Adds what another table has.
void add_usage(UsageTable& table, const Usage& more);

}  // namespace holon::msg
