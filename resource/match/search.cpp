// search.cpp - down and up the tree.
//
// Notes on Fluxion's semantics that are kept because choices depend on them:
// - Leading levels may be left out of a request (pristine): until something matched, a vertex that
//   nobody asked for is walked through and hands on what is found below it. After that every level
//   must be named, except that a slot may stand higher than its contents. It is so only where
//   Fluxion's answers are wanted (names_levels): who asks for cores of a node need not know its
//   sockets.
// - A pool is taken with all its free units, never in part; not so where a request goes by_units.
// - Groups are sorted by score alone and with std::sort, so equal scores of many groups land as
// std::sort leaves them.
// - A slot stands in one vertex, whose children it is made of. Where Fluxion's answers are not
//   wanted it is made of amounts of what stands below a node (search_amounts.cpp).
// - A slot's score is the sum of its contents' scores plus one.
#include "resource/match/search.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "resource/match/tally.hpp"

namespace holon::resource::match {

Search::Search(const ResourceGraph& graph, const Occupancy& occupancy, const Policy& policy,
               const VisitOrder& order, Scratch& scratch)
    : graph_(graph),
      occupancy_(occupancy),
      policy_(policy),
      usual_order_(&order),
      node_type_(graph.words().types.find("node")),
      storage_node_type_(graph.words().types.find("storage_node")),
      scratch_(scratch),
      taken_(scratch.taken),
      harvests_(scratch.harvests) {}

Search::Found& Search::Harvest::of(TypeId type) {
  for (Found& found : types)
    if (found.type == type) return found;
  types.push_back({type, {}, 0, 0, 0});
  return types.back();
}

const Search::Found* Search::Harvest::find(TypeId type) const {
  for (const Found& found : types)
    if (found.type == type) return &found;
  return nullptr;
}

void Search::Harvest::clear() {
  for (Found& found : types) {
    found.groups.clear();
    found.count = 0;
    found.chosen = 0;
    found.short_of_one = 0;
  }
  decided = false;
}

Search::Harvest& Search::next_harvest() {
  if (depth_ == harvests_.size()) harvests_.emplace_back();
  Harvest& harvest = harvests_[depth_++];
  harvest.clear();
  return harvest;
}

std::optional<std::vector<Chosen>> Search::run(const SearchQuestion& question, Front* front) {
  request_ = question.request;
  order_ = question.order != nullptr ? question.order : usual_order_;
  together_.clear();
  when_ = question.when;
  idle_ = question.idle_machine;
  only_up_ = !idle_ || question.only_up;
  now_ = question.now && !idle_;
  exact_ties_ = question.exact_ties;
  lose_unnamed_ = question.lose_unnamed;
  node_scores_ = question.node_scores;
  counts_ = {};
  if (request_->flexible) {
    for (const auto& needs : request_->variants)
      if (auto selection = walk(needs)) return selection;
    return std::nullopt;
  }
  if (front != nullptr) {
    Harvest& top = begin();
    if (explore_front(*front, top))
      return finish(request_->needs, {graph_.root(), 1, false, false, nullptr, 0, 0}, top);
  }
  return walk(request_->needs);
}

std::optional<std::vector<Chosen>> Search::walk(const std::vector<Need>& needs) {
  Harvest& top = begin();
  auto found = visit(graph_.root(), needs, true, false, top);
  if (!found) {
    // the root's own counters refused: nothing below it was counted, because nothing there fits
    if (shortage_.type.empty() && !needs.empty())
      shortage_ = {needs.front().type_name, needs.front().count.min, 0};
    return std::nullopt;
  }
  // the root stands beside what was found below it, for requests that name it
  Found& roots = top.of(graph_[graph_.root()].type);
  roots.groups.push_back({found->score, found->taken.units, 0, 0});
  roots.count += found->taken.units;
  for (const Need& need : needs)
    if (need.type == graph_[graph_.root()].type)
      found->taken.units = largest_count(need.count, found->taken.units);
  return finish(needs, found->taken, top);
}

Search::Harvest& Search::begin() {
  bonus_ = 0;
  all_free_ = false;
  depth_ = 0;
  shortage_ = {};
  taken_.clear();
  if (graph_.has_links()) scratch_.met.assign(graph_.slots(), false);
  return next_harvest();
}

std::optional<std::vector<Chosen>> Search::finish(const std::vector<Need>& needs, const Taken& root,
                                                  Harvest& top) {
  if (!choose(needs, top, true)) return std::nullopt;
  const auto [first, length] = contents_of(top);
  std::vector<Taken> chosen;
  collect(root.first, root.length, chosen);
  collect(first, length, chosen);
  return emit(root, std::move(chosen));
}

Search::Answer Search::compare(VertexId v, const std::vector<Need>& needs, bool pristine) const {
  if (request_->flexible) return compare_flexible(v, needs, pristine);
  Answer answer;
  const Need* slot = nullptr;
  bool matched = false;
  for (const Need& need : needs) {
    const bool named = need.type == graph_[v].type;
    if (!named && !need.is_slot()) continue;
    if (matched) return {};  // one type may be asked for once at a level
    matched = true;
    if (!named) {
      slot = &need;
      continue;
    }
    answer.need = &need;
    for (const Need& inner : need.with)
      if (inner.is_slot()) slot = &inner;
  }
  const auto has_all = [&](const Need& wanted) {
    return std::all_of(wanted.with.begin(), wanted.with.end(),
                       [&](const Need& inner) { return occupancy_.has_child_type(v, inner.type); });
  };
  if (slot != nullptr && is_home(v, *slot, answer.need)) {
    if (!has_amounts(v, *slot)) return {};
    answer.kind = Answer::Kind::slot;
    answer.next = &slot->with;
    answer.slots = slot->most;
    answer.amounts = slot;
  } else if (slot != nullptr && has_all(*slot)) {
    answer.kind = Answer::Kind::slot;
    answer.next = &slot->with;
    answer.slots = slot->most;
  } else if (answer.need != nullptr) {
    answer.kind = Answer::Kind::resource;
    answer.next = &answer.need->with;
  } else if (pristine || (!request_->names_levels && !graph_.children(v).empty())) {
    answer.kind = Answer::Kind::pass;
    answer.next = &needs;
  }
  return answer;
}

// A vertex that must be the job's alone is first asked whether it is idle: then it and all below it
// are free.
Search::Admission Search::admit(VertexId v, const std::vector<Need>& needs, bool exclusive) const {
  const Vertex& vertex = graph_[v];
  if (only_up_ && !graph_.schedulable(v, when_)) return {};
  if ((vertex.type == node_type_ || vertex.type == storage_node_type_) &&
      !request_->nodes.passes(graph_, v))
    return {};
  if (node_scores_ != nullptr && vertex.type == node_type_ && (*node_scores_)[v.value()] == 0)
    return {};
  const bool known_free = idle_ || all_free_;
  const bool must_be_idle = !request_->flexible && wants_alone(vertex.type, needs, exclusive);
  if (!known_free && must_be_idle && !occupancy_.idle(v, when_)) return {};
  const bool all_free = known_free || must_be_idle;
  const Admission admission{all_free ? vertex.size : free(v), all_free};
  if (admission.units <= 0) return {};
  if (idle_) return admission;
  if (request_->flexible) return offers_flexible(v, needs, exclusive) ? admission : Admission{};
  const auto offers = [&](const Demand& demand) {
    return all_free ? occupancy_.contains(vertex.type, v, demand)
                    : occupancy_.offers(vertex.type, v, demand, when_);
  };
  bool passed_through = true;
  for (const Need& need : needs) {
    const bool named = need.type == vertex.type;
    if (!named && !need.is_slot()) continue;
    passed_through = false;
    // a part of something exclusive cannot be shared again
    if (named && exclusive && need.exclusive == false && !divides(need)) return {};
    if (!offers(need.below)) return {};
  }
  // a vertex not asked for is worth walking through if a vertex asked for could be below
  if (passed_through && !graph_.has_links() &&
      std::none_of(needs.begin(), needs.end(), [&](const Need& need) { return offers(need.each); }))
    return {};
  return admission;
}

bool Search::wants_alone(TypeId type, const std::vector<Need>& needs, bool exclusive) const {
  bool named = false;
  for (const Need& need : needs) {
    if (need.type != type) continue;
    named = true;
    if (need.exclusive == true || (exclusive && !divides(need))) return true;
  }
  return !named && is_whole(type);
}

bool Search::is_whole(TypeId type) const {
  const auto& types = request_->exclusive;
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::optional<Search::Visit> Search::visit(VertexId v, const std::vector<Need>& needs,
                                           bool pristine, bool exclusive, Harvest& up) {
  ++counts_.visited;
  const Answer answer = compare(v, needs, pristine);
  if (answer.kind == Answer::Kind::nothing) return std::nullopt;
  exclusive = exclusive || (answer.need != nullptr && answer.need->exclusive == true);
  const Admission admission = admit(v, needs, exclusive);
  if (admission.units <= 0) return std::nullopt;
  if (graph_.has_links()) scratch_.met[v.value()] = true;

  Harvest& mine = next_harvest();
  const std::int64_t bonus = graph_[v].type == node_type_ ? node_bonus(v) : 0;
  bonus_ += bonus;
  const bool was_free = std::exchange(all_free_, admission.all_free && !idle_);
  if (answer.kind == Answer::Kind::slot && request_->flexible)
    fill_alternatives(v, answer, mine);
  else if (answer.amounts != nullptr)
    fill_amounts(v, answer, mine);
  else if (answer.kind == Answer::Kind::slot)
    fill_slots(v, answer, mine);
  else
    explore(v, *answer.next, answer.kind == Answer::Kind::pass, exclusive, 1, mine);
  all_free_ = was_free;
  bonus_ -= bonus;
  --depth_;

  if (answer.need != nullptr && !choose(answer.need->with, mine)) return std::nullopt;
  Visit found;
  const bool divisible = answer.need != nullptr && divides(*answer.need);
  found.taken = {v, admission.units, exclusive, divisible, answer.need, 0, 0};
  if (answer.need != nullptr && answer.need->spare > 0)
    if (const Found& slots = *mine.find(kSlot);
        static_cast<std::int64_t>(slots.chosen) == answer.slots)
      found.taken.last_slot = slots.groups[slots.chosen - 1].length;
  found.score = bonus_ + policy_.score(graph_, v);
  if (node_scores_ != nullptr) found.score += bonus;
  if (mine.decided)
    std::tie(found.taken.first, found.taken.length) = contents_of(mine);
  else
    hand_on(mine, up);
  ++counts_.finished;
  return found;
}

void Search::hand_on(const Harvest& from, Harvest& up) {
  for (const Found& found : from.types) {
    if (found.groups.empty()) continue;
    Found& into = up.of(found.type);
    into.groups.insert(into.groups.end(), found.groups.begin(), found.groups.end());
    into.count += found.count;
    into.short_of_one += found.short_of_one;
  }
}

bool Search::try_child(VertexId child, const std::vector<Need>& needs, bool pristine,
                       bool exclusive, Harvest& harvest, VertexId via) {
  if (graph_.has_links() && scratch_.met[child.value()]) return false;
  const auto found = visit(child, needs, pristine, exclusive, harvest);
  if (!found) return false;
  // a vertex only walked through is not among those asked for
  const TypeId type = graph_[child].type;
  const auto wanted =
      std::find_if(needs.begin(), needs.end(), [&](const Need& need) { return need.type == type; });
  if (wanted == needs.end()) return true;
  Found& into = harvest.of(type);
  if (wanted->spare > 0 && found->taken.last_slot == 0) ++into.short_of_one;
  into.groups.push_back(
      {found->score, found->taken.units, static_cast<std::uint32_t>(taken_.size()), 1});
  into.count += found->taken.units;
  taken_.push_back(found->taken);
  taken_.back().via = via;
  return true;
}

void Search::explore(VertexId v, const std::vector<Need>& needs, bool pristine, bool exclusive,
                     std::int64_t shares, Harvest& harvest) {
  if (policy_.stop_at_first) return explore_first(v, needs, pristine, exclusive, shares, harvest);
  for (const VertexId child : graph_.children(v))
    try_child(child, needs, pristine, exclusive, harvest);
  for (const VertexId linked : graph_.links(v))
    try_child(linked, needs, pristine, exclusive, harvest, v);
}

void Search::explore_first(VertexId v, const std::vector<Need>& needs, bool pristine,
                           bool exclusive, std::int64_t shares, Harvest& harvest) {
  std::vector<Tally> tallies(needs.size());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    tallies[i].per_share = needs[i].most;
    tallies[i].divisible = divides(needs[i]);
  }
  const auto satisfied = [&](std::size_t i) { return tallies[i].enough(shares); };
  const auto enough_with = [&](VertexId child, VertexId via) {
    for (std::size_t i = 0; i < needs.size(); ++i)
      if (needs[i].type == graph_[child].type && satisfied(i)) return false;
    if (!try_child(child, needs, pristine, exclusive, harvest, via)) return false;
    bool all = true;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const Found* found = harvest.find(needs[i].type);
      if (found != nullptr) tallies[i].see(usable(needs[i], *found));
      all = all && satisfied(i);
    }
    return all;
  };
  for (const VertexId child : order_->children(v))
    if (enough_with(child, kNoVertex)) return;
  const auto links = graph_.links(v);
  for (auto linked = links.rbegin(); linked != links.rend(); ++linked)
    if (enough_with(*linked, v)) return;
}

}  // namespace holon::resource::match
