// offer_wire_up.hpp - the wire-up that a job asks for by Start::mpi.
#pragma once
#include <memory>

#include "base/result.hpp"
#include "launch/messages.hpp"
#include "launch/mpi/kept_bytes.hpp"
#include "launch/mpi/wire_up.hpp"
#include "launch/program_image.hpp"
#include "launch/tasks/environment.hpp"
#include "launch/tasks/processes.hpp"
#include "transport/reactor.hpp"

namespace holon::launch {

// What a wire-up uses; all of it must outlive the wire-up.
struct WireUpGround {
  transport::Reactor& reactor;
  Processes& processes;
  const NodeFrame& frame;
  const ProgramImage& program;
  int cgroup = -1;                            // the job's; -1: the agent's
  std::shared_ptr<KeptBytes> kept = nullptr;  // bounds what jobs keep in the agent; nullptr: none
};

// nullptr: none was requested. Errors: system; invalid_argument (no such kind of wire-up).
Result<std::unique_ptr<WireUp>> make_wire_up(const WireUpGround& ground, const msg::Start& start,
                                             WireUpEvents events);

}  // namespace holon::launch
