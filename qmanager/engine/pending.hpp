// pending.hpp - the jobs of one queue in the order in which they are looked at.
//
// A sorted vector with gaps: a pass walks contiguous memory, a submit at the tail is an append, a
// job that leaves is marked. Gaps are closed between passes, so that an index stays valid during
// one. Copies share the vector until one of them changes it.
#pragma once
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/shared.hpp"
#include "base/time.hpp"

namespace holon::qmanager {

struct Job;

// The total order of a queue: higher priority first, then earlier submission, then lower id.
struct OrderKey {
  std::int64_t rank = 0;  // minus the priority
  Time submitted = 0;
  std::uint64_t id = 0;

  auto operator<=>(const OrderKey&) const = default;
};

class PendingList {
 public:
  std::size_t size() const { return live_; }
  bool empty() const { return live_ == 0; }

  // O(1) at the tail, else O(jobs behind it).
  void insert(OrderKey key, Job* job) {
    Body& body = body_.edit();
    const bool at_tail = body.entries.empty() || body.entries.back().key < key;
    const std::size_t slot = at_tail ? body.entries.size() : lower_bound(key);
    body.entries.insert(body.entries.begin() + static_cast<std::ptrdiff_t>(slot), Entry{key, job});
    front_ = std::min(front_, slot);
    ++live_;
    count_inserted(body, slot);
  }

  // O(log n). REQUIRES: the job is in the list.
  void erase(OrderKey key) {
    const std::size_t slot = index_of(key);
    Body& body = body_.edit();
    body.entries[slot].job = nullptr;
    --body.live_in[slot / kBlock];
    --live_;
    while (front_ < body.entries.size() && body.entries[front_].job == nullptr) ++front_;
  }

  // Indices run from 0 to slots(); a gap holds nullptr.
  std::size_t front() const { return front_; }  // all before it are gaps
  std::size_t slots() const { return body_->entries.size(); }
  Job* at(std::size_t slot) const { return body_->entries[slot].job; }
  const OrderKey& key_at(std::size_t slot) const { return body_->entries[slot].key; }
  // First slot that is not before `key`; first slot behind it.
  std::size_t lower_bound(const OrderKey& key) const {
    const auto& entries = body_->entries;
    return std::lower_bound(entries.begin(), entries.end(), key,
                            [](const Entry& e, const OrderKey& k) { return e.key < k; }) -
           entries.begin();
  }
  std::size_t behind(const OrderKey& key) const {
    const auto& entries = body_->entries;
    return std::upper_bound(entries.begin(), entries.end(), key,
                            [](const OrderKey& k, const Entry& e) { return k < e.key; }) -
           entries.begin();
  }

  // Jobs in front of the job. O(slots / kBlock + kBlock). REQUIRES: the job is in the list.
  std::size_t position(const OrderKey& key) const {
    const std::size_t slot = index_of(key);
    std::size_t before = 0;
    for (std::size_t block = 0; block < slot / kBlock; ++block) before += body_->live_in[block];
    for (std::size_t i = slot / kBlock * kBlock; i < slot; ++i) before += at(i) != nullptr;
    return before;
  }

  // Closes the gaps when they are most of the list. Invalidates indices. O(1) amortised.
  void compact() {
    if (slots() < 2 * live_ + 16) return;
    close_gaps();
  }

  // Renews all keys, like reorder(), where the order may not have changed. True: it has. Else
  // `last`, the key of a job listed now or before, becomes the key of the job in its place or the
  // nearest in front of it; nullopt: there is none. O(n), O(n log n) if true.
  template <class KeyOf>
  bool rekey(std::optional<OrderKey>& last, KeyOf key_of) {
    std::size_t before = 0;
    if (last)
      for (std::size_t slot = front_; slot < behind(*last); ++slot) before += at(slot) != nullptr;
    close_gaps();
    auto& entries = body_.edit().entries;
    const auto earlier = [](const Entry& a, const Entry& b) { return a.key < b.key; };
    for (Entry& e : entries) e.key = key_of(e.job);
    if (!std::is_sorted(entries.begin(), entries.end(), earlier)) {
      std::sort(entries.begin(), entries.end(), earlier);
      return true;
    }
    if (last) last = before == 0 ? std::nullopt : std::optional(entries[before - 1].key);
    return false;
  }

  // Sorts anew after the keys of many jobs changed. `key_of(Job*)` tells the new key. O(n log n).
  template <class KeyOf>
  void reorder(KeyOf key_of) {
    close_gaps();
    auto& entries = body_.edit().entries;
    for (Entry& e : entries) e.key = key_of(e.job);
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.key < b.key; });
  }

 private:
  struct Entry {
    OrderKey key;
    Job* job;
  };
  struct Body {
    std::vector<Entry> entries;
    std::vector<std::size_t> live_in;  // jobs in each kBlock slots
  };

  void close_gaps() {
    auto& [entries, live_in] = body_.edit();
    std::erase_if(entries, [](const Entry& e) { return e.job == nullptr; });
    front_ = 0;
    live_in.assign((entries.size() + kBlock - 1) / kBlock, kBlock);
    if (entries.size() % kBlock != 0) live_in.back() = entries.size() % kBlock;
  }

  // An insertion at `slot` has moved the last slot of each block behind it into the next block.
  static void count_inserted(Body& body, std::size_t slot) {
    bool moved = true;  // the slot that came into the block is a job's
    for (std::size_t block = slot / kBlock;; ++block) {
      if (block == body.live_in.size()) body.live_in.push_back(0);
      body.live_in[block] += moved;
      const std::size_t end = (block + 1) * kBlock;
      if (end >= body.entries.size()) return;
      moved = body.entries[end].job != nullptr;
      body.live_in[block] -= moved;
    }
  }

  // A key may be in the list twice, once as a gap, when a job left and came back.
  std::size_t index_of(const OrderKey& key) const {
    std::size_t slot = lower_bound(key);
    while (at(slot) == nullptr) ++slot;
    return slot;
  }

  static constexpr std::size_t kBlock = 256;

  Shared<Body> body_;
  std::size_t live_ = 0;
  std::size_t front_ = 0;
};

}  // namespace holon::qmanager
