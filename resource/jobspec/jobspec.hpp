// jobspec.hpp - what a job asks for: canonical jobspec (RFC 14), jobspec V1 (RFC 25), as a value.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::resource {

// How many of a resource. A plain number N is min == max == N, operand irrelevant. `{min: m}` alone is "at least m, as
// many as possible": max is kUnbounded. Candidates are min, min op operand, ... not above max (RFC 14).
struct Count {
  static constexpr std::int64_t kUnbounded = INT64_MAX;
  std::int64_t min = 1;
  std::int64_t max = 1;
  char op = '+';  // '+', '*' or '^'
  std::int64_t operand = 1;
  std::vector<std::int64_t> values;  // the admissible counts of an idset ("2,4,8"), ascending; else empty

  bool operator==(const Count&) const = default;
};

// One vertex of the request tree.
struct Request {
  std::string type;   // "node", "core", "slot", "xor_slot", "memory", ...
  Count count;
  std::string unit;   // empty: none given
  std::string label;  // mandatory on a slot, unique in the jobspec
  std::optional<bool> exclusive;
  std::vector<Request> with;

  bool operator==(const Request&) const = default;
};

// RFC 31. `op` is one of properties, hostlist, ranks (then `values`) or and, or, not (then `operands`);
// empty op matches everything.
struct Constraint {
  std::string op;
  std::vector<std::string> values;
  std::vector<Constraint> operands;

  bool operator==(const Constraint&) const = default;
};

struct Task {
  std::vector<std::string> command;
  std::string slot;  // label of the slot each task is put in
  std::int64_t per_slot = 0;  // exactly one of per_slot, total, per_resource_count is > 0
  std::int64_t total = 0;
  std::string per_resource_type;
  std::int64_t per_resource_count = 0;
  std::string distribution;

  bool operator==(const Task&) const = default;
};

struct Jobspec {
  int version = 1;
  std::vector<Request> resources;
  std::vector<Task> tasks;

  // attributes.system, the keys the scheduler knows:
  double duration_seconds = 0;  // 0: until the end of the instance or the queue's default
  std::string queue;
  std::string name;
  std::string cwd;
  std::map<std::string, std::string> environment;
  Constraint constraints;
  // everything under attributes that is not known above, kept as JSON text (an object with "system" and "user")
  std::string other_attributes;

  bool operator==(const Jobspec&) const = default;
};

// Reads YAML or JSON. Errors: invalid_argument with the line (YAML) or pointer, what was found and what is accepted.
// O(bytes). Source: RFC 14, RFC 25 (V1 is the subset this accepts too).
Result<Jobspec> parse_jobspec(std::string_view bytes);

// Canonical JSON, such that parse_jobspec(write_jobspec(j)) == j.
std::string write_jobspec(const Jobspec& jobspec);

}  // namespace holon::resource
