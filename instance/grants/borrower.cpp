#include "instance/grants/borrower.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "instance/resources/more_nodes.hpp"
#include "qmanager/lent.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;
namespace he = holdings::entry;

constexpr std::size_t kMostAsksOpen = 100;  // that are not answered yet

bool is_going_back(const h::Holding& holding) {
  return holding.state == h::State::asked_back || holding.state == h::State::draining ||
         holding.state == h::State::returned;
}

// Taken or refused, now or before: it is no promise any more.
bool is_answered(const h::Turn& of_extend) {
  return std::any_of(of_extend.sent.begin(), of_extend.sent.end(), [](const h::Sent& sent) {
    return std::holds_alternative<h::Taken>(sent.message) ||
           std::holds_alternative<h::Refused>(sent.message);
  });
}

Time earlier_of(const std::optional<Time>& a, Time b) {
  return a ? std::min(*a, b) : b;
}

}  // namespace

// The first word about a grant that moves: what the instance has had from the start is its own.
bool Borrower::begin(Time now) {
  if (uses_.book.has_begun()) return true;
  const auto own = units_in(uses_.store.graph());
  return uses_.book.write(he::Granted{own, kTimeMax}, now).has_value();
}

// Is it on its way to the instance above, and to come back?
bool Borrower::is_loan(const h::Holding& holding) const {
  const auto& releasing = uses_.book.up().releasing;
  return releasing && releasing->back_at != kTimeMax &&
         !h::have_none_in_common(releasing->units, holding.units);
}

bool Borrower::leaves(const h::Holding& holding) const {
  return is_going_back(holding) && !is_loan(holding);
}

void Borrower::restore() {
  is_up_to_date_ = !uses_.book.has_begun();  // nothing has ever been asked for
  for (const h::Holding& holding : uses_.book.up().holdings) {
    if (leaves(holding)) drain(holding.units);
    if (holding.until == kTimeMax) continue;
    for (const auto v : places_of(holding.units)) uses_.store.set_end_of(v, holding.until);
  }
  static_cast<void>(use_what_is_sure(0));
}

void Borrower::write_and_send(const h::Turn& turn, Time now) {
  if (auto written = uses_.book.write(turn, now); !written)
    return spdlog::error(fmt::format("grant: {}", to_string(written.error())));
  for (const h::Sent& sent : turn.sent)
    if (sent.to == h::kParent)
      uses_.after_commit.add([this, message = sent.message] { send_(message); });
}

void Borrower::connected() {
  next_pulse_ = 0;
  // What an earlier broker was promised is told again before the welcome, if it still is.
  std::erase_if(promised_, [](const auto& one) { return one.second.ask.op == 0; });
  if (uses_.book.has_begun()) is_up_to_date_ = false;
  if (!uses_.book.has_begun() && asked_.empty() && promised_.empty()) return;
  uses_.after_commit.add([this] {
    for (const h::Sent& sent : h::hello(uses_.book.book()).sent) send_(sent.message);
    for (const auto& [op, asked] : asked_) send_(asked.ask);
    for (const auto& [op, promised] : promised_)  // it may be broken by now
      if (promised.ask.op != 0) send_(promised.ask);
    for (const h::Op op : withdrawn_) send_(h::Withdraw{op});
  });
}

// ---- asking

Result<h::Op> Borrower::ask_for(const std::string& jobspec, OnAnswer on_answer, Time now) {
  if (!has_parent_)
    return fail(Errc::unsupported, "this instance is the root of its tree: nobody is above it");
  if (lends())
    return fail(Errc::busy,
                "this instance lends of its own; `holon grant recall` has that back, and then more "
                "can be asked for");
  if (asked_.size() >= kMostAsksOpen)
    return fail(Errc::busy, "too much was asked for that is not answered yet");
  if (!begin(now)) return fail(Errc::protocol, "what it has cannot be lent");
  const h::Turn turn = h::ask(uses_.book.book(), {.jobspec = jobspec});
  const auto& sent = std::get<h::Ask>(turn.sent.front().message);
  asked_.emplace(sent.op, Asked{sent, std::move(on_answer)});
  write_and_send(turn, now);
  return sent.op;
}

void Borrower::ask(const transport::Request& request, Time now) {
  const auto what = transport::unpack<msg::GrantAsk>(request.payload());
  if (!what) return request.fail(what.error());
  const auto answered = [this, request, is_answered = false](const Result<msg::GrantAnswer>& answer,
                                                             bool, Time) mutable {
    if (std::exchange(is_answered, true)) return;
    uses_.after_commit.add([request, answer] {
      answer ? request.reply(transport::pack(*answer)) : request.fail(answer.error());
    });
  };
  if (const auto asked = ask_for(what->jobspec, answered, now); !asked) request.fail(asked.error());
}

