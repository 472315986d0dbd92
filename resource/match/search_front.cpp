// search_front.cpp - looking at candidates best first, and no further than needed.
//
// Scores follow from ids alone, so where a request has one resource at its top the order of the
// candidates is known before any is looked at. A slot's score follows from what is free in it: a
// candidate's key is then an upper bound, and the search goes on until no bound is above the worst
// that would be taken.
//
// Equal scores: the whole-graph search leaves them to std::sort. Where exact_ties asks for its
// choice, that search is asked, unless the graph is big; else the first in pre-order wins.
#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "resource/match/search.hpp"

namespace holon::resource::match {
namespace {

constexpr std::size_t kSmallGraph =
    8'192;  // vertices: the whole-graph search takes a fraction of a millisecond

// A group's rank among all: better keys first, and of equal ones those with the lower `tie`. `tie`
// is the candidate's place in pre-order; or, where another search is asked about ties, higher for a
// group of fewer units.
struct Rank {
  std::int64_t key = 0;
  std::int64_t tie = 0;
  std::size_t group = 0;
  bool operator<(const Rank& other) const {
    if (key != other.key) return key > other.key;
    return std::tie(tie, group) < std::tie(other.tie, other.group);
  }
};

// The best groups so far, no more than make up `most`. The result does not depend on the order in
// which groups come.
class Best {
 public:
  explicit Best(std::int64_t most) : most_(most) {}

  void add(const Rank& rank, std::int64_t count) {
    ranks_.emplace(rank, count);
    count_ += count;
    while (count_ - ranks_.top().second >= most_) {
      count_ -= ranks_.top().second;
      last_dropped_ = std::max(last_dropped_, ranks_.top().first.key);
      ranks_.pop();
    }
  }
  bool enough() const { return count_ >= most_; }
  // Was a group left out that is as good as the worst one kept?
  bool tied() const { return enough() && last_dropped_ == worst().key; }
  const Rank& worst() const { return ranks_.top().first; }  // REQUIRES: enough()

  // All groups, best first.
  std::vector<Rank> take_all() {
    std::vector<Rank> all(ranks_.size());
    for (auto at = all.rbegin(); at != all.rend(); ++at, ranks_.pop()) *at = ranks_.top().first;
    return all;
  }

 private:
  std::int64_t most_;
  std::int64_t count_ = 0;
  std::int64_t last_dropped_ = INT64_MIN;
  std::priority_queue<std::pair<Rank, std::int64_t>> ranks_;  // the worst on top
};

}  // namespace

bool Search::ranked() const {
  return !policy_.stop_at_first && policy_.order != Order::variation;
}

bool Search::has_slot_contents(VertexId v, const Need& slot) const {
  return !slot.with.empty() &&
         std::all_of(slot.with.begin(), slot.with.end(),
                     [&](const Need& inner) { return occupancy_.has_child_type(v, inner.type); });
}

std::int64_t Search::bonus_above(VertexId v) const {
  std::int64_t bonus = 0;
  for (VertexId up = graph_.parent(v); up != kNoVertex; up = graph_.parent(up))
    if (graph_[up].type == node_type_) bonus += policy_.node_bonus(graph_[up]);
  return bonus;
}

// The best score of a slot made of v's children, or of units anywhere below v, free now or all: no
// slot that is really found is better. REQUIRES: these are units.
std::int64_t Search::best_slot_score(VertexId v, const Need& slot, bool free_only) const {
  const bool low = policy_.order == Order::low;
  const Interval instant{when_.begin, saturating_add(when_.begin, 1)};
  const std::int64_t bonus =
      bonus_above(v) + (graph_[v].type == node_type_ ? policy_.node_bonus(graph_[v]) : 0);
  std::int64_t score = 1;
  std::vector<std::int64_t> scores;
  for (const Need& need : slot.with) {
    scores.clear();
    const auto offer = [&](VertexId unit) {
      if (graph_[unit].type != need.type) return;
      if (free_only &&
          (!graph_.schedulable(unit, instant) || occupancy_.free(graph_, unit, instant) <= 0))
        return;
      scores.push_back(bonus + policy_.score(graph_, unit));
    };
    if (is_home(v, slot, nullptr))
      for (const VertexId unit : graph_.subtree(v)) offer(unit);
    else
      for (const VertexId child : graph_.children(v)) offer(child);
    const std::int64_t wanted = low ? need.count.min : need.most;
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(wanted, static_cast<std::int64_t>(scores.size())));
    if (static_cast<std::int64_t>(count) < need.count.min) return 0;
    if (low)
      std::partial_sort(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(count),
                        scores.end());
    else
      std::partial_sort(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(count),
                        scores.end(), std::greater<>());
    for (std::size_t i = 0; i < count; ++i) score = add_scores(score, scores[i]);
  }
  return score;
}

