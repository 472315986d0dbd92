// Hosts that are machines: some agents come late, people add nodes by hand and let nodes leave.
#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "launch/remote/invitation.hpp"
#include "msg/resource.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {
namespace {

// The first three are the instance's from its beginning on. Those of a batch system follow.
constexpr int kAllHosts = BatchSystem::kFirstHost;

// hwloc loads its plugins with the first topology there is and unloads them with the last. A world
// makes and reads one after the other, which was a third of what a seed cost.
void keep_hwloc_loaded() {
  static const auto kOne = [] {
    hwloc_topology_t topology = nullptr;
    hwloc_topology_init(&topology);
    return std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>,
                           decltype(&hwloc_topology_destroy)>(topology, hwloc_topology_destroy);
  }();
}

}  // namespace

std::string machine_with(std::int64_t cores, const std::string& name) {
  keep_hwloc_loaded();
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_synthetic(topology, fmt::format("core:{} pu:1", cores).c_str());
  hwloc_topology_load(topology);
  hwloc_obj_add_info(hwloc_get_root_obj(topology), "HostName", name.c_str());
  char* buffer = nullptr;
  int length = 0;
  hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0);
  std::string xml(buffer, static_cast<std::size_t>(length) - 1);
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  return xml;
}

void World::begin_machines() {
  auto& dice = machine_.dice;
  for (int host = 0; host < kAllHosts; ++host)
    machine_.hosts.set_topology(
        host, machine_with(dice.one_in(2) ? 3 : dice.between(2, 4), Hosts::name_of(host)));
  quorum_ = dice.between(0, 3);
  gather_timeout_ = dice.between(2, 12) * kSecond;
}

// A root begins once the quorum has come, or once the time for which it waits for agents is over.
void World::check_quorum(const Instance& root) {
  const auto* core = root.core();
  if (!has_machines_ || !root.is_root() || core == nullptr) return;
  const auto wanted = quorum_ == 0 ? static_cast<std::int64_t>(root.agents()) : quorum_;
  const bool is_late = machine_.timeline.now() - root.begun() >= gather_timeout_ - 10 * kMs;
  if (core->store->total("node") < wanted && !is_late)
    machine_.history.violation("{} of {} nodes have come, and the instance begins",
                               core->store->total("node"), wanted);
}

std::vector<int> World::hosts_without_agent() const {
  std::vector<int> hosts;
  const int last = has_batch_ && brings_back_ ? kAllHosts + BatchSystem::kHosts : kAllHosts;
  for (int host = 1; host < last; ++host) {
    if (machine_.hosts.is_up(host) && !is_added_by_hand(host) && !machine_.batch.uses(host) &&
        root_->agent_on(host) == nullptr)
      hosts.push_back(host);
  }
  return hosts;
}

bool World::is_added_by_hand(int host) const {
  return std::any_of(loose_.begin(), loose_.end(), [&](const auto& agent) {
    return agent->host() == host && agent->name().starts_with("agent by hand");
  });
}

void World::change_nodes() {
  if (root_ == nullptr || !root_->ready()) return;
  auto& dice = machine_.dice;
  if (dice.one_in(3)) return remove_node();
  auto hosts = hosts_without_agent();
  if (hosts.empty()) return;
  const auto some =
      static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(hosts.size()) - 1));
  // Invitations are for one node, or now and then for more, by which two come.
  const bool is_for_one = dice.one_in(3);
  if (!is_for_one) hosts = {hosts[some]};
  add_nodes(hosts, is_for_one ? 1 : static_cast<std::uint64_t>(dice.between(1, 3)));
}

void World::add_nodes(const std::vector<int>& hosts, std::uint64_t uses) {
  const msg::InviteRequest ask{60'000, uses};
  user_->ask(root_->uri(), "node.invite", transport::pack(ask),
             [this, hosts, uses, uri = root_->uri()](const Result<std::string>& answer) {
               if (answer && root_ != nullptr && root_->uri() == uri) join_by(*answer, uses, hosts);
             });
}

void World::join_by(const std::string& answer, std::uint64_t uses, const std::vector<int>& hosts) {
  const auto reply = transport::unpack<msg::InviteReply>(answer);
  auto invitation =
      reply ? launch::parse_invitation(reply->invitation) : tl::unexpected(reply.error());
  if (!invitation) return machine_.history.violation("an invitation is rubbish");
  invitation->addresses = {Wires::address_for_keys(root_->uri())};  // no port leads anywhere here
  const auto number = ++invitations_;
  const auto free = hosts_without_agent();
  for (const int host : hosts) {
    if (std::find(free.begin(), free.end(), host) == free.end()) continue;
    const Duration lasts = lasts_for_a_while();
    root_->join_by_hand(host, *invitation, lasts, [this, host, uses, number, lasts] {
      machine_.history.note("{} has a place by invitation {}", Hosts::name_of(host), number);
      checks_.added(host, lasts);
      if (++places_[number] > uses)
        machine_.history.violation("invitation {} is for {} nodes, and {} came by it", number, uses,
                                   places_[number]);
    });
  }
}

// ms after which the node, as it says itself, is gone; 0: it stays, as do all that come back at the
// end.
Duration World::lasts_for_a_while() {
  if (machine_.edition < 3 || brings_back_ || !machine_.dice.one_in(2)) return 0;
  return machine_.dice.between(20'000, 60'000);
}

void World::remove_node() {
  std::vector<int> hosts;
  for (const auto& [host, rank] : root_->ranks())
    if (host > 0 && root_->agent_on(host) != nullptr) hosts.push_back(host);
  if (hosts.empty()) return;
  const int host = hosts[static_cast<std::size_t>(
      machine_.dice.between(0, static_cast<std::int64_t>(hosts.size()) - 1))];
  const msg::LeaveRequest ask{Hosts::name_of(host), machine_.dice.one_in(2)};
  user_->ask(root_->uri(), "node.leave", transport::pack(ask),
             [this, host, uri = root_->uri(),
              times = checks_.times_added(host)](const Result<std::string>& answer) {
               if (!answer || root_ == nullptr || root_->uri() != uri) return;
               // The node may have left and come again before the answer is here.
               if (checks_.times_added(host) != times) return;
               machine_.history.note("{} has left", Hosts::name_of(host));
               checks_.left(host);
             });
}

// Brings all nodes back, so that they are there at the end.
void World::bring_nodes_back() {
  if (!has_machines_ || root_ == nullptr || !root_->ready()) return;
  std::vector<int> hosts;
  brings_back_ = true;
  for (const int host : hosts_without_agent())
    if (root_->rank_on(host)) hosts.push_back(host);
  if (!hosts.empty()) add_nodes(hosts, hosts.size());
}

}  // namespace holon::world
