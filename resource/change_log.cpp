#include "resource/change_log.hpp"

#include <algorithm>
#include <unordered_set>

namespace holon::resource {

void ChangeLog::add(VertexId v, bool subtree) {
  if (entries_.size() >= limit_) compact();
  entries_.push_back({next_++, v, subtree});
}

// Keeps the last entry of each vertex. An entry that covers the subtree is another than one that
// does not.
void ChangeLog::compact() {
  std::unordered_set<std::uint64_t> seen;
  const auto is_older = [&](const Entry& entry) {
    return !seen.insert(std::uint64_t{entry.vertex.value()} * 2 + entry.subtree).second;
  };
  const auto kept = std::remove_if(entries_.rbegin(), entries_.rend(), is_older);
  entries_.erase(entries_.begin(), kept.base());
  limit_ = std::max<std::size_t>(4096, entries_.size() * 2);
}

std::vector<VertexId> ChangeLog::since(std::uint64_t token, const ResourceGraph& graph) const {
  const auto first =
      std::lower_bound(entries_.begin(), entries_.end(), token,
                       [](const Entry& entry, std::uint64_t from) { return entry.token < from; });
  std::vector<VertexId> changed;
  for (auto at = first; at != entries_.end(); ++at) {
    if (!graph[at->vertex].alive) continue;
    if (at->subtree)
      for (const VertexId v : graph.subtree(at->vertex)) changed.push_back(v);
    else
      changed.push_back(at->vertex);
  }
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  return changed;
}

}  // namespace holon::resource
