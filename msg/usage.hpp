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

// The keys that JobsRequest::by takes, except "".
std::span<const std::string_view> usage_keys();
// Checks a key. Errors: invalid_argument, with those that are accepted.
Status check_usage_key(const std::string& by);

// Usage by its key.
using UsageTable = std::map<std::string, Usage>;

// Adds a job, `n` times; one that is not over is passed over. An array's record stands for those of
// its tasks that are over; what they have used together is added by the array's own key.
// REQUIRES: check_usage_key(by).
void add_usage(UsageTable& table, const std::string& by, const JobRecord& job, std::uint64_t n = 1);
// Adds an entry of another table.
void add_usage(UsageTable& table, const Usage& more);

}  // namespace holon::msg
