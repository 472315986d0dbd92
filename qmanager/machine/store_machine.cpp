#include "qmanager/machine/store_machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "qmanager/machine/host_placement.hpp"
#include "qmanager/scheduler.hpp"
#include "qmanager/slots.hpp"
#include "resource/graph/graph.hpp"
#include "resource/question.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::kQuestion;
using resource::MatchOp;
using resource::Never;
using resource::NotNow;

bool StoreMachine::goes_by_host(const JobRequest& job) const {
  return spread_over_hosts(job) || (!job.on_hosts.empty() && check_host_placement(job));
}

bool StoreMachine::add_host_pools(const std::map<std::string, resource::Amount>& each) {
  if (store_->graph().by_type("node").empty()) return false;
  host_pools_.edit().define(each);
  return true;
}

StoreMachine::StoreMachine(resource::ResourceStore& store)
    : store_(store), procs_(store.total("core")) {
  const auto cores = static_cast<std::int64_t>(store.graph().by_type("core").size());
  if (cores > 0 && cores == procs_ && !anything_down() && store.jobs().empty())
    uniform_.emplace(cores, store.options().horizon);
  if (uniform_) node_cores_ = cores_of_like_nodes(store.graph());
  is_more_there();
}

void StoreMachine::leave_uniform() {
  if (!uniform_) return;
  uniform_.reset();
  replan_ = true;
  free_at_ = -1;
}

Result<std::optional<std::string>> StoreMachine::refuses(const JobRequest& job, Time now,
                                                         Duration length) const {
  if (!job.spec) return fail(Errc::invalid_argument, "a job needs a jobspec", "spec");
  const ShapeId id = shape_of(job);
  const Shape& known = (*shapes_)[id];
  if (known.placeable_at == status_ && known.placeable) return std::nullopt;
  const Duration asked = length == kTimeMax ? until_horizon(now) : length;
  // Whether a range of slots can be spread is a question of its own.
  if (!job.slots && known.satisfiable_at == status_ && asked <= known.satisfiable_for)
    return std::nullopt;
  auto outcome = store_.to_ask().match(job.id, *job.spec, MatchOp::satisfiability, now, asked);
  if (!outcome) return tl::unexpected(outcome.error());
  if (auto* never = std::get_if<Never>(&*outcome)) return std::move(never->reason);
  if (spread_over_hosts(job))
    if (Status sound = check_host_placement(job); !sound) return tl::unexpected(sound.error());
  const bool fits_hosts = goes_by_host(job)
                              ? could_be_spread(*store_, *host_pools_, job, false)
                              : host_pools_->slots_at_most(job.on_hosts) >= slots_a_node(*job.spec);
  if (!fits_hosts && spread_over_hosts(job))
    return "its slots can never be spread over the hosts as its parallel environment wants";
  if (!fits_hosts) return host_pools_->too_much(job.on_hosts);
  if (!job.slots) {
    Shape& of_job = shapes_.edit()[id];
    of_job.satisfiable_at = status_;
    of_job.satisfiable_for = asked;
  }
  return std::nullopt;
}

std::int64_t StoreMachine::procs_of(const JobRequest& job) const {
  return std::max<std::int64_t>(1, least_units(*job.spec, "core"));
}

// With everything up, and there to stay, a job that was accepted at submission can be placed some
// day. Otherwise the idle graph of what is up decides, not the plan: the plan has no place for a
// job that waits past the end of the lease or behind a job without end, though units may be given
// back at any time.
bool StoreMachine::placeable(const JobRequest& job) const {
  if (!grows_ && !anything_down()) return true;
  const ShapeId id = shape_of(job);
  if ((*shapes_)[id].placeable_at != status_) {
    Shape& of_job = shapes_.edit()[id];
    of_job.placeable = store_.to_ask().placeable(*job.spec).value_or(false) &&
                       (!goes_by_host(job) || could_be_spread(*store_, *host_pools_, job, true));
    of_job.placeable_at = status_;
  }
  return (*shapes_)[id].placeable;
}

