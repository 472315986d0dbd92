// graph_machine.hpp - simulating on a resource graph instead of P processors.
#pragma once
#include <string>

#include "resource/graph/spec.hpp"
#include "sim/study.hpp"

namespace holon::sim {

struct GraphMachine {
  MakeMachine machine;     // a fresh idle copy of the graph each time
  std::int64_t cores = 0;  // its processors
};

// The machine. Errors: those of ResourceStore::load(); invalid_argument if there is no core.
Result<GraphMachine> graph_machine(const resource::GraphSpec& spec);
// The machine of a shape ("node=4/core=8"). Errors: those of read_shape(), too.
Result<GraphMachine> graph_machine(const std::string& shape);

// A trace's job as single cores anywhere.
qmanager::JobRequest graph_request(const TraceJob& job);

}  // namespace holon::sim
