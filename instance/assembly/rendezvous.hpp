// rendezvous.hpp - several tasks that a launcher has started together (`srun -N4 holon start`,
// `mpiexec -n 4 holon start`) find each other: the first becomes the broker, and one other task on
// each node its agent there. The same happens where `holon start` runs on a host that is none of
// the granted nodes, as in a shell that salloc has opened on a login node.
#pragma once
#include <optional>

#include "base/result.hpp"
#include "batch/environment.hpp"
#include "config/config.hpp"
#include "instance/assembly/nodes.hpp"
#include "instance/basics/options.hpp"
#include "instance/basics/surroundings.hpp"
#include "launch/remote/invitation.hpp"

namespace holon::instance {

struct Rendezvous {
  bool is_first = false;  // this task becomes the broker, of these `nodes`
  Nodes nodes;
  // For another task; nullopt: it is not needed, for an earlier one has its node.
  std::optional<launch::Invitation> invitation;
  std::int64_t rank = -1;  // of the task's node; negative: the broker knows the node's name
};

// Is there something by which the tasks could meet?
bool can_meet(const batch::Environment& environment, const Surroundings& around);
// How they would meet, in words: "by PMIx". REQUIRES: can_meet(). Asks the daemon of MUNGE where
// that may be needed.
std::string way_to_meet(const batch::Environment& environment, const config::Config& config);

// Meets by PMI-1, by PMIx, or, in a step of Slurm without PMI, by a file in the user's home where
// the nodes share it, and else by MUNGE, at the first node of the step. Waits for the other tasks
// for `instance.gather-timeout`. nullopt: can_meet() is false. Errors: timed_out and others, with
// the remedy.
Result<std::optional<Rendezvous>> meet(const batch::Environment& environment,
                                       const Surroundings& around, const config::Config& config);

// Are there nodes, none of which is this host, and a launcher that reaches them from here?
bool is_login_host(const StartOptions& options, const Surroundings& around);

// Becomes the launcher, in one step that runs the same command on each node, where the tasks meet
// (above). `terminal`: the initial program has one. Returns only with an error: not_found, system.
Error start_on_nodes(const batch::Allocation& allocation, bool terminal);

}  // namespace holon::instance