void Borrower::withdraw(h::Op ask) {
  if (!is_open(ask) || !withdrawn_.insert(ask).second) return;
  uses_.after_commit.add([this, ask] { send_(h::Withdraw{ask}); });
}

void Borrower::answer(h::Op op, const Result<msg::GrantAnswer>& answer, Time now, bool never) {
  const bool is_promise = answer && !answer->is_here;
  OnAnswer on_answer;
  if (auto asked = asked_.extract(op); !asked.empty())
    on_answer = std::move(asked.mapped().on_answer);
  else if (const auto promised = promised_.find(op); promised != promised_.end())
    on_answer = promised->second.on_answer;
  if (!is_promise) {
    promised_.erase(op);
    withdrawn_.erase(op);
  }
  if (on_answer) on_answer(answer, never, now);
}

std::vector<Time> Borrower::promised() const {
  std::vector<Time> all;
  for (const auto& [op, promised] : promised_) all.push_back(promised.at);
  return all;
}

void Borrower::hear(const h::Message& message, Time now) {
  if (const auto* no = std::get_if<h::No>(&message)) {
    return answer(no->op,
                  fail(Errc::unsatisfiable, no->why + (no->help.empty() ? "" : "; " + no->help)),
                  now, no->never);
  }
  if (const auto* promise = std::get_if<h::Promise>(&message)) {
    if (const auto asked = asked_.find(promise->op); asked != asked_.end())
      promised_[promise->op] = {asked->second.ask, asked->second.on_answer, promise->at};
    promised_[promise->op].at = promise->at;
    msg::GrantAnswer later;
    later.at = promise->at == kTimeMax ? 0 : uses_.jobs.clock().wall(std::max(promise->at, now));
    later.epoch = uses_.book.up().epoch;
    return answer(promise->op, later, now);
  }
  if (std::holds_alternative<h::Welcome>(message)) is_up_to_date_ = true;
}

// ---- what comes

Status Borrower::grow(const h::Extend& extend, const std::string& jgf, Time now) {
  auto read = resource::read_jgf(jgf);
  if (!read) return tl::unexpected(read.error());
  if (const std::string why = objection(extend.answers, cores_in(*read)); !why.empty())
    return fail(Errc::denied, why);
  std::vector<GrantedNodes::Node> nodes;
  const auto rank_for = [&](const std::string& host) {
    auto rank = uses_.nodes.expect(host);
    if (rank) nodes.push_back({*rank, host});
    return rank;
  };
  const auto part = as_part_of(uses_.store.graph(), std::move(*read), rank_for);
  const Status grown = part ? grow_by(*part, extend) : tl::unexpected(part.error());
  if (!grown) {
    for (const auto& node : nodes) uses_.nodes.give_up(node.rank);
    return grown;
  }
  if (!nodes.empty()) uses_.nodes.came(nodes, now);
  // Nothing is sure yet of what may be fenced.
  ends_.forget();
  const Time end = extend.fence > 0 ? 0 : extend.until;
  for (const auto v : places_of(extend.units)) uses_.store.set_end_of(v, end);
  next_pulse_ = 0;
  uses_.jobs.resources_changed();
  return {};
}

Status Borrower::grow_by(const resource::GraphSpec& part, const h::Extend& extend) {
  auto& store = uses_.store;
  const auto kept = uses_.journal.meta("resources.text");
  if (!kept || !*kept) return fail(Errc::system, "its resources are not in its journal");
  auto text = text_with(**kept, part);
  if (!text) return tl::unexpected(text.error());
  const h::Units before = units_in(store.graph());
  if (auto grown = store.grow(part); !grown) return grown;
  if (const h::Units came = without(units_in(store.graph()), before); came != extend.units) {
    leave(came);
    return fail(Errc::protocol, "the units have other numbers here");
  }
  uses_.journal.set_meta("resources.text", *text);
  return {};
}

// Whole nodes that came stand for their units, which have no drain and no end of their own.
std::vector<resource::VertexId> Borrower::places_of(const h::Units& units) const {
  const auto& graph = uses_.store.graph();
  std::vector<resource::VertexId> places;
  std::set<resource::VertexId> whole;
  for (const auto unit : units.ids()) {
    const auto v = graph.find_uniq(static_cast<std::int64_t>(unit));
    if (!v) continue;
    if (!uses_.nodes.has(graph[*v].rank)) {
      places.push_back(*v);
      continue;
    }
    auto node = *v;
    while (graph.type_name(node) != "node") node = graph.parent(node);
    if (whole.insert(node).second) places.push_back(node);
  }
  return places;
}

