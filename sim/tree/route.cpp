// Which instance gets which job.
#include <algorithm>

#include "sim/tree/tree.hpp"

namespace holon::sim {

namespace {

const std::string& routed_name(const TraceJob& job, RouteBy by) {
  return by == RouteBy::queue ? job.queue : job.user;
}

// Users by work, largest first, each to the instance with the least: what shared pools are dealt
// by. Users with the same work: in the order of their first jobs.
std::map<std::string, std::size_t> deal_users_by_work(const Workload& workload,
                                                      const std::vector<std::size_t>& to) {
  struct User {
    std::string name;
    std::int64_t work = 0;
  };
  std::vector<User> users;
  std::map<std::string, std::size_t> at;
  for (const TraceJob& job : workload.jobs) {
    const auto [found, is_new] = at.emplace(job.user, users.size());
    if (is_new) users.push_back({job.user});
    users[found->second].work += job.procs * std::max<Duration>(job.run, 1);
  }
  std::stable_sort(users.begin(), users.end(),
                   [](const User& a, const User& b) { return a.work > b.work; });
  std::vector<std::int64_t> loads(to.size(), 0);
  std::map<std::string, std::size_t> dealt;
  for (const User& user : users) {
    const auto least = std::min_element(loads.begin(), loads.end()) - loads.begin();
    loads[static_cast<std::size_t>(least)] += user.work;
    dealt[user.name] = to[static_cast<std::size_t>(least)];
  }
  return dealt;
}

}  // namespace

std::vector<std::size_t> deal(const Workload& workload, const Route& route) {
  std::map<std::string, std::size_t> by_name = route.named;
  if (route.by == RouteBy::load) by_name = deal_users_by_work(workload, route.to);
  std::vector<std::size_t> dealt;
  std::size_t turn = 0;
  for (const TraceJob& job : workload.jobs) {
    const std::string name =
        route.by == RouteBy::file ? std::to_string(job.id) : routed_name(job, route.by);
    const auto [found, is_new] = by_name.emplace(name, route.to[turn % route.to.size()]);
    turn += is_new;
    dealt.push_back(found->second);
  }
  return dealt;
}

}  // namespace holon::sim
