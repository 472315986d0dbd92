// graph_machine.hpp - simulating on a resource graph instead of P processors.
#pragma once
#include <string>

#include "sim/study.hpp"

namespace holon::sim {

struct GraphMachine {
  MakeMachine machine;     // a fresh idle copy of the graph each time
  std::int64_t cores = 0;  // its processors
};

// `resources` is JGF or Rv1 text, or a shape ("node=4/core=8"). Errors: those of the reader;
// invalid_argument if there is no core.
Result<GraphMachine> graph_machine(const std::string& resources);

// A trace's job as single cores anywhere.
qmanager::JobRequest graph_request(const TraceJob& job);

}  // namespace holon::sim
