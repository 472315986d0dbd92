#include "cli/verbs/schedule/more_cores.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/show/units.hpp"

namespace holon::cli {
namespace {

std::string count_of_cores(std::int64_t cores) {
  return fmt::format("{} core{}", cores, cores == 1 ? "" : "s");
}

// What the other children of the instance above do not use.
void add_idle(const msg::TreeNode& above, MoreCores& more) {
  for (const auto& child : above.children)
    if (child.path != more.path && child.health == "up" && child.cores_free > 0)
      more.idle.push_back({child.path, child.cores_free});
}

}  // namespace

Result<MoreCores> more_cores_for(client::Client& client, std::uint64_t job) {
  MoreCores more;
  const auto here = client.status();
  if (!here) return tl::unexpected(here.error());
  more.path = here->path;
  more.here = here->cores;
  if (more.path == "/") return more;
  const auto need = client.needed({job});
  if (!need) return tl::unexpected(need.error());
  more.cores = need->cores;
  more.limit = need->limit;
  const auto slash = more.path.rfind('/');
  more.above = slash == 0 ? "/" : more.path.substr(0, slash);
  const std::string before = client.path();
  client.set_path(more.above);
  const auto tree = client.tree();
  if (tree) {
    more.of_above = tree->cores;
    add_idle(*tree, more);
  }
  if (more.cores > 0) {
    const auto chance = client.could_grant(
        {std::strtoull(more.path.c_str() + slash + 1, nullptr, 10), need->jobspec});
    client.set_path(before);
    if (!chance && chance.error().code != Errc::unsatisfiable)
      return tl::unexpected(chance.error());
    if (!chance) more.why_not = chance.error().what;
    if (chance) std::tie(more.is_planned, more.at) = std::pair(chance->is_planned, chance->at);
  }
  client.set_path(before);
  return more;
}

std::vector<std::string> lines_of(const MoreCores& more, Time now) {
  if (more.path == "/") return {"this is the root of its tree: nobody is above it"};
  if (more.cores == 0) return {fmt::format("no number of cores more in {} would do", more.path)};
  std::string could;
  if (!more.why_not.empty())
    could = fmt::format("{} never has them: {}", more.above, more.why_not);
  else if (!more.is_planned)
    could = fmt::format("it is not known when {} could give them", more.above);
  else
    could = fmt::format("{} could give them {}", more.above,
                        more.at == 0 ? "now" : "at " + show_time(more.at, now));
  std::vector<std::string> lines = {
      fmt::format("{} more would do; {}", count_of_cores(more.cores), could)};
  if (more.why_not.empty())
    lines.push_back(fmt::format("ask for them with: holon -i {} grant ask -n {}{}", more.path,
                                more.cores,
                                more.limit == 0 ? "" : " -t " + show_duration(more.limit)));
  std::string who = fmt::format("{} has {} of the {} cores of {}", more.path, more.here,
                                more.of_above, more.above);
  for (const auto& idle : more.idle)
    who += fmt::format("; {} has {} idle", idle.path, count_of_cores(idle.cores));
  lines.push_back(std::move(who));
  return lines;
}

nlohmann::ordered_json json_of(const MoreCores& more) {
  auto idle = nlohmann::ordered_json::array();
  for (const auto& one : more.idle) idle.push_back({{"path", one.path}, {"cores", one.cores}});
  return {{"path", more.path},
          {"cores", more.cores},
          {"limit", more.limit},
          {"here", more.here},
          {"above", more.above},
          {"of_above", more.of_above},
          {"is_planned", more.is_planned},
          {"at", more.at},
          {"why_not", more.why_not},
          {"idle", idle}};
}

}  // namespace holon::cli
