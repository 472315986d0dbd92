// lender_fence.cpp - what a child that is out of reach does not give back in time is taken from it.
//
// The fence is in the journal first; then the agents of this instance end what the child's jobs run
// on those units, and only when they have seen nothing there are the units free (Lender::clear).
// Nothing hangs on the child: what it may still begin there it has stopped to begin before
// (reach.hpp).
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "instance/basics/text.hpp"
#include "instance/grants/lender.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;

// A broker that has made no turn for so long has itself heard nobody: children get their time anew.
constexpr Duration kStoodStill = 1'000;   // ms
constexpr Duration kLookWhileLate = 500;  // ms, so that a turn that is missed is noticed

constexpr Duration kLookForThemAgain = 50;      // ms, at processes that are still there
constexpr Duration kLookForAgentAgain = 1'000;  // ms, for an agent that is away

Idset idset_of(const std::vector<std::int64_t>& numbers) {
  Idset all;
  for (const auto number : numbers) all.insert(static_cast<std::uint64_t>(number));
  return all;
}

std::string text_of_units(const std::vector<std::int64_t>& numbers) {
  Idset all;
  for (const auto number : numbers) all.insert(static_cast<std::uint64_t>(number));
  return all.str();
}

}  // namespace

void Lender::look_at_silence(Time now) {
  if (now - looked_ > kStoodStill) awake_since_ = now;
  looked_ = now;
  std::erase_if(heard_, [this](const auto& one) { return !is_child(one.first); });
}

msg::GrantPulseReply Lender::pulse(JobId child, h::Epoch epoch, Time now) {
  if (!is_child(child)) return {};
  heard_[child] = now;
  const h::Link& link = link_to(uses_.book.book(), child);
  if (epoch < link.fence) {
    send(child, h::fenced(link, "it was out of reach for too long"));
    return {};
  }
  return {true, sure_for(now)};
}

// Where tasks are other users', an agent does not see what they were given, and could prove
// nothing.
Duration Lender::fence_for(const h::Units& units) const {
  const Duration above = fence_of(uses_.book.book(), units);
  const Duration own = uses_.identity.serves_users ? 0 : uses_.config.grant_fence;
  if (above == 0 || own == 0) return std::max(above, own);
  return std::min(above, own);
}

Time Lender::heard_at(JobId child) const {
  const auto heard = heard_.find(child);
  return std::max(awake_since_, heard == heard_.end() ? Time{0} : heard->second);
}

std::optional<Lender::Deadline> Lender::deadline_of(JobId child, const ActiveJob& grant) const {
  const auto& lent = link_to(uses_.book.book(), child).holdings;
  if (std::none_of(lent.begin(), lent.end(), [](const auto& one) { return one.fence > 0; }))
    return std::nullopt;
  const auto all = grant.allocation ? units_of(uses_.store.graph(), *grant.allocation)
                                    : Result<h::Units>(h::Units{});
  const h::Link& link = link_to(uses_.book.book(), child);
  if (!all) return std::nullopt;
  Duration fence = 0;
  for (const h::Holding& holding : link.holdings)
    if (!h::have_none_in_common(holding.units, *all)) fence = std::max(fence, holding.fence);
  if (fence == 0) return std::nullopt;
  std::optional<Time> late;
  const auto is_late_from = [&](Time when) { late = std::min(late.value_or(when), when); };
  for (const h::Recall& recall : link.recalls)
    if (!h::have_none_in_common(recall.units, *all)) is_late_from(recall.by);
  // What the child has perhaps never got goes back when it has said so.
  const bool is_offered = link.extending && !h::have_none_in_common(link.extending->units, *all);
  const Time end = grant.life.expiration;
  if (is_offered && grant.life.state == JobState::cleanup) is_late_from(0);
  if (is_offered && end != 0) is_late_from(end);
  if (!late) return std::nullopt;
  return Deadline{std::max(*late, saturating_add(heard_at(child), fence)), fence};
}

std::string Lender::late_word(const ActiveJob& grant, Time now) const {
  const JobId child = grant.submission->wishes.grant_to;
  if (child.value() == 0 || !grant.allocation) return "";
  const std::string who = uses_.jobs.path_of(child);
  if (is_lost(child, grant))
    return fmt::format("{} is out of reach, and what it runs there is being ended", who);
  const auto deadline = deadline_of(child, grant);
  // A child that is heard is heard eight times in that time.
  if (!deadline || now - heard_at(child) < deadline->fence / 4) return "";
  return fmt::format("{} is out of reach, and what it has is taken back in {}", who,
                     duration_text(std::max<Duration>(0, deadline->when - now)));
}

void Lender::fence_if_due(JobId child, const ActiveJob& grant, Time now) {
  const auto deadline = deadline_of(child, grant);
  if (!deadline) return;
  if (deadline->when > now) return at(std::min(deadline->when, now + kLookWhileLate));
  const auto all = units_of(uses_.store.graph(), *grant.allocation);
  if (!all) return;
  fence(child, grant, *all,
        fmt::format("{} was out of reach for {}", uses_.jobs.path_of(child),
                    duration_text(now - heard_at(child))),
        now);
}

