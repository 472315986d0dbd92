// nodes_above.hpp - what a whole node of the instance above is like, as that has said: an instance
// may have a part of a node only, and reckons with nodes that it has never seen.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "instance/membership/granted_nodes.hpp"
#include "instance/tree/parent_link.hpp"
#include "msg/grant.hpp"
#include "resource/graph/spec.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class NodesAbove {
 public:
  NodesAbove(const resource::ResourceStore& store, const GrantedNodes& granted, ParentLink* parent)
      : store_(store), granted_(granted), parent_(parent) {}

  // Asks, unless that was done a moment ago; `done` is called with the answer, at once if it is
  // known.
  void ask(
      Time now, const std::function<void()>& done = [] {});
  // The instance above may be another one, or have others.
  void forget() { asked_at_.reset(); }
  // When it is to be asked again, if whole nodes are wanted.
  Time due() const;

  // Has the instance above ever said something?
  bool is_known() const { return !shape_.empty() || !why_none_.empty(); }
  // May whole nodes come, as far as is known?
  bool may_come() const { return granted_.may_come() && why_none_.empty(); }
  // One that may come: the one with the fewest cores; one like its own until that is known. Errors:
  // unsupported (neither is known).
  Result<resource::GraphSpec> node() const;
  // Its cores; 0: not known.
  std::int64_t cores_of_one() const;

 private:
  void learn(const Result<msg::GrantChance>& told);

  const resource::ResourceStore& store_;
  const GrantedNodes& granted_;
  ParentLink* const parent_;  // may be null
  std::optional<Time> asked_at_;
  std::string shape_;     // "": not known
  std::string why_none_;  // "": there may be some
};

}  // namespace holon::instance
