#include "resource/planner/searched_timeline.hpp"

#include <algorithm>
#include <utility>

namespace holon::resource {

void SearchedTimeline::remove(Interval when, Amount amount) {
  plan_.remove(when, amount);
  doubt_around(when);
}

void SearchedTimeline::move_end(Interval when, Amount amount, Time end) {
  plan_.move_end(when, amount, end);
  if (end < when.end) doubt_around({end, when.end});
}

// Marks where new windows may begin: a new window touches the gap and begins less than the fact's
// length before it; a longer window would have been one already before the gap.
void SearchedTimeline::doubt_around(Interval gap) {
  if (facts_.empty() || gap.empty()) return;
  const Amount least = plan_.min_used(gap);
  for (Fact& fact : facts_) {
    const Time begin = gap.begin - fact.length + 1;
    if (least > fact.cap || begin >= fact.none.end || gap.end <= fact.none.begin) continue;
    if (fact.doubt.empty()) fact.doubt = {begin, gap.end};
    fact.doubt = {std::min(fact.doubt.begin, begin), std::max(fact.doubt.end, gap.end)};
  }
}

std::optional<Time> SearchedTimeline::earliest_window(const WindowQuery& query) {
  if (plan_.point_count() < few_points_) return plan_.earliest_window(query);
  const Time latest = query.end == kTimeMax ? kTimeMax : query.end - query.length;
  if (latest < query.from) return std::nullopt;
  Time from = query.from;
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (!facts_[i].covers(query)) continue;
    from = std::max(from, facts_[i].sure_until());
    if (from <= latest) continue;
    std::swap(facts_[i], facts_[i / 2]);
    return std::nullopt;
  }
  while (Fact* fact = doubtful(query, latest)) {
    settle(*fact, query.from);
    from = std::max(from, fact->none.end);
    if (from > latest) return std::nullopt;
  }
  // The search has no end, so that its answer serves other queries too.
  const auto found = plan_.earliest_window({from, kTimeMax, query.length, query.cap});
  if (!found) return std::nullopt;
  if ((*found - from) / query.length >= kShort)
    remember({query.cap, query.length, {query.from, *found}, {}});
  return *found <= latest ? found : std::nullopt;
}

// The fact that would answer the query if nothing were doubtful; of several the one that answers
// most other queries too.
SearchedTimeline::Fact* SearchedTimeline::doubtful(const WindowQuery& query, Time latest) {
  Fact* widest = nullptr;
  for (Fact& fact : facts_) {
    if (fact.doubt.empty() || fact.none.end <= latest || !fact.covers(query)) continue;
    if (widest == nullptr || fact.length < widest->length) widest = &fact;
  }
  return widest;
}

// Times before `from` are not asked for any more: time goes on.
void SearchedTimeline::settle(Fact& fact, Time from) {
  fact.none.begin = from;
  const auto found = plan_.earliest_window({std::max(fact.doubt.begin, from),
                                            saturating_add(fact.doubt.end - 1, fact.length),
                                            fact.length, fact.cap});
  if (found) fact.none.end = std::min(fact.none.end, *found);
  fact.doubt = {};
}

void SearchedTimeline::remember(const Fact& fact) {
  std::erase_if(facts_, [&](const Fact& known) { return known.says_less_than(fact); });
  if (facts_.size() == kMostFacts) facts_.pop_back();
  facts_.insert(facts_.begin(), fact);
}

}  // namespace holon::resource
