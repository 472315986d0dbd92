#include "instance/agents/agents.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>

#include "instance/agents/agent_admission.hpp"
#include "transport/codec/codec.hpp"
#include "transport/secret.hpp"

namespace holon::instance {

Agents::Agents(AgentGround ground, Refusals& refusals, AwayNodes& offline,
               std::vector<std::string> secrets)
    : ground_(std::move(ground)),
      fences_(ground_.jobs),
      refusals_(refusals),
      offline_(offline),
      secrets_(std::move(secrets)) {
  for (const std::uint32_t rank : ground_.nodes_of_agents.agents())
    links_.try_emplace(rank, ground_, rank);
}

std::vector<AgentLink*> Agents::running(const ActiveJob& job) {
  std::vector<AgentLink*> links;
  for (const Part& part : job.life.parts)
    if (const auto link = links_.find(part.rank); link != links_.end())
      links.push_back(&link->second);
  return links;
}

void Agents::start_tasks(const ActiveJob& job) {
  for (AgentLink* const link : running(job)) link->start_tasks(job);
}

void Agents::kill_tasks(const ActiveJob& job) {
  for (AgentLink* const link : running(job))
    if (next_step(job.life, link->rank()) == Step::kill) link->kill_tasks(job);
}

void Agents::forget(const ActiveJob& job) {
  for (AgentLink* const link : running(job)) link->forget(job.id);
  fences_.forget(job.id);
}

void Agents::forgotten(JobId first, JobId stop) {
  for (auto& [rank, link] : links_) link.forgotten(first, stop);
}

void Agents::set_limit(const ActiveJob& job, Duration limit) {
  for (AgentLink* const link : running(job))
    if (!is_led(job.life, link->rank())) link->set_limit(job.id, limit);
}

void Agents::checkpoint(const ActiveJob& job) {
  for (AgentLink* const link : running(job)) link->checkpoint(job);
}

void Agents::tell_what_is_sure() {
  for (auto& [rank, link] : links_) link.tell_what_is_sure();
}

bool Agents::proves_its_rank(const transport::Request& request,
                             const launch::msg::Hello& hello) const {
  return hello.rank < secrets_.size() && !secrets_[hello.rank].empty() &&
         may_be_agent(request.principal(), hello.rank) &&
         transport::is_same_secret(hello.secret, secrets_[hello.rank]);
}

void Agents::hello(const transport::Request& request, Time now) {
  const auto hello = transport::unpack<launch::msg::Hello>(request.payload());
  if (!hello) return request.fail(hello.error());
  if (!proves_its_rank(request, *hello))
    return refusals_.refuse(
        request,
        {Errc::denied,
         fmt::format("agent.hello: it is not proved to be this instance's agent of rank {}",
                     hello->rank),
         {}},
        now);
  const bool is_new = !links_.contains(hello->rank);
  if (is_new)
    if (auto taken = take_in(*hello); !taken)
      return refuse_latecomer(request, *hello, taken.error());
  AgentLink& link = links_.at(hello->rank);
  if (is_second(link, request, *hello)) return refuse_second(request, link);
  const auto before = by_peer_.find(request.peer());
  if (before != by_peer_.end() && before->second != &link) peer_lost(request.peer());
  link.hello(request, *hello, now);
  std::erase_if(by_peer_, [&](const auto& known) { return known.second == &link; });
  if (is_new && !link.connected()) offline_.agent_is_awaited(link.rank(), hello->hostname, now);
  if (!link.connected()) return;
  by_peer_[link.peer()] = &link;
  offline_.agent_came(link.rank());
  on_welcome(*hello);
}

// Is this the second of two agents let in at the same time, on one host? The first may have been
// given tasks that run there, so it stays. An agent beside the broker is started by its supervisor
// when the one before it is dead, which the broker may not know yet: of those the later one is the
// agent, even where the dead one's hello is read last.
bool Agents::is_second(const AgentLink& link, const transport::Request& request,
                       const launch::msg::Hello& hello) const {
  if (!link.connected() || link.peer() == request.peer() || link.incarnation() == hello.incarnation)
    return false;
  if (is_agent(request.principal())) return !is_sent_home(link.rank());
  return hello.began != 0 && hello.began < link.began();
}

void Agents::refuse_second(const transport::Request& request, const AgentLink& link) {
  launch::msg::Welcome welcome;
  welcome.accepted = false;
  welcome.refusal =
      fmt::format("the agent of rank {}, {}, is there already", link.rank(), link.host());
  request.reply(transport::pack(welcome));
}

// Takes an agent that came after the beginning: nobody counts on its node yet.
Status Agents::take_in(const launch::msg::Hello& hello) {
  const NodeTopology node{hello.rank, hello.hostname, hello.topology, hello.topology_digest};
  if (auto taken = on_latecomer(node); !taken) return taken;
  links_.try_emplace(hello.rank, ground_, hello.rank);
  return {};
}

void Agents::refuse_latecomer(const transport::Request& request, const launch::msg::Hello& hello,
                              const Error& why) {
  launch::msg::Welcome welcome;
  welcome.wants_topology = why.code == Errc::not_found && hello.topology.empty();
  if (welcome.wants_topology) return request.reply(transport::pack(welcome));
  welcome.accepted = false;
  welcome.refusal = "the instance has begun without it: " + to_string(why);
  request.reply(transport::pack(welcome));
}

void Agents::expect_at(std::uint32_t rank, std::string secret) {
  if (rank >= secrets_.size()) secrets_.resize(rank + 1);
  secrets_[rank] = std::move(secret);
  links_.try_emplace(rank, ground_, rank);
}

// Its link stays for what is still to be done with it in this turn; nobody can prove that rank.
void Agents::retire(std::uint32_t rank) {
  secrets_.at(rank).clear();
  ground_.after_commit.add([this, rank] {
    AgentLink& link = links_.at(rank);
    if (!secrets_.at(rank).empty()) return;
    link.shutdown();
    by_peer_.erase(link.peer());
    link.peer_lost();
  });
}

bool Agents::all_connected() const {
  return std::all_of(links_.begin(), links_.end(), [&](const auto& known) {
    const auto& [rank, link] = known;
    const bool has_retired = rank < secrets_.size() && secrets_[rank].empty();
    return link.connected() || has_retired;
  });
}

std::vector<std::uint32_t> Agents::awaited() const {
  std::vector<std::uint32_t> ranks;
  if (links_.size() == secrets_.size()) return ranks;
  for (std::uint32_t rank = 0; rank < secrets_.size(); ++rank)
    if (!links_.contains(rank) && !secrets_[rank].empty()) ranks.push_back(rank);
  return ranks;
}

void Agents::report(const transport::Request& request, Time now) {
  by_peer_.at(request.peer())->report(request, now);
}

void Agents::fence(const transport::Request& request) {
  fences_.take(request, by_peer_.at(request.peer())->rank());
}

void Agents::peer_lost(transport::PeerId peer) {
  const auto known = by_peer_.extract(peer);
  if (known.empty()) return;
  AgentLink& link = *known.mapped();
  link.peer_lost();
  offline_.agent_left(link.rank(), link.host(), ground_.reactor.now());
}

void Agents::settle(Time now) {
  for (auto& [rank, link] : links_) link.settle(now);
}

// Tasks write into that folder, and somebody may have removed or renamed it.
void Agents::make_output_folder() const {
  const bool has_starts = std::any_of(links_.begin(), links_.end(),
                                      [](const auto& one) { return one.second.has_starts(); });
  if (has_starts) mkdir((ground_.settings.state_dir + "/output").c_str(), 0700);
}

void Agents::flush() {
  make_output_folder();
  for (auto& [rank, link] : links_) link.flush();
}

void Agents::kill_orphans(const JobManager::Orphans& orphans) {
  for (const auto& [rank, processes] : orphans)
    if (const auto link = links_.find(rank); link != links_.end())
      link->second.kill_orphans(processes);
}

void Agents::kill_all_now() {
  for (auto& [rank, link] : links_) link.kill_all_now();
}

void Agents::shutdown() {
  for (auto& [rank, link] : links_) link.shutdown();
}

}  // namespace holon::instance
