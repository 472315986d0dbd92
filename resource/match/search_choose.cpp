// search_choose.cpp - the way up: slots are filled, groups scored, the best of them chosen.
#include <algorithm>

#include "resource/match/search.hpp"
#include "resource/match/tally.hpp"

namespace holon::resource::match {
namespace {

// Sorts as std::sort: a range strictly in order does not change; in any other, ties land where it
// leaves them.
template <class Groups, class Before>
void sort_groups(Groups& groups, Before before) {
  bool in_order = true;
  for (std::size_t i = 1; i < groups.size() && in_order; ++i)
    in_order = before(groups[i - 1], groups[i]);
  if (!in_order) std::sort(groups.begin(), groups.end(), before);
}

}  // namespace

void Search::sort(std::vector<Group>& groups, bool descending) const {
  if (descending)
    sort_groups(groups, [](const Group& a, const Group& b) { return a.score > b.score; });
  else
    sort_groups(groups, [](const Group& a, const Group& b) { return a.score < b.score; });
}

// Sorts by runs of scores that lie side by side; the run with the highest scores goes first.
// `scores` grows from request to request, as Fluxion's interval set does.
void Search::sort_by_runs(std::vector<Group>& groups, std::vector<std::int64_t>& scores) const {
  for (const Group& group : groups) scores.push_back(group.score);
  std::sort(scores.begin(), scores.end());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // score, first score of its run
  for (const std::int64_t score : scores) {
    const bool joins = !runs.empty() && runs.back().first == score - 1;
    runs.emplace_back(score, joins ? runs.back().second : score);
  }
  const auto run = [&](const Group& group) {
    return std::lower_bound(runs.begin(), runs.end(), std::pair(group.score, INT64_MIN))->second;
  };
  sort_groups(groups, [&](const Group& a, const Group& b) { return run(a) > run(b); });
}

bool Search::choose(const std::vector<Need>& needs, Harvest& harvest, bool at_root) {
  std::vector<std::int64_t> scores;
  for (const Need& need : needs) {
    Found* found = nullptr;
    for (Found& one : harvest.types)
      if (one.type == need.type) found = &one;
    const std::int64_t there = found == nullptr ? 0 : usable(need, *found);
    const std::int64_t count = largest_count(need.count, there);
    if (count == 0) {
      shortage_ = {need.type_name, need.count.min, there};
      return false;
    }
    if (at_root && policy_.order == Order::locality)
      sort_by_runs(found->groups, scores);
    else
      sort(found->groups, policy_.order == Order::high || policy_.order == Order::locality);
    if (need.spare > 0) spare_slots(need, *found);
    std::int64_t left = count;
    found->chosen = 0;
    while (left > 0) left -= found->groups[found->chosen++].count;
    Group& last = found->groups[found->chosen - 1];
    if (left < 0 && is_divisible(last)) cut(last, last.count + left);
    harvest.decided = true;
  }
  return true;
}

// The last nodes give up the spare slots, as a block of tasks fills the first ones.
void Search::spare_slots(const Need& need, Found& found) {
  std::int64_t left = need.count.min, may_be_short = need.spare;
  std::vector<std::uint32_t> full;  // of those that are taken
  const auto is_taken = [&](const Group& group) {
    const bool is_short = taken_[group.first].last_slot == 0;
    if (left == 0 || (is_short && may_be_short == 0)) return false;
    --left;
    if (is_short)
      --may_be_short;
    else
      full.push_back(group.first);
    return true;
  };
  std::stable_partition(found.groups.begin(), found.groups.end(), is_taken);
  std::sort(full.begin(), full.end(), [&](std::uint32_t a, std::uint32_t b) {
    return graph_.pre(taken_[a].vertex) > graph_.pre(taken_[b].vertex);
  });
  for (std::int64_t i = 0; i < may_be_short; ++i) {
    Taken& node = taken_[full[static_cast<std::size_t>(i)]];
    node.length -= node.last_slot;
  }
}

void Search::cut(Group& group, std::int64_t units) {
  Taken part = taken_[group.first];
  part.units = group.count = units;
  group.first = static_cast<std::uint32_t>(taken_.size());
  taken_.push_back(part);
}

std::int64_t Search::slots_that_fit(const std::vector<Need>& shape, const Harvest& contents) const {
  std::int64_t slots = INT64_MAX;
  for (const Need& need : shape) {
    const Found* found = contents.find(need.type);
    const std::int64_t count = found == nullptr ? 0 : largest_count(need.count, found->count);
    if (count == 0) return 0;
    Tally tally;
    tally.per_share = count;
    tally.divisible = divides(need);
    for (const Group& group : found->groups) tally.add(group.count);
    slots = std::min(slots, tally.shares);
  }
  return shape.empty() ? 0 : slots;
}

std::int64_t Search::fill(Group& slot, const Found& found, std::int64_t count, Next& next) {
  std::int64_t filled = 0;
  while (filled < count && next.group < found.groups.size()) {
    const Group& group = found.groups[next.group];
    const std::int64_t left = group.count - next.used;
    const bool divisible = is_divisible(group);
    const std::int64_t units = divisible ? std::min(left, count - filled) : left;
    for (std::uint32_t t = 0; t < group.length; ++t) {
      Taken taken = taken_[group.first + t];
      taken.exclusive = true;
      if (divisible) taken.units = units;
      taken_.push_back(taken);
    }
    slot.score = add_scores(slot.score, group.score);
    filled += units;
    next = units == left ? Next{next.group + 1, 0} : Next{next.group, next.used + units};
  }
  return filled;
}

void Search::fill_slots(VertexId v, const Answer& answer, Harvest& harvest) {
  const std::vector<Need>& shape = *answer.next;
  Harvest& contents = next_harvest();
  explore(v, shape, false, true, answer.slots, contents);
  --depth_;
  // a pool may have room for any number; whole vertices give no more than were found
  make_slots(shape, contents,
             request_->by_units ? std::min(answer.slots, kMostSlots) : std::int64_t{INT64_MAX},
             harvest);
}

void Search::make_slots(const std::vector<Need>& shape, Harvest& contents, std::int64_t most,
                        Harvest& harvest) {
  const bool descending = policy_.order != Order::low;
  for (Found& found : contents.types) sort(found.groups, descending);
  const std::int64_t slots = std::min(slots_that_fit(shape, contents), most);
  std::vector<Next> next(shape.size());
  for (std::int64_t i = 0; i < slots; ++i) {
    Group slot{1, 1, static_cast<std::uint32_t>(taken_.size()), 0};
    for (std::size_t n = 0; n < shape.size(); ++n) {
      const Found& found = *contents.find(shape[n].type);
      fill(slot, found, largest_count(shape[n].count, found.count), next[n]);
    }
    slot.length = static_cast<std::uint32_t>(taken_.size()) - slot.first;
    Found& into = harvest.of(kSlot);
    into.groups.push_back(slot);
    ++into.count;
  }
}

std::pair<std::uint32_t, std::uint32_t> Search::contents_of(const Harvest& harvest) {
  const auto first = static_cast<std::uint32_t>(taken_.size());
  for (const Found& found : harvest.types)
    for (std::size_t i = 0; i < found.chosen; ++i)
      for (std::uint32_t t = 0; t < found.groups[i].length; ++t) {
        const Taken taken = taken_[found.groups[i].first + t];
        taken_.push_back(taken);
      }
  return {first, static_cast<std::uint32_t>(taken_.size()) - first};
}

void Search::collect(std::uint32_t first, std::uint32_t length, std::vector<Taken>& into) const {
  for (std::uint32_t i = first; i < first + length; ++i) {
    into.push_back(taken_[i]);
    collect(taken_[i].first, taken_[i].length, into);
  }
}

}  // namespace holon::resource::match
