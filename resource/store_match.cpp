// store_match.cpp - the match operations: now, later, ever.
#include <algorithm>
#include <unordered_map>

#include "resource/question.hpp"
#include "resource/refusal.hpp"
#include "resource/store_state.hpp"

namespace holon::resource {

using match::Chosen;
using match::CompiledRequest;
using match::SearchQuestion;

Allocation allocation_of(const ResourceGraph& graph, JobId job, Interval when,
                         std::span<const Chosen> selection) {
  Allocation allocation;
  allocation.job = job;
  allocation.when = when;
  allocation.shares.reserve(selection.size());
  for (const Chosen& chosen : selection) {
    const std::int64_t uniq_id = graph[chosen.vertex].uniq_id;
    allocation.shares.push_back({uniq_id, chosen.units, chosen.exclusive});
    if (chosen.via != kNoVertex) allocation.links.emplace_back(uniq_id, graph[chosen.via].uniq_id);
    if (chosen.need != nullptr) allocation.labels.emplace_back(uniq_id, chosen.need->label);
  }
  return allocation;
}

namespace {

constexpr std::size_t kMostKnown = 16;

bool is_dry(MatchOp op) {
  return op == MatchOp::satisfiability || op == MatchOp::without_allocating ||
         op == MatchOp::without_allocating_future;
}

bool looks_ahead(MatchOp op) {
  return op == MatchOp::allocate_orelse_reserve || op == MatchOp::without_allocating_future;
}

// Words like "the 4 slots it needs are not free: 1 is", for a time: "free", "free then".
std::string describe(const match::Shortage& shortage, const std::string& when) {
  if (shortage.type.empty()) return "nothing that fits is " + when;
  if (shortage.wanted == 1) return "the " + shortage.type + " it needs is not " + when;
  return "the " + amount_text(shortage.wanted, shortage.type) + " it needs are not " + when + ": " +
         std::to_string(shortage.found) + (shortage.found == 1 ? " is" : " are");
}

Status check_request(const Jobspec& spec) {
  if (!spec.resources.empty()) return {};
  return fail(Errc::invalid_argument, "no resources asked for", "/resources");
}

// Refuses a request that is met by nothing: its job would not be known to be there.
Status check_held(std::span<const Chosen> selection) {
  if (!selection.empty()) return {};
  return fail(Errc::invalid_argument,
              "nothing in the request is held: it has no slot and nothing exclusive", "/resources");
}

// Adds shares to those that a job holds.
void add_shares(Allocation& allocation, const Allocation& more) {
  std::unordered_map<std::int64_t, std::size_t> place;  // of each vertex among the shares
  for (const Share& share : allocation.shares) place.emplace(share.uniq_id, place.size());
  for (const Share& share : more.shares) {
    const auto [at, is_new] = place.emplace(share.uniq_id, allocation.shares.size());
    if (is_new) {
      allocation.shares.push_back(share);
      continue;
    }
    Share& mine = allocation.shares[at->second];
    mine.amount += share.amount;
    mine.exclusive = mine.exclusive || share.exclusive;
  }
  for (const auto& label : more.labels)
    if (std::find(allocation.labels.begin(), allocation.labels.end(), label) ==
        allocation.labels.end())
      allocation.labels.push_back(label);
}

// One call of match(), with what its steps share.
class Matcher {
 public:
  // `to_the_end`: the job lasts to the end of the horizon, whenever it starts.
  Matcher(ResourceStore::State& state, ResourceStore::State::Known& known, Time now,
          Duration duration, Time clock, bool to_the_end = false)
      : state_(state),
        known_(known),
        request_(known.request),
        now_(now),
        duration_(duration),
        clock_(clock),
        to_the_end_(to_the_end),
        search_(state.graph, state.occupancy, state.policy, state.order, state.scratch) {}

  std::optional<Interval> when() const { return when_; }

  std::optional<std::vector<Chosen>> at(Time begin) {
    if (to_the_end_) duration_ = state_.options.horizon.end - begin;
    const Interval window{begin, saturating_add(begin, duration_)};
    if (window.end > state_.options.horizon.end) return std::nullopt;
    auto selection = run({.request = &request_,
                          .when = window,
                          .now = begin == clock_,
                          .exact_ties = state_.options.as_fluxion,
                          .lose_unnamed = state_.options.as_fluxion,
                          .order = state_.order_for(begin, clock_)});
    if (selection) when_ = window;
    return selection;
  }