// Whole nodes of which these are the last units.
std::vector<resource::VertexId> Borrower::nodes_gone_with(const h::Units& units) const {
  const auto& graph = uses_.store.graph();
  const h::Units stay = without(units_in(graph), units);
  const auto with_some = nodes_with(graph, stay);
  auto nodes = nodes_with(graph, units);
  std::erase_if(nodes, [&](resource::VertexId node) {
    return !uses_.nodes.has(graph[node].rank) ||
           std::find(with_some.begin(), with_some.end(), node) != with_some.end();
  });
  return nodes;
}

void Borrower::shrink(const h::Units& units) {
  std::vector<std::int32_t> ranks;
  for (const auto node : nodes_gone_with(units)) ranks.push_back(uses_.store.graph()[node].rank);
  const auto kept = uses_.journal.meta("resources.text");
  if (kept && *kept)
    if (auto text = text_without(**kept, units, ranks))
      uses_.journal.set_meta("resources.text", *text);
  leave(units);
}

void Borrower::leave(const h::Units& units) {
  auto& store = uses_.store;
  std::vector<std::uint32_t> ranks;
  for (const auto node : nodes_gone_with(units)) {
    ranks.push_back(static_cast<std::uint32_t>(store.graph()[node].rank));
    static_cast<void>(store.shrink(store.graph().path(node)));
  }
  for (const auto unit : units.ids())
    if (const auto v = store.graph().find_uniq(static_cast<std::int64_t>(unit)))
      static_cast<void>(store.shrink(store.graph().path(*v)));
  if (!ranks.empty()) uses_.nodes.left(ranks);
  ends_.forget();
  uses_.jobs.resources_changed();
}

void Borrower::receive(const h::Message& message, const std::string& jgf, Time now) {
  if (!begin(now)) return;
  if (const auto* fenced = std::get_if<h::Fenced>(&message)) return hear_of_fence(*fenced);
  h::Turn turn = h::receive(uses_.book.book(), h::kParent, message, now);
  const auto& releasing = uses_.book.up().releasing;
  const bool is_for_good = releasing && releasing->back_at == kTimeMax;
  const h::Units acknowledged =
      std::holds_alternative<h::Ack>(message) && is_for_good ? releasing->units : h::Units{};
  const auto* extend = std::get_if<h::Extend>(&message);
  bool took = std::any_of(turn.entries.begin(), turn.entries.end(), [](const h::Entry& entry) {
    return std::holds_alternative<he::Took>(entry);
  });
  // What was lent has never left the graph.
  const bool is_here = took && extend->source == h::Source::returned &&
                       h::has_all(units_in(uses_.store.graph()), extend->units);
  if (took && !is_here)
    if (auto grown = grow(*extend, jgf, now); !grown) {
      took = false;
      const std::string why = to_string(grown.error());
      turn.entries.back() = he::Declined{*extend, why};
      turn.sent = {{h::kParent, h::Refused{extend->op, why}}};
    }
  const auto* declined =
      turn.entries.empty() ? nullptr : std::get_if<he::Declined>(&turn.entries.back());
  const std::string why_not = declined == nullptr ? "" : declined->why;
  const bool is_acknowledged = !turn.entries.empty() && !acknowledged.empty();
  write_and_send(turn, now);
  if (is_acknowledged) shrink(acknowledged);
  if (extend != nullptr && !took && why_not.empty() && is_answered(turn))
    promised_.erase(extend->answers);  // settled before a restart
  if (turn.heard) hear(*turn.heard, now);
  if (!why_not.empty()) {
    answer(extend->answers, fail(Errc::unsatisfiable, "what came was not taken: " + why_not), now);
  }
  if (!took) return;
  if (extend->source == h::Source::returned)
    return spdlog::info(fmt::format("units {} are back, which were lent", extend->units.str()));
  const auto counts = count(uses_.store.graph(), extend->units);
  const auto& clock = uses_.jobs.clock();
  answer(extend->answers,
         msg::GrantAnswer{true, clock.wall(now), counts.cores, counts.gpus,
                          extend->until == kTimeMax ? 0 : clock.wall(extend->until),
                          uses_.book.up().epoch},
         now);
  spdlog::info(fmt::format("{} cores and {} GPUs came from above", counts.cores, counts.gpus));
}

// ---- what goes back

Status Borrower::release(const msg::GrantRelease& what, Time now) {
  const auto named = Idset::parse(what.units);
  if (!named) return tl::unexpected(named.error());
  h::Units units;
  for (const h::Holding& holding : uses_.book.up().holdings)
    if (holding.source != h::Source::owned && holding.state == h::State::held &&
        (named->empty() || !h::have_none_in_common(holding.units, *named)))
      units = h::all_of(units, holding.units);
  if (units.empty())
    return fail(Errc::not_found,
                named->empty() ? "there is nothing beyond what is its own"
                               : "none of these units is beyond what is its own",
                "units");
  const auto turn = h::drain(uses_.book.book(), units);
  if (!turn) return tl::unexpected(turn.error());
  write_and_send(*turn, now);
  return {};
}

