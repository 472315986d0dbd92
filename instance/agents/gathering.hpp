// gathering.hpp - what the agents of an instance say of their nodes as it begins. Its resources are
// put together from that where they are those of machines; declared ones are known without them.
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
  // `own`: what the broker knows itself, of the node that it shares with the agent of rank 0.
  // `secrets`: by rank, of each agent that is expected.
  // `own_host`: what that node is called; "": as it calls itself. `quorum`: it is complete with so
  // many of them, that node among them; 0: with all.
  Gathering(ResourceSource own, std::string own_host, std::vector<std::string> secrets,
            std::uint32_t quorum = 0);

  // Takes what an agent's hello says of its node, and asks for the topology where it is the first
  // one with that. Other requests are passed over: the service that exists once the resources are
  // known answers them.
  void hear(const transport::Request& request);
  void peer_lost(transport::PeerId peer);
  // Is the agent of this rank here?
  bool has(std::uint32_t rank) const { return others_.contains(rank); }
  // `lost`: of how many it is known that they will not come.
  bool complete(std::size_t lost = 0) const;
  // Of those that have come so far.
  ResourceSource resources() const;

 private:
  ResourceSource own_;
  std::string own_host_;
  std::vector<std::string> secrets_;
  std::size_t wanted_;  // nodes
  struct Other {
    std::string host, digest;
    // That was said without the topology; answered where that was asked for.
    std::optional<transport::Request> hello = {};
    bool is_asked = false;
  };
  void ask_for(const std::string& digest);

  std::map<std::uint32_t, Other> others_;
  std::map<transport::PeerId, std::uint32_t> by_peer_;
  std::map<std::string, std::string> topologies_;  // by digest
};

}  // namespace holon::instance