std::string StoreMachine::outage() const {
  const resource::ResourceGraph& graph = store_->graph();
  std::size_t down = 0, drained = 0;
  const auto nodes = graph.by_type("node");
  for (const resource::VertexId v : nodes) {
    down += !graph[v].up;
    drained += graph[v].up && graph[v].drained;
  }
  const std::size_t out = down + drained;
  const std::string how = drained == 0 ? "down" : down == 0 ? "drained" : "down or drained";
  if (out == 0) return {};
  if (out < nodes.size())
    return std::to_string(out) + " of " + std::to_string(nodes.size()) + " nodes " +
           (out == 1 ? "is " : "are ") + how;
  return nodes.size() == 1 ? "its only node is " + how
                           : "all " + std::to_string(out) + " nodes are " + how;
}

bool StoreMachine::anything_down() const {
  if (down_known_ != status_) {
    const resource::ResourceGraph& graph = store_->graph();
    const auto all = graph.in_preorder();
    down_ = graph.has_ends() || !std::all_of(all.begin(), all.end(), [&](resource::VertexId v) {
              return graph[v].schedulable();
            });
    down_known_ = status_;
  }
  return down_;
}

bool StoreMachine::exhausted(Time now) const {
  return !coreless_jobs_ && free_cores_at_most(now) <= 0;
}

bool StoreMachine::hopeless(const JobRequest& job, Time now) const {
  return least_cores(shape(job)) > free_cores_at_most(now);
}

namespace {

const resource::Request* find_slot(const std::vector<resource::Request>& requests) {
  for (const resource::Request& request : requests) {
    if (request.type == "slot") return &request;
    if (const resource::Request* below = find_slot(request.with)) return below;
  }
  return nullptr;
}

// The nodes that the job is restricted to, as a clause; "": it takes any.
std::string nodes_text(const resource::Jobspec& spec) {
  const std::string text = resource::constraint_text(spec.constraints);
  return text.empty() ? text : "; it takes only nodes " + text;
}

// The parts of a slot, where slots are short: "(a slot is 1 core, 6 scratch)".
std::string slot_text(const resource::Jobspec& spec, const std::string& reason) {
  const resource::Request* slot = find_slot(spec.resources);
  if (slot == nullptr || reason.find(" slot") == std::string::npos) return {};
  std::string text;
  for (const resource::Request& part : slot->with)
    text +=
        (text.empty() ? " (a slot is " : ", ") + std::to_string(part.count.min) + " " + part.type;
  return text.empty() ? text : text + ")";
}

}  // namespace

std::optional<Shortage> StoreMachine::shortage(const JobRequest& job, Interval when) const {
  if (goes_by_number(job)) return uniform_->shortage(counted(job), when);
  const std::int64_t free = free_cores_at_most(when.begin);
  if (const std::int64_t cores = least_cores(shape(job)); cores > free)
    return Shortage{processors_short(cores, free, procs()), {}};
  if (goes_by_host(job)) {
    if (place_on_hosts(*store_, *host_pools_, job, when)) return std::nullopt;
    return Shortage{not_on_hosts(job), {}};
  }
  // A range of slots has its smallest count in the jobspec.
  const Outcome outcome =
      match_in(store_.to_ask(), job, MatchOp::without_allocating, when.begin, when.length());
  if (const auto* short_of = std::get_if<NotNow>(&outcome))
    return Shortage{
        short_of->reason + slot_text(*job.spec, short_of->reason) + nodes_text(*job.spec), {}};
  if (const auto* found = std::get_if<Allocation>(&outcome); found != nullptr)
    if (!host_pools_->fits(job.on_hosts, slots_on_hosts(job, *found), when))
      return Shortage{not_on_hosts(job), {}};
  return std::nullopt;
}

std::int64_t StoreMachine::free_cores_at_most(Time now) const {
  if (uniform_) return uniform_->free_procs(now);
  if (free_at_ != now) {
    free_ = store_->free_at_most("core", now);
    free_at_ = now;
  }
  return free_;
}

