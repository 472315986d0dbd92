#include "instance/grants/elastic.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "holdings/policy.hpp"
#include "instance/basics/clock.hpp"
#include "instance/journal/schema.hpp"
#include "qmanager/machine/uniform.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;

// A look costs some passes of the scheduler: so long between two, and so often what the last took.
constexpr Duration kLookInterval = 250;  // ms
constexpr std::int64_t kRestAfterLook = 20;
// Of what is lacking so much is asked for at once. A grant goes back as a whole, and others who ask
// at the same time get theirs in between.
constexpr std::int64_t kPieces = 8;
constexpr Duration kUnneededFor = 1'000;    // ms, before an ask that nobody waits for is withdrawn
constexpr Duration kTryNodesAgain = 5'000;  // ms, while cores are promised for later
// An agent that has not come for so long is not waited for: its node may be needed otherwise.
constexpr Duration kAwaitNodes = 60'000;  // ms
constexpr Duration kFirstRefusalPause = 1'000,
                   kLongestRefusalPause = 60'000;  // ms, after a refusal

Need piece_of(Need need) {
  need.most = std::max(need.least, (need.most + kPieces - 1) / kPieces);
  return need;
}

}  // namespace

void Elastic::restore() {
  if (const auto kept = uses_.journal.number(kOpenAsk); kept && *kept && **kept > 0)
    open_ = static_cast<h::Op>(**kept);
  if (const auto kept = uses_.journal.number(kOpenLeast); kept && *kept) {
    open_least_ = std::abs(**kept);
    open_is_for_nodes_ = **kept < 0;
  }
  if (const auto told = uses_.journal.number(kToldMost); told && *told) told_most_ = **told;
}

void Elastic::set_most(std::int64_t cores, Time now) {
  if (cores == told_most_) return;
  const std::int64_t before = most();
  told_most_ = cores;
  uses_.journal.set_number(kToldMost, cores);
  if (most() < before) give_back_beyond_most(now);
  if (most() == 0 && open_) uses_.borrower.withdraw(*open_);
}

// What somebody asks for by hand afterwards may be beyond it.
void Elastic::give_back_beyond_most(Time now) {
  const auto& graph = uses_.store.graph();
  std::vector<h::Holding> extra;
  std::int64_t stays = 0;
  for (const h::Holding& holding : uses_.book.up().holdings) {
    if (holding.state != h::State::held) continue;
    if (holding.source != h::Source::owned) extra.push_back(holding);
    stays += count(graph, holding.units).cores;
  }
  std::sort(extra.begin(), extra.end(),
            [](const auto& a, const auto& b) { return a.epoch > b.epoch; });
  h::Units back;
  for (const h::Holding& holding : extra) {
    const std::int64_t cores = count(graph, holding.units).cores;
    if (stays <= most() || cores == 0) continue;
    back = h::all_of(back, holding.units);
    stays -= cores;
  }
  if (back.empty()) return;
  if (auto done = uses_.borrower.release({back.str()}, now); !done)
    spdlog::error(fmt::format("grant: {}", to_string(done.error())));
}

void Elastic::open(std::optional<h::Op> ask) {
  open_ = ask;
  uses_.journal.set_number(kOpenAsk, static_cast<std::int64_t>(ask.value_or(0)));
  unneeded_since_.reset();
  gives_way_ = false;
  next_try_ = 0;
}

std::string Elastic::awaited(const qmanager::JobRequest& job) const {
  const std::int64_t max = most();
  if (max == 0 || !uses_.borrower.has_parent() || job.spec == nullptr) return "";
  const auto& graph = uses_.store.graph();
  if (!may_have(qmanager::least_units(*job.spec, "core"),
                qmanager::least_units(*job.spec, "node")) ||
      qmanager::least_units(*job.spec, "gpu") >
          static_cast<std::int64_t>(graph.by_type("gpu").size()))
    return "";
  return fmt::format("the instance above is asked for more, for up to {} cores (grant.max){}", max,
                     refusal_.empty() ? "" : "; it refused the last time: " + refusal_);
}

// Would it be asked for that? Cores may come on the nodes that are here. Where there are too few,
// those with enough cores are used, and others come whole.
bool Elastic::may_have(std::int64_t cores, std::int64_t nodes) const {
  if (cores > most()) return false;
  const auto& graph = uses_.store.graph();
  const auto here = graph.by_type("node");
  if (nodes <= static_cast<std::int64_t>(here.size())) return true;
  if (!uses_.above.may_come()) return false;
  if (!uses_.above.is_known()) return nodes <= most();
  const std::int64_t each = (cores + nodes - 1) / nodes, of_one = uses_.above.cores_of_one();
  const auto fitting = std::count_if(here.begin(), here.end(), [&](resource::VertexId node) {
    return count(graph, units_below(graph, node)).cores >= each;
  });
  const auto all = static_cast<std::int64_t>(graph.by_type("core").size());
  return of_one >= each && all + (nodes - fitting) * of_one <= most();
}

