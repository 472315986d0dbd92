// gathering.hpp - collects what an instance's agents say of their nodes as it begins. Resources of
// machines are put together from that; declared resources are known without agents.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "instance/resources/resources.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Gathering {
 public:
  // `own`: what the broker knows of the node that it shares with the agent of rank 0. `own_host`:
  // the name of that node; "": its own name. `secrets`: by rank, of each expected agent. `quorum`:
  // so many nodes, that one among them, are complete; 0: all are needed.
  Gathering(ResourceSource own, std::string own_host, std::vector<std::string> secrets,
            std::uint32_t quorum = 0);

  // Takes an agent's hello about its node, and asks for the topology if it is the first of its
  // kind. Other requests are ignored: the service that exists once the resources are known answers
  // them.
  void hear(const transport::Request& request);
  void peer_lost(transport::PeerId peer);
  // Is the agent of this rank here?
  bool has(std::uint32_t rank) const { return others_.contains(rank); }
  // `lost`: how many agents are known not to come.
  bool complete(std::size_t lost = 0) const;
  // The resources of the agents that have come so far.
  ResourceSource resources() const;

 private:
  ResourceSource own_;
  std::string own_host_;
  std::vector<std::string> secrets_;
  std::size_t wanted_;  // nodes
  struct Other {
    std::string host, digest;
    // A hello without the topology; answered where the topology was asked for.
    std::optional<transport::Request> hello = {};
    bool is_asked = false;
  };
  void ask_for(const std::string& digest);

  std::map<std::uint32_t, Other> others_;
  std::map<transport::PeerId, std::uint32_t> by_peer_;
  std::map<std::string, std::string> topologies_;  // by digest
};

}  // namespace holon::instance
