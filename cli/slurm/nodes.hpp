// nodes.hpp - the nodes of an instance and its queues, as Slurm knows nodes and partitions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "client/client.hpp"

namespace holon::cli::slurm {

struct Node {
  std::string host;
  std::string state;  // idle, mixed, allocated, draining, drained, down
  std::string reason;
  std::int64_t cores = 0, cores_held = 0, gpus = 0, memory_mib = 0;
};
struct Partition {
  std::string name;
  bool is_usual = false;  // where jobs go that name none
  bool is_up = true;
};
struct Cluster {
  std::vector<Node> nodes;
  std::vector<Partition> partitions;
};

// Asks the instance. Errors: those of the client; protocol (what it has cannot be read).
Result<Cluster> cluster_of(client::Client& client);

}  // namespace holon::cli::slurm