Machine::Outcome StoreMachine::match_in(resource::ResourceStore& store, const JobRequest& job,
                                        MatchOp op, Time now, Duration length) const {
  free_at_ = -1;
  auto outcome = store.match(job.id, *job.spec, op, now, length);
  // A request that the matcher cannot understand now will not be understood later either.
  if (!outcome) return Never{to_string(outcome.error())};
  return std::move(*outcome);
}

Duration StoreMachine::until_horizon(Time from) const {
  const Time end = store_->options().horizon.end;
  return end == kTimeMax ? kTimeMax - from : end - from;
}

// Enters the end of what is held into ends_; jobs without a limit need it.
Machine::Outcome StoreMachine::holds(Outcome outcome) {
  if (const auto* allocation = std::get_if<Allocation>(&outcome)) {
    Ends& ends = ends_.edit();
    ends.of[allocation->job] = allocation->when.end;
    ends.all.insert(allocation->when.end);
  }
  return outcome;
}

Machine::Outcome StoreMachine::allocate(const JobRequest& job, Time now, Duration length) {
  const Duration asked = length == kTimeMax ? until_horizon(now) : length;
  if (asked <= 0) return NotNow{"the lease of these resources is over"};
  if (!is_plain(job)) return hold_now_or_then(job, {now, saturating_add(now, asked)}, now);
  return holds(match_in(store_.edit(), job, MatchOp::allocate, now, asked));
}

// The largest number of slots that suits the job and that the matcher places over `when`; 0: none.
// Asks the matcher O(log of the range) times.
std::int64_t StoreMachine::most_that_fit(const JobRequest& job, Interval when, Time now) const {
  resource::ResourceStore& store = store_.to_ask();
  const auto fits = [&](std::int64_t count) {
    const auto outcome = store.allocate(kQuestion, *with_slots(job, count).spec, when, now);
    const bool found = outcome && std::holds_alternative<Allocation>(*outcome);
    if (found) static_cast<void>(store.release(kQuestion));
    return found;
  };
  free_at_ = -1;
  const std::int64_t each = std::max<std::int64_t>(1, job.procs / least_slots(job));
  std::int64_t low = least_slots(job);
  std::int64_t high = most_slots(job, procs_ / each);
  if (high == 0 || !fits(low)) return 0;
  while (low < high) {
    const std::int64_t middle = most_slots(job, low + (high - low + 1) / 2);
    // No count of a list between the two: the next above `low` is `high`.
    const std::int64_t next = middle > low ? middle : high;
    if (fits(next)) {
      low = next;
    } else if (next == high && middle == low) {
      break;
    } else {
      high = most_slots(job, next - 1);
    }
  }
  return low;
}

std::optional<NotNow> StoreMachine::out_of_horizon(Interval when) const {
  const Interval horizon = store_->options().horizon;
  if (!when.empty() && when.end <= horizon.end && when.begin >= horizon.begin) return std::nullopt;
  return NotNow{"it would not end before the end of the resources' lease"};
}

// Allocates what the matcher finds, if the consumables of the hosts have room for it too.
Machine::Outcome StoreMachine::allocate_in(resource::ResourceStore& store, const JobRequest& job,
                                           Interval when, Time now) const {
  free_at_ = -1;
  const std::int64_t count = job.slots ? most_that_fit(job, when, now) : least_slots(job);
  if (count == 0) return NotNow{"not even its smallest number of slots is free"};
  const auto spec = job.slots ? with_slots(job, count).spec : job.spec;
  auto outcome = store.allocate(job.id, *spec, when, now);
  if (!outcome) return Never{to_string(outcome.error())};
  const auto* found = std::get_if<Allocation>(&*outcome);
  if (found == nullptr || host_pools_->fits(job.on_hosts, slots_on_hosts(job, *found), when))
    return std::move(*outcome);
  static_cast<void>(store.release(job.id));
  return NotNow{not_on_hosts(job)};
}

