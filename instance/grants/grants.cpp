#include "instance/grants/grants.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "instance/grants/grant_codec.hpp"
#include "instance/journal/schema.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {

namespace h = holdings;

namespace {

// A message tells times as what is left of them when it was sent. How long it lay unread is what
// the wall clocks of two machines say; they may differ, and are believed no further than this.
constexpr Duration kUnread = 60'000;
constexpr std::size_t kMostWaiting = 1'000;  // requests

}  // namespace

Grants::Grants(Uses uses)
    : uses_(uses),
      book_(uses.journal, uses.parent == nullptr),
      lender_({uses.identity, uses.clock, uses.store, uses.nodes_of_agents, uses.jobs, uses.agents,
               uses.children, book_, uses.after_commit}),
      borrower_({uses.identity, uses.journal, uses.store, uses.jobs, book_, uses.after_commit},
                [this](const h::Message& message) {
                  if (uses_.parent == nullptr) return;
                  const Time now = uses_.clock.now();
                  const msg::GrantMessage told{text_of(message, now), {}, uses_.clock.wall(now)};
                  uses_.parent->tell("grant", transport::pack(told));
                }),
      needs_(uses.store, uses.scheduler, uses.jobs),
      elastic_({uses.config, uses.journal, uses.store, uses.scheduler, uses.jobs, book_, needs_,
                borrower_}) {
  borrower_.has_parent(uses.parent != nullptr);
}

Status Grants::load(bool fresh) {
  if (fresh) {
    book_.begin_anew();
    return {};
  }
  const auto loaded = book_.load();
  if (loaded || loaded.error().code == Errc::system) return loaded;
  if (!uses_.journal.rebuilt()) return tl::unexpected(uses_.journal.condemn(loaded.error()));
  if (uses_.parent != nullptr) return loaded;
  is_lost_ = true;
  book_.begin_anew();
  return {};
}

void Grants::restore(Time now) {
  if (is_lost_) return lender_.lose_all(now);
  borrower_.restore();
  elastic_.restore();
}

std::string Grants::awaited(const qmanager::JobRequest& job) const {
  if (uses_.config.grant_max > 0) return elastic_.awaited(job);
  return epoch() > 0 ? "holon grant ask may bring more" : "";
}

void Grants::take(const transport::Request& request, Time now) {
  const auto told = transport::unpack<msg::GrantMessage>(request.payload());
  if (!told) return request.fail(told.error());
  const Duration unread =
      told->sent == 0 ? 0 : std::clamp<Duration>(uses_.clock.wall(now) - told->sent, 0, kUnread);
  const auto message = parse_message(told->message, now - unread);
  if (!message) return request.fail(message.error());
  if (const auto child = uses_.children.child_at(request.peer()))
    lender_.receive(*child, *message, now);
  else
    borrower_.receive(*message, told->jgf, now);
  uses_.after_commit.add([request] { request.reply(transport::pack(msg::Empty{})); });
}

std::optional<Time> Grants::turn(Time now) {
  std::optional<Time> next = elastic_.turn(now);
  for (const auto& other : {lender_.turn(now), borrower_.turn(now)})
    if (other) next = next ? std::min(*next, *other) : other;
  answer_waiting();
  return next;
}

// ---- what programs ask

void Grants::wait(const transport::Request& request) {
  const auto what = transport::unpack<msg::GrantWait>(request.payload());
  if (!what) return request.fail(what.error());
  if (waiting_.size() >= kMostWaiting)
    return request.fail(
        {Errc::busy, fmt::format("{} requests wait already", waiting_.size()), "grant.wait"});
  waiting_.push_back({request, what->epoch});
  answer_waiting();
}

void Grants::answer_waiting() {
  if (waiting_.empty()) return;
  std::erase_if(waiting_, [this](const Waiting& one) {
    if (epoch() <= one.epoch) return false;
    uses_.after_commit.add(
        [request = one.request, reply = show()] { request.reply(transport::pack(reply)); });
    return true;
  });
}

Result<msg::GrantNeeded> Grants::need(const msg::GrantNeed& what, Time now) const {
  const ActiveJob* const job = uses_.jobs.find(JobId(what.job));
  if (job == nullptr)
    return fail(Errc::not_found, fmt::format("no job {} is active here", what.job), "job");
  if (uses_.parent == nullptr || job->life.state != JobState::sched) return msg::GrantNeeded();
  const Need need = needs_.of_job(job->id, kMostCoresAtOnce, now);
  if (need.least == 0) return msg::GrantNeeded();
  return msg::GrantNeeded{need.least, need.limit, jobspec_of_ask(need)};
}

Result<msg::GrantChance> Grants::could(const msg::GrantCould& what, Time now) const {
  const auto at = lender_.could(what, now);
  if (!at) return tl::unexpected(at.error());
  msg::GrantChance chance;
  chance.is_planned = at->has_value();
  if (*at && **at > now) chance.at = uses_.jobs.clock().wall(**at);
  return chance;
}

msg::GrantPart Grants::part_of(const h::Holding& holding, const std::string& path,
                               JobId child) const {
  msg::GrantPart part;
  part.path = path;
  part.source = name_of(holding.source);
  part.state = name_of(holding.state);
  part.units = holding.units.str();
  const UnitCounts counts = count(uses_.store.graph(), holding.units);
  part.cores = counts.cores;
  part.gpus = counts.gpus;
  part.until = holding.until == kTimeMax ? 0 : uses_.jobs.clock().wall(holding.until);
  part.why = holding.why;
  const auto grants = uses_.jobs.grants().find(child);
  if (child == h::kParent || grants == uses_.jobs.grants().end()) return part;
  for (const JobId id : grants->second) {
    const ActiveJob* grant = uses_.jobs.find(id);
    if (grant == nullptr || !grant->allocation) continue;
    const auto units = units_of(uses_.store.graph(), *grant->allocation);
    if (units && !h::have_none_in_common(*units, holding.units)) part.grant = id.value();
  }
  return part;
}

msg::GrantReply Grants::show() const {
  msg::GrantReply reply;
  reply.path = uses_.identity.path;
  reply.epoch = epoch();
  for (const h::Holding& holding : book_.up().holdings)
    reply.held.push_back(part_of(holding, uses_.identity.path, h::kParent));
  if (reply.held.empty()) {
    h::Holding own;
    own.units = units_in(uses_.store.graph());
    reply.held.push_back(part_of(own, uses_.identity.path, h::kParent));
  }
  for (const auto& [child, link] : book_.book().links)
    if (child != h::kParent)
      for (const h::Holding& holding : link.holdings)
        reply.given.push_back(part_of(holding, uses_.jobs.path_of(child), child));
  for (const Time when : borrower_.promised())
    reply.promised.push_back(when == kTimeMax ? 0 : uses_.jobs.clock().wall(when));
  return reply;
}

Result<msg::GrantHistory> Grants::history(std::uint64_t limit) const {
  const auto rows = uses_.journal.last_grant_entries(static_cast<std::int64_t>(limit));
  if (!rows) return tl::unexpected(rows.error());
  msg::GrantHistory history;
  const auto& clock = uses_.jobs.clock();
  for (const GrantEntry& row : *rows) {
    const auto entry = parse_entry(row.entry, clock.offset());  // the journal has instance time
    history.events.push_back({clock.wall(row.time),
                              entry ? h::name_of(*entry) : std::string("unreadable"),
                              entry ? text_of(*entry, 0) : row.entry});
  }
  return history;
}

}  // namespace holon::instance