  // The earliest start after now: a time at which something begins or ends.
  std::optional<std::vector<Chosen>> later() {
    const ResourceGraph& graph = state_.graph;
    const match::Occupancy& occupancy = state_.occupancy;
    if (!known_.bound) known_.bound.emplace(graph, occupancy, request_);
    match::StartSearch starts(*known_.bound, graph, occupancy, duration_);
    auto time = occupancy.next_event(graph.root(), now_);
    while (time) {
      time = occupancy.earliest_offer(graph, graph.root(), request_.total, *time, duration_);
      // to_the_end_: a length that is enough for the time looked at last is enough for a later one
      if (!time || *time >= state_.options.horizon.end) break;
      if (!to_the_end_ && saturating_add(*time, duration_) > state_.options.horizon.end) break;
      if (const auto next = starts.next(*time); next != time) {
        time = next;
        continue;
      }
      if (!state_.hides(request_, *time))
        if (auto selection = at(*time)) return selection;
      time = occupancy.next_event(graph.root(), *time);
    }
    return std::nullopt;
  }

  bool ever(bool only_up = false) {
    return search_
        .run({.request = &request_,
              .when = {now_, saturating_add(now_, 1)},
              .idle_machine = true,
              .now = false,
              .only_up = only_up})
        .has_value();
  }
  const match::Shortage& shortage() const { return search_.shortage(); }

 private:
  std::optional<std::vector<Chosen>> run(const SearchQuestion& question) {
    if (!known_.front && !known_.no_front) {
      known_.front = search_.front_for(request_);
      known_.no_front = !known_.front;
    }
    auto selection = search_.run(question, known_.front ? &*known_.front : nullptr);
    if (selection) state_.mark_whole(*selection);
    state_.counts.preorder += static_cast<std::uint64_t>(search_.counts().visited);
    state_.counts.postorder += static_cast<std::uint64_t>(search_.counts().finished);
    return selection;
  }

