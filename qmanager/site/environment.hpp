// environment.hpp - Grid Engine's parallel environments: how the slots of a job are spread over
// hosts.
//
// Source: sge_pe(5). A machine without hosts (FlatMachine) is one host.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "qmanager/site/access.hpp"

namespace holon::qmanager {

struct AllocationRule {
  enum class Kind : std::uint8_t {
    any,          // the match policy decides
    per_host,     // exactly `slots` on each host
    one_host,     // $pe_slots: all on one
    fill_up,      // $fill_up: all a host has, then the next
    round_robin,  // $round_robin: one on each host in turn, again until all are placed
  };
  Kind kind = Kind::any;
  std::int64_t slots = 0;

  bool operator==(const AllocationRule&) const = default;
};

struct ParallelEnvironment {
  std::optional<std::int64_t> slots;  // of all its jobs together; nullopt: no bound
  AllocationRule rule;
  AccessList access{};

  bool operator==(const ParallelEnvironment&) const = default;
};

// "4", "$pe_slots", "$fill_up", "$round_robin". Errors: invalid_argument with what is accepted.
Result<AllocationRule> parse_allocation_rule(std::string_view text);

// How many of `count` slots each host gets, given what is free on each, in host order; nullopt:
// they do not fit. $pe_slots takes the first host that has room. O(hosts).
std::optional<std::vector<std::int64_t>> spread(const AllocationRule& rule, std::int64_t count,
                                                const std::vector<std::int64_t>& free);

// The largest count up to `most` that spread() can place; 0 if none. O(hosts).
std::int64_t most_that_spread(const AllocationRule& rule, std::int64_t most,
                              const std::vector<std::int64_t>& free);

}  // namespace holon::qmanager