// Holds now or later, for jobs with a range of slots or with slots spread over hosts.
Machine::Outcome StoreMachine::hold_now_or_then(const JobRequest& job, Interval when, Time now) {
  free_at_ = -1;
  if (auto outside = out_of_horizon(when)) return std::move(*outside);
  if (goes_by_host(job)) return hold_on_hosts(job, when, now);
  Outcome outcome = allocate_in(store_.edit(), job, when, now);
  if (const auto* found = std::get_if<Allocation>(&outcome))
    host_pools_.edit().hold(job.id, job.on_hosts, slots_on_hosts(job, *found), when);
  return holds(std::move(outcome));
}

// The outcome that hold_now_or_then() would have. REQUIRES: the job has the number of a question;
// it may hold something under its own already.
Machine::Outcome StoreMachine::would_hold(const JobRequest& job, Interval when, Time now) const {
  if (auto outside = out_of_horizon(when)) return std::move(*outside);
  if (goes_by_host(job)) {
    auto placed = place_on_hosts(*store_, *host_pools_, job, when);
    if (!placed) return NotNow{not_on_hosts(job)};
    return std::move(placed->allocation);
  }
  resource::ResourceStore& store = store_.to_ask();
  Outcome outcome = allocate_in(store, job, when, now);
  if (std::holds_alternative<Allocation>(outcome)) static_cast<void>(store.release(job.id));
  return outcome;
}

Machine::Outcome StoreMachine::hold_on_hosts(const JobRequest& job, Interval when, Time now) {
  auto placed = place_on_hosts(*store_, *host_pools_, job, when);
  if (!placed) return NotNow{not_on_hosts(job)};
  if (Status held = store_.edit().update(placed->allocation, now); !held)
    return NotNow{held.error().what};
  host_pools_.edit().hold(job.id, job.on_hosts, placed->slots, when);
  return holds(std::move(placed->allocation));
}

// The job's slots on each host. Empty: it uses no consumables of hosts, so none are counted.
HostSlots StoreMachine::slots_on_hosts(const JobRequest& job, const Allocation& allocation) const {
  if (job.on_hosts.empty()) return {};
  return slots_by_host(store_->graph(), allocation, slots_with(job, cores_of(allocation)));
}

bool StoreMachine::all_up(const Allocation& allocation) const {
  const resource::ResourceGraph& graph = store_->graph();
  return std::all_of(allocation.shares.begin(), allocation.shares.end(), [&](const auto& share) {
    const auto v = graph.find_uniq(share.uniq_id);
    return v && graph.schedulable(*v, allocation.when);
  });
}

bool StoreMachine::intact(JobId job) const {
  const Allocation* held = uniform_ ? nullptr : store_->find(job);
  return held == nullptr || !anything_down() || all_up(*held);
}

// The numbers say whether it fits; the store says where. Should they ever disagree, the store is
// right.
Machine::Outcome StoreMachine::claim(const JobRequest& job, Time now, Duration length) {
  if (uniform_) {
    const bool ranged = job.slots && uniform_->holds(job.id);
    Outcome outcome =
        allocate(ranged ? with_slots(job, uniform_->procs_held(job.id)) : job, now, length);
    if (!std::holds_alternative<Allocation>(outcome)) leave_uniform();
    return outcome;
  }
  const Allocation* held = store_->find(job.id);
  if (held == nullptr) return NotNow{};
  const Allocation same = *held;
  if (anything_down() && !all_up(same))
    return NotNow{"a node that was reserved for it is down, or gone too soon"};
  static_cast<void>(store_.edit().release(job.id));
  // The units are free: they were given back a line above.
  static_cast<void>(store_.edit().update(same, now));
  return same;
}

Machine::Outcome StoreMachine::start(const JobRequest& job, Time now, Duration length) {
  expect(job);
  if (!uniform_) return allocate(job, now, length);
  Outcome outcome = uniform_->start(counted(job), now, length);
  return std::holds_alternative<Allocation>(outcome) ? claim(job, now, length) : outcome;
}

