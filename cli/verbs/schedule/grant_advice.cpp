#include "cli/verbs/schedule/grant_advice.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/show/units.hpp"

namespace holon::cli {
namespace {

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string count_of_cores(std::int64_t cores) {
  return counted(cores, "core");
}

// As options take it, and no shorter than it is.
std::string in_minutes(Duration limit) {
  constexpr Duration kMinute = 60'000;
  return fmt::format("{}m", (limit + kMinute - 1) / kMinute);
}

}  // namespace

Result<GrantAdvice> GrantAdvice::beside(client::Client& client) {
  GrantAdvice advice;
  const auto here = client.status();
  if (!here) return tl::unexpected(here.error());
  advice.path_ = here->path;
  advice.has_one_node_ = here->nodes <= 1;
  if (advice.path_ == "/") return advice;
  const auto slash = advice.path_.rfind('/');
  advice.above_ = slash == 0 ? "/" : advice.path_.substr(0, slash);
  const std::string before = client.path();
  client.set_path(advice.above_);
  const auto above = client.tree();
  client.set_path(before);
  if (!above) return advice;
  for (const auto& child : above->children)
    if (child.path != advice.path_ && child.health == "up" && child.cores_free > 0)
      advice.idle_.push_back({child.path, child.cores_free});
  return advice;
}

std::string GrantAdvice::chance_in_words(const msg::GrantExplained& about, Time now) const {
  const auto& chance = about.chance;
  if (!about.never.empty()) return fmt::format("{} never has them: {}", above_, about.never);
  if (!about.unsaid.empty())
    return fmt::format("{} has not said when it could give them: {}", above_, about.unsaid);
  if (chance.is_planned)
    return fmt::format("{} could give them {}", above_,
                       chance.at == 0 ? "now" : "at " + show_time(chance.at, now));
  if (chance.room != 0)
    return fmt::format("{} could give them from {} on, unless a job ahead of it takes the place",
                       above_, show_time(chance.room, now));
  return fmt::format("it is not known when {} could give them", above_);
}

std::string GrantAdvice::command_for(const msg::GrantExplained& about) const {
  const std::string hosts = has_one_node_ || about.nodes > 0 ? "" : " -w " + about.hosts;
  const std::string limit = about.limit == 0 ? "" : " -t " + in_minutes(about.limit);
  const std::string what =
      about.nodes > 0 ? fmt::format("-N {}", about.nodes) : fmt::format("-n {}", about.cores);
  return fmt::format("holon -i {} grant ask {}{}{}", path_, what, hosts, limit);
}

std::vector<std::string> GrantAdvice::lines(const msg::GrantExplained& about, Time now) const {
  if (about.cores == 0) return {about.why_none};
  const std::string what =
      about.nodes > 0 ? counted(about.nodes, "whole node") : count_of_cores(about.cores);
  std::vector<std::string> lines = {
      fmt::format("{} more would do; {}", what, chance_in_words(about, now))};
  if (about.never.empty()) lines.push_back("ask for them with: " + command_for(about));
  std::string who;
  if (about.chance.cores > 0)
    who = fmt::format("{} has {} of the {} cores of {}", path_, about.here, about.chance.cores,
                      above_);
  for (const auto& idle : idle_)
    who += fmt::format("{}{} has {} idle", who.empty() ? "" : "; ", idle.path,
                       count_of_cores(idle.cores));
  if (!who.empty()) lines.push_back(std::move(who));
  return lines;
}

nlohmann::ordered_json GrantAdvice::json(const msg::GrantExplained& about) const {
  nlohmann::ordered_json json = {
      {"path", path_},        {"cores", about.cores}, {"why_none", about.why_none},
      {"limit", about.limit}, {"hosts", about.hosts}, {"here", about.here},
      {"above", above_},      {"never", about.never}, {"unsaid", about.unsaid},
      {"nodes", about.nodes}};
  const auto& chance = about.chance;
  json["chance"] = {{"is_planned", chance.is_planned},
                    {"at", chance.at},
                    {"room", chance.room},
                    {"cores", chance.cores}};
  json["idle"] = nlohmann::ordered_json::array();
  for (const auto& one : idle_) json["idle"].push_back({{"path", one.path}, {"cores", one.cores}});
  return json;
}

}  // namespace holon::cli