std::string Elastic::objection(h::Op ask, std::int64_t cores) const {
  if (open_ != ask || cores <= room()) return "";
  return fmt::format("{} cores come, and no more than {} may (grant.max)", cores,
                     std::max<std::int64_t>(0, room()));
}

// The ceiling is about all that is here, also what is on its way back.
std::int64_t Elastic::room() const {
  const auto here = static_cast<std::int64_t>(uses_.store.graph().by_type("core").size());
  return std::min(most() - here, kMostCoresAtOnce);
}

// ---- asking

void Elastic::ask(const Need& need, Time now) {
  const auto answered = [this, is_for_nodes = need.nodes > 0](
                            const Result<msg::GrantAnswer>& answer, bool never, Time when) {
    hear(answer, never, is_for_nodes, when);
  };
  const auto asked = uses_.borrower.ask_for(jobspec_of_ask(need, !need.is_wished), answered, now);
  if (!asked) {
    spdlog::info(fmt::format("does not ask for more: {}", asked.error().what));
    return pause(now);
  }
  open(*asked);
  open_least_ = need.least;
  open_is_for_nodes_ = need.nodes > 0;
  uses_.journal.set_number(kOpenLeast, open_is_for_nodes_ ? -open_least_ : open_least_);
  spdlog::info(need.nodes > 0 ? fmt::format("asks for {} nodes more", need.nodes)
                              : fmt::format("asks for {} to {} cores more", need.least, need.most));
}

// A promise leaves the ask open. Whether what has come is of use shows later; it is a piece of what
// was lacking, and the next one is asked for at once. Where its own nodes never have the cores,
// whole nodes are tried at once, and only then there is a pause; so there is after a cancel.
void Elastic::hear(const Result<msg::GrantAnswer>& answer, bool never, bool was_for_nodes,
                   Time now) {
  if (answer && !answer->is_here) return;
  const bool gave_way = gives_way_;
  open(std::nullopt);
  refusal_ = answer || gave_way ? "" : answer.error().what;
  if (answer) {
    prefers_nodes_ = prefers_nodes_ && !was_for_nodes;
    next_look_ = rested_at_;
    return;
  }
  spdlog::info(fmt::format("gets no more: {}", answer.error().what));
  const bool tries_nodes = never && !was_for_nodes && !prefers_nodes_ && uses_.above.may_come();
  prefers_nodes_ = gave_way || tries_nodes;
  if (!prefers_nodes_) pause(now);
}

// Cores of its own nodes may be others' for long, while whole nodes are idle.
void Elastic::try_nodes_instead(Time now) {
  const bool is_for_cores = open_ && open_least_ > 0 && !open_is_for_nodes_;
  if (!is_for_cores || !uses_.borrower.is_promised(*open_) || gives_way_) return;
  if (now < next_try_) return at(next_try_);
  next_try_ = now + kTryNodesAgain;
  at(next_try_);
  const bool may_come = room() > 0 && uses_.above.may_come();
  const Need need = may_come ? uses_.needs.of_one_on_nodes(room(), now) : Need();
  if (need.nodes == 0) return;
  uses_.if_there_now(need, [this, ask = *open_] {
    if (open_ != ask) return;
    gives_way_ = true;
    uses_.borrower.withdraw(ask);
  });
}

// What the open ask is for, or else the next one.
Need Elastic::lacking(Time now) const {
  if (room() <= 0) return {};
  const bool is_known = open_ && open_least_ > 0;
  const bool may_come = uses_.above.may_come();
  const bool nodes_first = is_known ? open_is_for_nodes_ : prefers_nodes_ && may_come;
  const Need first =
      nodes_first ? uses_.needs.of_one_on_nodes(room(), now) : uses_.needs.of_all(room(), now);
  if (first.most > 0 || is_known || !may_come) return first;
  return nodes_first ? uses_.needs.of_all(room(), now) : uses_.needs.of_one_on_nodes(room(), now);
}

void Elastic::pause(Time now) {
  pause_ = std::clamp(2 * pause_, kFirstRefusalPause, kLongestRefusalPause);
  not_before_ = std::max(not_before_, now + pause_);
}