Machine::Outcome StoreMachine::reserve(const JobRequest& job, const Wish& wish) {
  expect(job);
  if (uniform_) {
    Outcome outcome = uniform_->reserve(counted(job), wish);
    auto* planned = std::get_if<Allocation>(&outcome);
    if (planned == nullptr) return outcome;
    if (planned->when.begin == wish.now) return claim(job, wish.now, wish.length);
    planned->shares.clear();  // it is not known yet which
    return outcome;
  }
  if (is_plain(job) && wish.length != kTimeMax && wish.not_before == wish.now)
    return holds(
        match_in(store_.edit(), job, MatchOp::allocate_orelse_reserve, wish.now, wish.length));
  return first_time(job, wish,
                    [&](Interval when) { return hold_now_or_then(job, when, wish.now); });
}

// Tries `not_before` and the times at which something ends, in order, and takes the first that
// suits; no other start is earliest. Times that the counters of the whole machine rule out are
// skipped. `try_over` tries an interval.
template <class Try>
Machine::Outcome StoreMachine::first_time(const JobRequest& job, const Wish& wish,
                                          Try try_over) const {
  const Time horizon = store_->options().horizon.end;
  const bool to_the_end = wish.length == kTimeMax;
  // A span beyond the horizon delays no job.
  const Duration counted = to_the_end && horizon != kTimeMax ? 1 : wish.length;
  Time begin = wish.not_before;
  for (;;) {
    const auto offer = store_.to_ask().earliest_offer(*job.spec, begin, counted);
    if (!offer) return Never{to_string(offer.error())};
    if (!*offer) break;
    begin = **offer;
    const Time end = to_the_end ? horizon : saturating_add(begin, wish.length);
    if (begin >= end || end > horizon) break;
    Outcome outcome = try_over(Interval{begin, end});
    if (!std::holds_alternative<NotNow>(outcome)) return outcome;
    const auto later = ends_->all.upper_bound(begin);
    if (later == ends_->all.end()) break;
    begin = *later;
  }
  return NotNow{"no time is known at which what it needs will be free"};
}

std::optional<Time> StoreMachine::earliest(const JobRequest& job, const Wish& wish) const {
  if (goes_by_number(job)) return uniform_->earliest(counted(job), wish);
  const auto begin_of = [](const Outcome& outcome) {
    const auto* found = std::get_if<Allocation>(&outcome);
    return found == nullptr ? std::nullopt : std::optional(found->when.begin);
  };
  const bool plain = !spread_over_hosts(job) && job.on_hosts.empty();
  if (plain && wish.length != kTimeMax && wish.not_before == wish.now)
    return begin_of(
        match_in(store_.to_ask(), job, MatchOp::without_allocating_future, wish.now, wish.length));
  JobRequest question = job;
  question.id = kQuestion;
  return begin_of(first_time(question, wish,
                             [&](Interval when) { return would_hold(question, when, wish.now); }));
}

Machine::Outcome StoreMachine::hold_exactly(const JobRequest& job, Interval when, Time now) {
  leave_uniform();
  return hold_now_or_then(job, when, now);
}

void StoreMachine::vacate(JobId job, Time) {
  free_at_ = -1;
  host_pools_.edit().release(job);
  static_cast<void>(store_.edit().release(job));
}

void StoreMachine::release(JobId job, Time now) {
  free_at_ = -1;
  host_pools_.edit().release(job);
  if (uniform_ && uniform_->holds(job)) uniform_->release(job, now);
  if (ends_->of.contains(job)) {
    Ends& ends = ends_.edit();
    const auto end = ends.of.find(job);
    ends.all.erase(ends.all.find(end->second));
    ends.of.erase(end);
  }
  // The store knows no span of a job that lost all its units with a node, nor of a reservation that
  // is only counted.
  if (store_->find(job) != nullptr) static_cast<void>(store_.edit().release(job));
}

