// jobspec.hpp - what a job asks for: canonical jobspec (RFC 14), jobspec V1 (RFC 25), as a value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::resource {

// The number of a resource. A plain number N is min == max == N, operand irrelevant. `{min: m}`
// alone is "at least m, as many as possible": max is kUnbounded. Candidates are min, min op
// operand, ... not above max (RFC 14).
struct Count {
  static constexpr std::int64_t kUnbounded = INT64_MAX;
  std::int64_t min = 1;
  std::int64_t max = 1;
  char op = '+';  // '+', '*' or '^'
  std::int64_t operand = 1;
  std::vector<std::int64_t>
      values;  // the admissible counts of an idset ("2,4,8"), ascending; else empty

  std::int64_t least() const { return values.empty() ? min : values.front(); }

  bool operator==(const Count&) const = default;
};

// One vertex of the request tree.
struct Request {
  std::string type;  // "node", "core", "slot", "xor_slot", "memory", ...
  Count count;
  std::string unit;   // empty: none given
  std::string label;  // mandatory on a slot
  std::string id;     // RFC 14's optional identifier; kept, not interpreted
  std::optional<bool> exclusive;
  std::vector<Request> with;

  bool operator==(const Request&) const = default;
};

// A constraint (RFC 31). `op` is one of properties, hostlist, ranks (then `values`) or and, or, not
// (then `operands`); empty op matches everything.
struct Constraint {
  std::string op;
  std::vector<std::string> values;
  std::vector<Constraint> operands;

  bool operator==(const Constraint&) const = default;
};

struct Task {
  std::vector<std::string> command;
  std::string slot;           // label of the slot each task is put in
  std::int64_t per_slot = 0;  // exactly one of per_slot, total, per_resource_count is > 0
  std::int64_t total = 0;
  std::string per_resource_type;
  std::int64_t per_resource_count = 0;
  std::string distribution;
  std::string attributes;  // RFC 14's task attributes as JSON text (an object); empty: none

  bool operator==(const Task&) const = default;
};

struct Jobspec {
  int version = 1;
  std::vector<Request> resources;
  std::vector<Task> tasks;

  // Keys of attributes.system that the scheduler knows:
  double duration_seconds = 0;  // 0: until the end of the instance or the queue's default
  std::string queue;
  std::string name;
  std::string cwd;
  std::map<std::string, std::string> environment;
  std::vector<std::string>
      unset_environment;           // names given as null: taken out of the task's environment
  bool empty_environment = false;  // it is given and has no names: tasks inherit nothing
  Constraint constraints;
  // All other attributes, kept as JSON text (an object with "system" and "user").
  std::string other_attributes;

  bool operator==(const Jobspec&) const = default;
};

// Sizes beyond which input is refused instead of eating memory or stack.
inline constexpr std::size_t kMaxJobspecBytes = 16u << 20;
// More than any job's words and variables. A reader of so many serves nobody else meanwhile.
inline constexpr std::size_t kMaxJobspecValues = 1u << 17;
inline constexpr int kMaxJobspecDepth = 256;              // lists and maps inside each other
inline constexpr std::int64_t kMaxCount = 4'294'967'295;  // of one resource, as in Fluxion

// Bounds of a jobspec that a client sends. One accepted before, such as an array that has grown
// since, has none when it is read again.
struct JobspecBounds {
  std::size_t bytes = kMaxJobspecBytes;
  std::size_t values = kMaxJobspecValues;
};
inline constexpr JobspecBounds kNoJobspecBounds{std::numeric_limits<std::size_t>::max(),
                                                std::numeric_limits<std::size_t>::max()};

// Reads YAML or JSON (the latter when the first byte that is not blank is '{'). Unknown keys are
// refused in resources and at the top, kept under attributes. Errors: invalid_argument with the
// line (YAML) and the pointer, what was found and what is accepted. O(bytes). Source: RFC 14, RFC
// 25 (V1 is a subset), RFC 31 (constraints), RFC 22 and 45 (counts).
Result<Jobspec> parse_jobspec(std::string_view bytes, JobspecBounds bounds = {});

// Writes canonical JSON: parse_jobspec(write_jobspec(j)) == j for every j that parse_jobspec
// returns.
std::string write_jobspec(const Jobspec& jobspec);

// Checks what a submitted job needs beyond the syntax: one slot with a label, one task that names
// it, a command. Errors: invalid_argument with the pointer. O(requests).
Status check_submittable(const Jobspec& jobspec);
// Checks the least of that, for a job that was accepted when it came.
Status check_runnable(const Jobspec& jobspec);

// Words after "nodes": "with fast, without host:n7"; some 200 bytes at most; "": no constraint.
std::string constraint_text(const Constraint& constraint);

// Is it jobspec V1 (RFC 25)? Errors: invalid_argument with the pointer of what is not.
Status check_v1(const Jobspec& jobspec);

// Reads a count as users write it: "4", RFC 22 idset "2,4,8" or "[1-3,7]", RFC 45 range "2-16:2:*"
// or "3+". Errors: invalid_argument.
Result<Count> parse_count(std::string_view text);

// Do min, max, operator and operand fit together? Errors: invalid_argument.
Status check_count(const Count& count);

// The largest admissible count that is at most `available`; 0: there is none. O(log) of the range.
std::int64_t largest_count(const Count& count, std::int64_t available);

// Slots left out where tasks do not divide evenly over nodes: of N nodes with S slots each and one
// task that stands T times in all, N * S - T nodes do without one of their slots. 0 if the jobspec
// is not of that form, or would leave a node without a slot.
std::int64_t spare_slots(const Jobspec& jobspec);

// The request of `submit`, `run`, `batch` and `alloc` by -N -n -c -g -x, in Flux's form: node >
// slot > core, gpu.
struct JobShape {
  std::int64_t nodes = 0;  // 0: tasks go where they fit
  std::int64_t tasks = 1;  // slots; with nodes they are spread evenly, at least one each
  std::int64_t cores_per_task = 1;
  std::int64_t gpus_per_task = 0;
  std::int64_t memory_per_task = 0;  // units of `memory` (GiB in our own discovery)
  bool exclusive = false;            // whole nodes; needs `nodes`
  double duration_seconds = 0;       // 0: no limit of its own
  std::vector<std::string> command;
  std::string queue;
  std::string name;
  std::string cwd;
  std::map<std::string, std::string> environment;
  bool inherit_environment = true;  // where `environment` is empty: from whoever starts the tasks
  Constraint constraints;
};

// The jobspec for the shape. Errors: invalid_argument naming the option (counts below 1, more nodes
// than tasks, exclusive without nodes).
Result<Jobspec> jobspec_for(JobShape shape);

}  // namespace holon::resource
