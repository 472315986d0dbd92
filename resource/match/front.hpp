// front.hpp - the candidates of one request, best first, so that a search by score can stop as soon
// as it has enough.
//
// A candidate's key is the best score it could still contribute if the request started now. Keys
// only sink by themselves, lazily, when somebody looks; what is given back raises them again
// (revive). So the work of a match follows what has changed since the last one, not the number of
// candidates.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "resource/graph/graph.hpp"

namespace holon::resource::match {

class Front {
 public:
  struct Candidate {
    VertexId vertex;
    std::int64_t best = 0;  // key with everything free; a higher key is better
  };

  Front() = default;
  // REQUIRES: no candidate is below another.
  Front(const ResourceGraph& graph, std::vector<Candidate> candidates);

  struct Popped {
    VertexId vertex;
    std::int64_t key = 0;
    std::uint32_t position = 0;
  };
  // The candidate with the highest key, the first in pre-order among equals; nullopt: none is left.
  std::optional<Popped> best() const;
  // Takes the best candidate out.
  std::optional<Popped> pop();
  // Puts a candidate back with this key; one not put back stays out until it is revived.
  void put_back(std::uint32_t position, std::int64_t key) { push(position, key); }

  // The n-th best candidate by first keys, whatever has become of it; nullopt: there are fewer. For
  // questions about other times than now.
  std::optional<Popped> nth(std::size_t n) const;

  // Gives candidates touched by a release at v (`subtree`: and everything below it) their first
  // keys.
  void revive(const ResourceGraph& graph, VertexId v, bool subtree);
  // Gives all candidates their first keys.
  void reset();

  std::size_t size() const { return candidates_.size(); }

 private:
  struct Entry {
    std::int64_t key = 0;
    std::uint32_t position = 0;                 // of the candidate
    bool operator<(const Entry& other) const {  // for a heap with the best on top
      return key != other.key ? key < other.key : position > other.position;
    }
  };
  static constexpr std::int64_t kOut = INT64_MIN;

  void push(std::uint32_t position, std::int64_t key);
  void drop_stale();

  std::vector<Candidate> candidates_;   // in pre-order
  std::vector<std::uint32_t> ranking_;  // positions by first key, best first
  std::vector<std::uint32_t> pre_;      // of each candidate
  std::vector<std::int64_t> key_;       // of each candidate; kOut: not in the heap
  std::vector<Entry> heap_;             // may hold entries that are out of date
};

}  // namespace holon::resource::match
