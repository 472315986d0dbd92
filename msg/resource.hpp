// resource.hpp - what clients ask and change about an instance's resources. Conventions as
// in instance.hpp; docs/protocol.md is the description for others.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// A node that takes no new work; running jobs go on.
struct DrainedNode {
  std::string host, reason;
  std::int64_t since = 0;
  bool above = false;  // an instance above drained it
  bool busy = false;   // jobs run there still
  HOLON_FIELDS(host, reason, since, above, busy)
};

// "resource.list" and "resource.R"; the request is empty.
struct ResourceReply {
  // Units by type: node, core, gpu, memory, ...; `drained` are those that no job has.
  std::map<std::string, std::int64_t> total, free, down, drained;
  // Hostlists; a node with any unit held is allocated, a drained one may be so.
  std::string nodes_free, nodes_allocated, nodes_down;
  std::vector<DrainedNode> nodes_drained;
  std::string R;  // what this instance has, Rv1 with JGF under "scheduling"
  HOLON_FIELDS(total, free, down, drained, nodes_free, nodes_allocated, nodes_down, nodes_drained,
               R)
};

// "resource.drain": kept in the journal; child instances on these nodes follow. All or none.
struct DrainRequest {
  std::string hosts;  // hostlist
  bool drain = true;  // false: they take work again
  std::string reason;
  HOLON_FIELDS(hosts, drain, reason)
};

// "node.invite": a new invitation for nodes that the instance was not started with. It is a secret.
struct InviteRequest {
  std::int64_t lifetime = 3'600'000;  // ms from now
  std::uint64_t uses = 1;             // nodes that may come with it
  HOLON_FIELDS(lifetime, uses)
};
struct InviteReply {
  std::string invitation;  // one line of JSON, for `holon join`
  HOLON_FIELDS(invitation)
};

// "node.leave": the node is drained; once nothing runs there its agent ends, and the request is
// answered.
struct LeaveRequest {
  std::string host;
  bool now = false;  // running jobs are cancelled
  HOLON_FIELDS(host, now)
};

// "drain", from an instance to those below: all nodes that are drained there, whenever one changes
// or the child connects.
struct DrainedAbove {
  std::vector<DrainedNode> nodes;
  HOLON_FIELDS(nodes)
};

}  // namespace holon::msg
