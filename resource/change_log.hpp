// change_log.hpp - which vertices have changed since when, so that a save need not write what is
// saved already.
#pragma once
#include <cstdint>
#include <vector>

#include "resource/graph/graph.hpp"

namespace holon::resource {

// Appends in O(1) amortised; never grows beyond a few entries a vertex, however late it is asked.
class ChangeLog {
 public:
  // `subtree`: the vertices below v have changed too.
  void add(VertexId v, bool subtree);
  // All changes that are added from now on have tokens at or after this one.
  std::uint64_t token() const { return next_; }
  // Alive vertices changed at or after `token`, each once, in slot order. O(entries since + what
  // they cover).
  std::vector<VertexId> since(std::uint64_t token, const ResourceGraph& graph) const;

 private:
  struct Entry {
    std::uint64_t token = 0;
    VertexId vertex;
    bool subtree = false;
  };
  void compact();

  std::vector<Entry> entries_;  // by token
  std::uint64_t next_ = 1;
  std::size_t limit_ = 4096;  // compact when there are more
};

}  // namespace holon::resource
