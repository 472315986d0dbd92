#include "resource/match/front.hpp"

#include <algorithm>

namespace holon::resource::match {

Front::Front(const ResourceGraph& graph, std::vector<Candidate> candidates)
    : candidates_(std::move(candidates)) {
  std::sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
    return graph.pre(a.vertex) < graph.pre(b.vertex);
  });
  for (const Candidate& candidate : candidates_) {
    ranking_.push_back(static_cast<std::uint32_t>(pre_.size()));
    pre_.push_back(graph.pre(candidate.vertex));
  }
  std::stable_sort(ranking_.begin(), ranking_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return candidates_[a].best > candidates_[b].best;
  });
  reset();
}

void Front::reset() {
  key_.clear();
  heap_.clear();
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    key_.push_back(candidates_[i].best);
    heap_.push_back({candidates_[i].best, i});
  }
  std::make_heap(heap_.begin(), heap_.end());
}

void Front::push(std::uint32_t position, std::int64_t key) {
  key_[position] = key;
  if (heap_.size() > 2 * candidates_.size() + 64) {  // mostly entries that are out of date
    heap_.clear();
    for (std::uint32_t i = 0; i < key_.size(); ++i)
      if (key_[i] != kOut) heap_.push_back({key_[i], i});
    std::make_heap(heap_.begin(), heap_.end());
    return;
  }
  heap_.push_back({key, position});
  std::push_heap(heap_.begin(), heap_.end());
  drop_stale();
}

// The top of the heap is always an entry that counts.
void Front::drop_stale() {
  while (!heap_.empty() && key_[heap_.front().position] != heap_.front().key) {
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }
}

std::optional<Front::Popped> Front::best() const {
  if (heap_.empty()) return std::nullopt;
  const Entry& top = heap_.front();
  return Popped{candidates_[top.position].vertex, top.key, top.position};
}

std::optional<Front::Popped> Front::pop() {
  const auto top = best();
  if (!top) return std::nullopt;
  key_[top->position] = kOut;
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  drop_stale();
  return top;
}

std::optional<Front::Popped> Front::nth(std::size_t n) const {
  if (n >= ranking_.size()) return std::nullopt;
  const Candidate& candidate = candidates_[ranking_[n]];
  return Popped{candidate.vertex, candidate.best, ranking_[n]};
}

void Front::revive(const ResourceGraph& graph, VertexId v, bool subtree) {
  // the only candidate that can be at or above v is the last one that begins before it
  const std::uint32_t pre = graph.pre(v);
  const auto next = std::upper_bound(pre_.begin(), pre_.end(), pre);
  auto first = static_cast<std::uint32_t>(next - pre_.begin());
  if (first > 0 && graph.within(v, candidates_[first - 1].vertex)) --first;
  const std::uint32_t end = subtree ? graph.subtree_end(v) : pre + 1;
  for (std::uint32_t i = first; i < candidates_.size() && pre_[i] < end; ++i)
    if (key_[i] != candidates_[i].best) push(i, candidates_[i].best);
}

}  // namespace holon::resource::match