Status StoreMachine::impose(const JobRequest& job, const Allocation& allocation) {
  free_at_ = -1;
  Status held = store_.edit().update(allocation);
  if (!held) return held;
  static_cast<void>(holds(allocation));
  if (!job.on_hosts.empty())
    host_pools_.edit().hold(job.id, job.on_hosts, slots_on_hosts(job, allocation), allocation.when);
  if (!uniform_) return {};
  Allocation cores{allocation.job, allocation.when, {}, {}};
  const resource::ResourceGraph& graph = store_->graph();
  const auto core = graph.words().types.find("core");
  for (const resource::Share& share : allocation.shares) {
    const auto vertex = graph.find_uniq(share.uniq_id);
    const bool is_core = vertex && core && graph[*vertex].type == *core;
    if (is_core) cores.shares.push_back(share);
    if (!is_core && unit_ != Unit::node && (share.exclusive || share.amount > 0)) leave_uniform();
  }
  const auto count = static_cast<std::int64_t>(cores.shares.size());
  if (unit_ == Unit::node && count % *node_cores_ != 0) leave_uniform();
  if (uniform_ && !uniform_->impose(job, cores)) leave_uniform();
  return {};
}

Status StoreMachine::set_end(JobId job, Time end) {
  free_at_ = -1;
  if (Status room = host_pools_->check_end(job, end); !room) return room;
  const bool counted = uniform_ && uniform_->holds(job);
  const Time counted_until = counted ? uniform_->holding(job).when.end : 0;
  if (counted)
    if (Status room = uniform_->set_end(job, end); !room) return room;
  Ends& ends = ends_.edit();
  Time& known = ends.of[job];
  // The store extends an overrunning job from tick to tick, even over units that others have
  // reserved; a conflict shows only if asked about from the end that was planned.
  const resource::Allocation* held = store_->find(job);
  if (held != nullptr && known > held->when.begin && known < end)
    static_cast<void>(store_.edit().set_end(job, known));
  Status moved = store_.edit().set_end(job, end);
  if (!moved && counted) static_cast<void>(uniform_->set_end(job, counted_until));
  if (!moved) return moved;
  host_pools_.edit().set_end(job, end);
  if (const auto at = ends.all.find(known); at != ends.all.end()) ends.all.erase(at);
  ends.all.insert(known = end);
  return {};
}

Allocation StoreMachine::holding(JobId job) const {
  if (const Allocation* held = store_->find(job)) return *held;
  Allocation nothing{job, {}, {}, {}};
  if (uniform_ && uniform_->holds(job)) nothing.when = uniform_->holding(job).when;
  return nothing;
}

std::int64_t StoreMachine::procs_held(JobId job) const {
  if (uniform_ && uniform_->holds(job)) return uniform_->procs_held(job);
  const Allocation* held = store_->find(job);
  return held == nullptr ? 1 : std::max<std::int64_t>(cores_of(*held), 1);
}

std::int64_t StoreMachine::cores_of(const Allocation& allocation) const {
  const resource::ResourceGraph& graph = store_->graph();
  const auto core = graph.words().types.find("core");
  std::int64_t cores = 0;
  for (const resource::Share& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (v && core && graph[*v].type == *core) cores += share.amount;
  }
  return cores;
}

std::int64_t StoreMachine::free_procs(Time now) const {
  return store_->available("core", now);
}

Interval StoreMachine::horizon() const {
  return store_->options().horizon;
}

bool StoreMachine::resources_changed() {
  ++status_;
  procs_ = store_->total("core");
  free_at_ = -1;
  const bool more = is_more_there();
  if (!uniform_) return more;
  uniform_->set_horizon(store_->options().horizon);
  if (anything_down() || procs_ != uniform_->procs()) leave_uniform();
  return more;
}

std::unique_ptr<Machine> StoreMachine::clone() const {
  return std::unique_ptr<Machine>(new StoreMachine(*this));
}

void StoreMachine::check_invariants() const {
  store_->check_invariants();
  host_pools_->check_invariants();
}

Result<Scheduler> Scheduler::create(SchedulerConfig config, resource::ResourceStore& store) {
  return create(std::move(config), std::make_unique<StoreMachine>(store));
}

}  // namespace holon::qmanager