void Lender::fence(JobId child, const ActiveJob& grant, const h::Units& units,
                   const std::string& why, Time now) {
  const h::Link& link = link_to(uses_.book.book(), child);
  const h::Units there = h::all_of(in_hand(link), units_in(link, h::State::offered));
  const h::Units taken = common(units, there);
  if (taken.empty() || !write(h::fence(uses_.book.book(), child, why, taken), now)) return;
  clearing_.erase(grant.id);
  spdlog::warn(fmt::format("{}: what it was to give back of grant {} is taken from it", why,
                           grant.id.value()));
  uses_.jobs.note_grant(child, event::GrantRecall{grant.id.value(), now, "fence", why}, now);
  at(now);
}

void Lender::take_by_force(const h::Units& units, const std::string& why, Time now) {
  const auto all = uses_.jobs.grants();
  for (const auto& [child, grants] : all)
    for (const JobId id : grants) {
      const ActiveJob* const grant = uses_.jobs.find(id);
      const auto its = grant != nullptr && grant->allocation
                           ? units_of(uses_.store.graph(), *grant->allocation)
                           : Result<h::Units>(h::Units{});
      if (!its || h::have_none_in_common(*its, units)) continue;
      const h::Link& link = link_to(uses_.book.book(), child);
      if (h::have_none_in_common(units_of(link), *its) && grant->life.holds_resources &&
          !grant->life.finished)
        uses_.jobs.grant_ends(id, why, now);  // it was not offered yet
      else
        fence(child, *grant, *its, why, now);
    }
}

// Is what comes back of the grant taken by force?
bool Lender::is_lost(JobId child, const ActiveJob& grant) const {
  const auto units = units_of(uses_.store.graph(), *grant.allocation);
  const h::Units lost = units_in(link_to(uses_.book.book(), child), h::State::lost);
  return units && !h::have_none_in_common(lost, *units);
}

// Have the agents seen nothing of the child's there so often in a row? If not, they are asked.
bool Lender::are_clear(JobId child, const ActiveJob& grant, int looks, Time now) {
  const Clearing& clearing = clearing_[grant.id];
  if (clearing.clear_looks >= looks) return true;
  if (clearing.unanswered > 0) return false;
  if (clearing.again > now)
    at(clearing.again);
  else
    ask_agents(child, grant, now);
  return false;
}

// Of a grant that ends and is not in the book: had the child before this one perhaps something of
// it in use? What runs there is nobody's, then.
bool Lender::was_of_earlier(JobId child, const ActiveJob& grant) const {
  return grant.life.state == JobState::cleanup &&
         (grant.life.started || is_of_earlier(child, grant)) &&
         h::have_none_in_common(
             units_of(link_to(uses_.book.book(), child)),
             units_of(uses_.store.graph(), *grant.allocation).value_or(h::Units{}));
}

void Lender::ask_agents(JobId child, const ActiveJob& grant, Time now) {
  const auto nodes = nodes_of(uses_.store.graph(), *grant.allocation);
  const auto whole = agents_for(grant);
  std::vector<std::pair<AgentLink*, PlacedNode>> asked;
  for (const PlacedNode& node : nodes) {
    const std::uint32_t rank = uses_.nodes_of_agents.agent_of(node.rank);
    // The child's part on a whole node is over, with all that it has started there. Where the agent
    // is gone, too, the node is down until that is back and has ended what it finds.
    if (std::find(whole.begin(), whole.end(), rank) != whole.end()) continue;
    if (!uses_.agents.is_connected(rank)) return at(now + kLookForAgentAgain);
    asked.emplace_back(&uses_.agents.of(rank), node);
  }
  Clearing& clearing = clearing_[grant.id];
  clearing = {asked.size(), true, now + kLookForThemAgain, clearing.clear_looks, ++rounds_};
  if (asked.empty()) {
    clearing.clear_looks = kLooksByForce;
    return at(now);
  }
  if (is_lost(child, grant) || was_of_earlier(child, grant))
    return take_on_agents(child, grant, asked);
  for (auto& [agent, node] : asked)
    agent->find_on_cores(child, idset_of(node.cores),
                         [this, id = grant.id, round = rounds_](const auto& found) {
                           looked_at(id, round, found && found->empty());
                         });
}

// An agent has looked for what is left of a child on the units of a grant.
void Lender::looked_at(JobId grant, std::uint64_t round, bool is_clear) {
  const auto at = clearing_.find(grant);
  if (at == clearing_.end() || at->second.round != round) return;
  Clearing& clearing = at->second;
  clearing.all_clear = clearing.all_clear && is_clear;
  if (--clearing.unanswered == 0)
    clearing.clear_looks = clearing.all_clear ? clearing.clear_looks + 1 : 0;
}

void Lender::take_on_agents(JobId child, const ActiveJob& grant,
                            const std::vector<std::pair<AgentLink*, PlacedNode>>& asked) {
  std::map<std::uint32_t, launch::msg::TakeRequest> wanted;
  for (const auto& [agent, node] : asked) {
    launch::msg::TakeRequest& request = wanted[agent->rank()];
    request.job = child.value();
    request.bind = uses_.identity.bind;
    request.nodes.push_back({node.host, text_of_units(node.cores), text_of_units(node.gpus)});
  }
  clearing_[grant.id].unanswered = wanted.size();
  for (const auto& [rank, request] : wanted)
    uses_.agents.of(rank).take_units(request,
                                     [this, id = grant.id, round = rounds_](const auto& found) {
                                       looked_at(id, round, found && *found == 0);
                                     });
}

}  // namespace holon::instance