std::optional<Front> Search::front_for(const CompiledRequest& request) const {
  if (request.flexible || !ranked() || request.needs.size() != 1 || graph_.has_links())
    return std::nullopt;
  // under locality all of a run of ids are equal: std::sort decides which of them are taken
  if (policy_.order == Order::locality && graph_.vertex_count() <= kSmallGraph) return std::nullopt;
  const Need& need = request.needs.front();
  if (need.spare > 0) return std::nullopt;
  for (const Need& inner : need.with)
    if (need.is_slot() && (inner.is_slot() || !occupancy_.is_unit(inner.type))) return std::nullopt;
  std::vector<Front::Candidate> candidates;
  const auto order = graph_.in_preorder();
  for (std::uint32_t i = 0; i < order.size();) {
    const VertexId v = order[i];
    if (graph_.parent(v) == kNoVertex && v != graph_.root()) break;  // outside the tree
    const bool fits = !need.is_slot()             ? graph_[v].type == need.type
                      : is_home(v, need, nullptr) ? has_amounts(v, need)
                                                  : has_slot_contents(v, need);
    if (!fits) {
      ++i;
      continue;
    }
    if (v == graph_.root()) return std::nullopt;
    const std::int64_t score = need.is_slot() ? best_slot_score(v, need, false)
                                              : bonus_above(v) + policy_.score(graph_, v);
    if (score > 0) candidates.push_back({v, key_of(score)});
    i = graph_.subtree_end(v);
  }
  return Front(graph_, std::move(candidates));
}

// Does everything above v let the search pass? Each vertex is asked once a run.
bool Search::can_reach(VertexId v) {
  const VertexId up = graph_.parent(v);
  if (up == kNoVertex) return true;
  std::uint32_t& note = scratch_.reached[up.value()];
  const std::uint32_t refused = scratch_.run * 2, passed = refused + 1;
  if (note == refused || note == passed) return note == passed;
  ++counts_.visited;
  const bool passes = admit(up, request_->needs, false).units > 0 && can_reach(up);
  note = passes ? passed : refused;
  return passes;
}

// Is a vertex above v held, or down, at this very moment?
bool Search::is_shut_off(VertexId v) const {
  const Interval instant{when_.begin, saturating_add(when_.begin, 1)};
  for (VertexId up = graph_.parent(v); up != kNoVertex; up = graph_.parent(up))
    if (!graph_.schedulable(up, instant) || occupancy_.free(graph_, up, instant) <= 0) return true;
  return false;
}

bool Search::try_candidate(VertexId v, Harvest& top) {
  if (!can_reach(v)) return false;
  bonus_ = bonus_above(v);
  const bool found = try_child(v, request_->needs, true, false, top);
  bonus_ = 0;
  return found;
}

// The worth of a candidate for the next question about now; nullopt: none, until something is given
// back.
std::optional<std::int64_t> Search::key_now(const Front::Popped& candidate, bool found) {
  const Need& need = request_->needs.front();
  if (!found && is_shut_off(candidate.vertex)) return std::nullopt;
  if (need.is_slot()) {
    const std::int64_t score = best_slot_score(candidate.vertex, need, true);
    if (score == 0) return std::nullopt;
    return key_of(score);
  }
  if (found) return candidate.key;
  const Interval asked = when_;
  when_ = {asked.begin, saturating_add(asked.begin, 1)};
  Harvest& unused = next_harvest();
  const bool fits_now = visit(candidate.vertex, request_->needs, true, false, unused).has_value();
  --depth_;
  when_ = asked;
  if (!fits_now) return std::nullopt;
  return candidate.key;
}

// Keys left by earlier questions say only how far the search must go: a candidate that could be as
// good as the worst one taken is looked at too if it comes before that one.
bool Search::explore_front(Front& front, Harvest& top) {
  const Need& need = request_->needs.front();
  if (scratch_.reached.size() < graph_.slots()) scratch_.reached.assign(graph_.slots(), 0);
  if (++scratch_.run >= UINT32_MAX / 2) {
    std::fill(scratch_.reached.begin(), scratch_.reached.end(), 0);
    scratch_.run = 1;
  }
  const bool leaves_ties = exact_ties_ && graph_.vertex_count() <= kSmallGraph;
  Best best(need.most);
  std::vector<std::pair<std::uint32_t, std::int64_t>> back;
  bool certain = true;
  for (std::size_t next = 0;; ++next) {
    const auto ahead = now_ ? front.best() : front.nth(next);
    if (!ahead) break;
    if (best.enough() && ahead->key <= best.worst().key) {
      certain = ahead->key < best.worst().key;
      if (certain || leaves_ties || ahead->position > best.worst().tie) break;
    }
    const Front::Popped candidate = now_ ? *front.pop() : *ahead;
    const std::size_t known = top.of(need.type).groups.size();
    const bool found = try_candidate(candidate.vertex, top);
    const auto& groups = top.of(need.type).groups;
    bool as_expected = false;
    for (std::size_t i = known; i < groups.size(); ++i) {
      const std::int64_t key = key_of(groups[i].score);
      best.add({key, leaves_ties ? -groups[i].count : candidate.position, i}, groups[i].count);
      as_expected = as_expected || key == candidate.key;
    }
    if (!now_) continue;
    const auto key = as_expected ? candidate.key : key_now(candidate, found);
    if (key) back.emplace_back(candidate.position, *key);
  }
  for (const auto& [position, key] : back) front.put_back(position, key);
  if (leaves_ties) return certain && !best.tied();
  Found& all = top.of(need.type);
  Found kept{all.type, {}, 0, 0, 0};
  for (const Rank& rank : best.take_all()) {
    kept.groups.push_back(all.groups[rank.group]);
    kept.count += kept.groups.back().count;
  }
  all = std::move(kept);
  return true;
}

}  // namespace holon::resource::match