void Elastic::withdraw_if_unneeded(bool is_needed, Time now) {
  if (is_needed) return unneeded_since_.reset();
  if (!unneeded_since_) unneeded_since_ = now;
  if (now - *unneeded_since_ >= kUnneededFor)
    uses_.borrower.withdraw(*open_);
  else
    at(*unneeded_since_ + kUnneededFor);
}

// Whoever takes something back would see it asked for again at once. A recall long after the one
// before it counts as the first. What is past its time goes back without anybody taking it.
void Elastic::rest_if_recalled(Time now) {
  const h::Link& up = uses_.book.up();
  const bool is_recalled =
      std::any_of(up.recalls.begin(), up.recalls.end(), [&](const h::Recall& recall) {
        return std::any_of(up.holdings.begin(), up.holdings.end(), [&](const h::Holding& holding) {
          return holding.until > now && !h::have_none_in_common(holding.units, recall.units);
        });
      });
  const Duration rest = h::backoff_after(recalls_, h::PolicyTerms());
  if (is_recalled && !is_recalled_) recalls_ = now - recalled_at_ > 2 * rest ? 1 : recalls_ + 1;
  is_recalled_ = is_recalled;
  if (!is_recalled) return;
  recalled_at_ = now;
  not_before_ = std::max(not_before_, now + h::backoff_after(recalls_, h::PolicyTerms()));
}

void Elastic::look(Time now) {
  if (!uses_.borrower.is_up_to_date()) return;
  // Nothing is placed yet on what has just come, and the instance above is about to say that it
  // may.
  if (uses_.borrower.sure_for(now) == 0) return;
  if (open_ && !uses_.borrower.is_open(*open_)) open(std::nullopt);  // settled before a restart
  if (uses_.scheduler.pending() == 0 && !open_) return;
  if (!uses_.jobs.settled()) return;  // the turn after the next pass comes by itself
  // What waits for it is no further need.
  if (!open_ && uses_.nodes.is_any_coming(now - kAwaitNodes)) return at(now + kAwaitNodes);
  try_nodes_instead(now);
  const std::int64_t passes = uses_.jobs.pass_times().passes;
  if (open_ && !unneeded_since_ && passes == looked_at_) return;
  if (const Time due = std::max(not_before_, next_look_); now < due) return at(due);
  looked_at_ = passes;
  const std::int64_t begun = monotonic_us();
  const Need need = lacking(now);
  const Duration rest = kRestAfterLook * (monotonic_us() - begun) / 1'000;
  rested_at_ = rest > kLookInterval ? now + rest : now;
  next_look_ = std::max(now + kLookInterval, rested_at_);
  if (open_)
    withdraw_if_unneeded(need.least > 0 && need.least >= open_least_, now);
  else if (need.most > 0)
    ask(piece_of(need), now);
}

// ---- giving back

// What came and was of no use, since it came elsewhere than a job needs it, is not asked for again
// at once.
void Elastic::give_back_idle(Time now) {
  if (uses_.config.grant_idle == 0 || !uses_.jobs.settled()) return;
  if (uses_.borrower.sure_for(now) == 0) return;
  h::Units idle;
  bool was_of_use = true;
  std::map<h::Epoch, Time> since;
  std::set<h::Epoch> used;
  for (const h::Holding& holding : uses_.book.up().holdings) {
    if (holding.source == h::Source::owned || holding.state != h::State::held) continue;
    if (uses_.borrower.is_coming(holding.units, now - kAwaitNodes)) continue;
    const bool is_idle = uses_.borrower.is_idle(holding.units);
    if (!is_idle) pause_ = 0;
    if (!is_idle || used_.contains(holding.epoch)) used.insert(holding.epoch);
    if (!is_idle) continue;
    const auto known = idle_since_.find(holding.epoch);
    const Time begun = known == idle_since_.end() ? now : known->second;
    since[holding.epoch] = begun;
    if (now - begun < uses_.config.grant_idle) {
      at(begun + uses_.config.grant_idle);
      continue;
    }
    idle = h::all_of(idle, holding.units);
    was_of_use = was_of_use && used.contains(holding.epoch);
  }
  idle_since_ = std::move(since);
  used_ = std::move(used);
  if (idle.empty()) return;
  if (!was_of_use) pause(now);
  if (auto done = uses_.borrower.release({idle.str()}, now); !done)
    spdlog::error(fmt::format("grant: {}", to_string(done.error())));
}

std::optional<Time> Elastic::turn(Time now) {
  next_.reset();
  if (most() == 0 || !uses_.borrower.has_parent()) return std::nullopt;
  give_back_idle(now);
  rest_if_recalled(now);
  look(now);
  return next_;
}

}  // namespace holon::instance