  ResourceStore::State& state_;
  ResourceStore::State::Known& known_;
  const CompiledRequest& request_;
  Time now_;
  Duration duration_;
  Time clock_;
  bool to_the_end_;
  match::Search search_;
  std::optional<Interval> when_;
};

}  // namespace

Result<ResourceStore::State::Known*> ResourceStore::State::know(const Jobspec& spec) {
  const std::int64_t spare = options.as_fluxion ? 0 : spare_slots(spec);
  const auto same = [&](const std::shared_ptr<Known>& one) {
    return one->spare == spare && one->resources == spec.resources &&
           one->constraints == spec.constraints;
  };
  auto at = std::find_if(known.begin(), known.end(), same);
  if (at == known.end()) {
    const bool flexible = options.traverser == "flexible";
    auto request = compile(spec, graph, occupancy.filters(), policy, flexible);
    if (!request) return tl::unexpected(request.error());
    request->by_units = !options.as_fluxion && occupancy.has_pools();
    request->names_levels = options.as_fluxion;
    if (!options.as_fluxion && !flexible) ask_for_amounts(*request, graph, occupancy, spare);
    auto fresh = std::make_shared<Known>();
    fresh->resources = spec.resources;
    fresh->constraints = spec.constraints;
    fresh->spare = spare;
    fresh->request = std::move(*request);
    if (known.size() >= kMostKnown) known.pop_back();
    at = known.insert(known.end(), std::move(fresh));
  }
  std::rotate(known.begin(), at, at + 1);
  return known.front().get();
}

const match::VisitOrder* ResourceStore::State::order_for(Time begin, Time now) {
  if (!policy.stop_at_first || options.as_fluxion || begin <= now) return &order;
  if (!untouched) untouched = std::make_shared<const match::VisitOrder>(graph);
  return untouched.get();
}

void ResourceStore::State::fronts_to(Time now) {
  // allocations keep what they hold until they are released; only a reservation ends by itself
  if (now < fronts_at || (now > fronts_at && reservations > 0)) made_room();
  fronts_at = now;
}

void ResourceStore::State::extend_overdue(Time now) {
  while (!ends.empty() && ends.begin()->first <= now && now < kTimeMax) {
    const JobId job = ends.begin()->second;
    ends.erase(ends.begin());
    occupancy.move_end(held.at(job).edit().hold, now + 1);
    ends.emplace(now + 1, job);
  }
}

Result<MatchOutcome> ResourceStore::State::match(JobId job, const Jobspec& spec, MatchOp op,
                                                 Time now, Duration duration) {
  if (!is_dry(op) && held.contains(job))
    return fail(Errc::exists, "job " + std::to_string(job.value()) + " holds resources already");
  if (duration < 0)
    return fail(Errc::invalid_argument, "a duration must not be negative", "duration");
  if (auto ok = check_request(spec); !ok) return tl::unexpected(ok.error());
  const Interval horizon = options.horizon;
  if (!horizon.contains(now)) return MatchOutcome(NotNow{"the time is outside the horizon"});
  const bool to_the_end = duration == 0 && options.as_fluxion;
  if (duration == 0) duration = distance(now, horizon.end);
  const auto request = know(spec);
  if (!request) return tl::unexpected(request.error());
  Known& asked = **request;
  extend_overdue(now);
  fronts_to(now);
  counts = {};

  Matcher matcher(*this, asked, now, duration, now, to_the_end);
  if (op == MatchOp::satisfiability) {
    if (!matcher.ever()) return MatchOutcome(Never{refusal(graph, spec, matcher.shortage())});
    Allocation nothing;
    nothing.job = job;
    return MatchOutcome(nothing);
  }
  if (auto refused = refuse_early(asked.request, op, {now, saturating_add(now, duration)}))
    return std::move(*refused);
  std::optional<std::vector<Chosen>> selection;
  match::Shortage shortage;
  const auto& failure = asked.failure;
  if (failure && failure->now == now && failure->duration <= duration && failure->freed == freed) {
    shortage = failure->shortage;
  } else {
    selection = matcher.at(now);
    shortage = matcher.shortage();
    if (!selection) asked.failure = {now, duration, freed, shortage};
  }
  if (!selection && looks_ahead(op)) selection = matcher.later();
  if (!selection) {
    const bool asks_ever = op == MatchOp::allocate_with_satisfiability || looks_ahead(op);
    if (asks_ever && !matcher.ever())
      return MatchOutcome(Never{refusal(graph, spec, matcher.shortage())});
    if (saturating_add(now, duration) > horizon.end)
      return MatchOutcome(NotNow{"it would run past the end of the instance"});
    return MatchOutcome(NotNow{describe(shortage, "free")});
  }
  if (selection->empty() && options.as_fluxion)
    return MatchOutcome(NotNow{"nothing of what was found would be held"});
  if (auto ok = check_held(*selection); !ok) return tl::unexpected(ok.error());
  const Interval when = *matcher.when();
  Allocation allocation = allocation_of(graph, job, when, *selection);
  const bool dry = is_dry(op);
  if (!dry) take(allocation, *selection, when.begin > now);
  touch(*selection, when, now, dry);
  return MatchOutcome(std::move(allocation));
}

Result<bool> ResourceStore::State::placeable(const Jobspec& spec) {
  if (auto ok = check_request(spec); !ok) return tl::unexpected(ok.error());
  const auto request = know(spec);
  if (!request) return tl::unexpected(request.error());
  counts = {};
  return Matcher(*this, **request, 0, 1, 0).ever(true);
}

Result<std::optional<Time>> ResourceStore::State::earliest_offer(const Jobspec& spec, Time from,
                                                                 Duration duration) {
  const auto request = know(spec);
  if (!request) return tl::unexpected(request.error());
  return occupancy.earliest_offer(graph, graph.root(), (**request).request.total, from, duration);
}

Result<MatchOutcome> ResourceStore::State::allocate(JobId job, const Jobspec& spec, Interval when,
                                                    Time now) {
  if (held.contains(job))
    return fail(Errc::exists, "job " + std::to_string(job.value()) + " holds resources already");
  if (when.empty() || when.begin < options.horizon.begin || when.end > options.horizon.end)
    return fail(Errc::out_of_range, "the interval is empty or not within the horizon", "when");
  if (auto ok = check_request(spec); !ok) return tl::unexpected(ok.error());
  const auto request = know(spec);
  if (!request) return tl::unexpected(request.error());
  extend_overdue(now);
  fronts_to(now);
  counts = {};
  Matcher matcher(*this, **request, when.begin, when.length(), now);
  const auto selection = matcher.at(when.begin);
  if (!selection) return MatchOutcome(NotNow{describe(matcher.shortage(), "free then")});
  if (auto ok = check_held(*selection); !ok) return tl::unexpected(ok.error());
  Allocation allocation = allocation_of(graph, job, when, *selection);
  take(allocation, *selection, when.begin > now);
  touch(*selection, when, now, job == kQuestion);
  return MatchOutcome(std::move(allocation));
}

Result<MatchOutcome> ResourceStore::State::extend(JobId job, const Jobspec& more, Time now) {
  const auto at = held.find(job);
  if (at == held.end())
    return fail(Errc::not_found, "job " + std::to_string(job.value()) + " holds nothing");
  if (auto ok = check_request(more); !ok) return tl::unexpected(ok.error());
  const auto request = know(more);
  if (!request) return tl::unexpected(request.error());
  extend_overdue(now);
  fronts_to(now);
  counts = {};
  const Interval mine = at->second->hold.when;
  const Time from = std::max(now, mine.begin);
  if (from >= mine.end) return MatchOutcome(NotNow{"the time of what the job holds is over"});
  Matcher matcher(*this, **request, from, mine.end - from, now);
  const auto selection = matcher.at(from);
  if (!selection) return MatchOutcome(NotNow{describe(matcher.shortage(), "free")});
  if (auto ok = check_held(*selection); !ok) return tl::unexpected(ok.error());
  Held& grown = at->second.edit();
  add_shares(grown.allocation, allocation_of(graph, job, mine, *selection));
  std::vector<Share> shares = grown.allocation.shares;
  exchange(job, std::move(shares), from);
  touch(*selection, {from, mine.end}, now, false);
  return MatchOutcome(held.at(job)->allocation);
}

}  // namespace holon::resource