void Borrower::drain(const h::Units& units) {
  bool changed = false;
  for (const auto v : places_of(units)) {
    if (uses_.store.graph()[v].drained) continue;
    uses_.store.set_drained(v, true);
    changed = true;
  }
  if (changed) uses_.jobs.resources_changed();
}

std::set<resource::VertexId> Borrower::nodes_going_back() const {
  const auto& graph = uses_.store.graph();
  std::set<resource::VertexId> nodes;
  for (const h::Holding& holding : uses_.book.up().holdings) {
    if (!leaves(holding)) continue;
    for (const auto place : places_of(holding.units))
      if (graph.type_name(place) == "node") nodes.insert(place);
  }
  return nodes;
}

bool Borrower::is_idle(const h::Units& units) const {
  const auto places = places_of(units);
  return std::all_of(places.begin(), places.end(),
                     [&](resource::VertexId v) { return uses_.store.jobs_at(v).empty(); });
}

bool Borrower::is_coming(const h::Units& units, Time since) const {
  if (!uses_.nodes.is_any_coming(since)) return false;
  const auto places = places_of(units);
  return std::any_of(places.begin(), places.end(), [&](resource::VertexId v) {
    return uses_.nodes.is_coming(uses_.store.graph()[v].rank, since);
  });
}

// Grants are passed over: the lender asks the child for them, as hard as they are asked for here.
void Borrower::kill_there(const h::Recall& recall, Time now) {
  std::set<JobId> jobs;
  const auto places = places_of(recall.units);
  for (const auto v : places)
    for (const JobId job : uses_.store.jobs_at(v)) jobs.insert(qmanager::owner_of(job));
  for (const JobId job : jobs)
    if (const ActiveJob* known = uses_.jobs.find(job);
        known != nullptr && known->life.state == JobState::run &&
        known->submission->wishes.grant_to.value() == 0)
      uses_.jobs.raise(
          job, "node-failure",
          fmt::format("what it ran on went back to the instance above: {}", recall.why), now);
  // An agent that is away only may come back, and its jobs with it.
  if (recall.mode != h::RecallMode::lost) return;
  for (const auto node : nodes_with(uses_.store.graph(), recall.units))
    if (const auto rank = uses_.store.graph()[node].rank; uses_.nodes.has(rank))
      uses_.nodes.lose_if_away(static_cast<std::uint32_t>(rank), now);
}

std::optional<Time> Borrower::turn(Time now) {
  std::optional<Time> next = drain_what_is_over(now);
  for (const auto& due : {keep_in_touch(now), use_what_is_sure(now)})
    if (due) next = earlier_of(next, *due);
  leave_what_was_taken(now);
  for (const h::Holding& holding : uses_.book.up().holdings)
    if (leaves(holding)) drain(holding.units);
  if (const auto due = end_what_is_recalled(now)) next = earlier_of(next, *due);
  release_what_is_idle(now);
  return next;
}

std::optional<Time> Borrower::drain_what_is_over(Time now) {
  std::optional<Time> next;
  h::Units over;
  for (const h::Holding& holding : uses_.book.up().holdings) {
    if (holding.source == h::Source::owned || holding.state != h::State::held ||
        holding.until == kTimeMax)
      continue;
    if (holding.until > now)
      next = earlier_of(next, holding.until);
    else
      over = h::all_of(over, holding.units);
  }
  if (over.empty()) return next;
  if (const auto drained = h::drain(uses_.book.book(), over)) write_and_send(*drained, now);
  return next;
}

// The book has what is recalled until it is back: a job that began just before is ended, too.
std::optional<Time> Borrower::end_what_is_recalled(Time now) {
  std::optional<Time> next;
  const std::vector<h::Recall> recalls =
      uses_.book.up().recalls;  // the end of a job may close some
  for (const h::Recall& recall : recalls) {
    if (recall.mode < h::RecallMode::kill) continue;
    if (recall.by > now)
      next = earlier_of(next, recall.by);
    else
      kill_there(recall, now);
  }
  return next;
}

// What came together goes together, one after the other.
void Borrower::release_what_is_idle(Time now) {
  if (uses_.book.up().releasing) return;
  for (const h::Holding& holding : uses_.book.up().holdings) {
    if (!is_going_back(holding) || !is_idle(holding.units)) continue;
    const auto back = h::release(uses_.book.book(), {.units = holding.units});
    if (back) return write_and_send(*back, now);
  }
}

}  // namespace holon::instance
