// lender_asks.cpp - what a child asks for becomes a job of this instance, or is refused.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/hostlist.hpp"
#include "instance/grants/lender.hpp"
#include "instance/resources/more_nodes.hpp"
#include "instance/resources/resources.hpp"
#include "qmanager/machine/uniform.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;
using nlohmann::json;

// What an ask may say beside its resources. Whatever else a job may want makes no sense for one
// that runs nothing (an array, its dependencies), or would be more than what its child may take (a
// place in an advance reservation, licenses). What is only for the command is passed over.
constexpr std::array kOfTheCommand = {"cwd", "environment", "job", "shell"};
constexpr std::array kOfAnAsk = {"duration", "constraints", "holon"};
constexpr const char* kByItself = "by_itself";    // as an elastic child does
constexpr const char* kMostCores = "most_cores";  // in whole nodes, all together
constexpr std::array kWishesOfAnAsk = {"immediate", "slots", kByItself, kMostCores};
// What a child would like to have waits behind what somebody has submitted here.
constexpr std::uint32_t kUrgencyByItself = qmanager::kUrgencyDefault - 1;
constexpr const char* kGroup = "group";  // of whoever asks; the grant is of the child's

template <class Names>
bool is_one_of(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_ask(const json& system) {
  constexpr const char* kAccepted =
      "is not taken with an ask; accepted are duration, constraints, holon/immediate, holon/slots, "
      "holon/by_itself and holon/most_cores";
  for (const auto& [name, value] : system.items())
    if (!is_one_of(kOfTheCommand, name) && !is_one_of(kOfAnAsk, name))
      return fail(Errc::invalid_argument, kAccepted, "/attributes/system/" + name);
  if (!system.contains("holon")) return {};
  if (!system["holon"].is_object())
    return fail(Errc::invalid_argument, "is no object", "/attributes/system/holon");
  for (const auto& [name, value] : system["holon"].items())
    if (!is_one_of(kWishesOfAnAsk, name) && name != kGroup)
      return fail(Errc::invalid_argument, kAccepted, "/attributes/system/holon/" + name);
  return {};
}

bool is_by_itself(const std::string& jobspec) {
  const json spec = json::parse(jobspec, nullptr, false);
  const json::json_pointer wish(std::string("/attributes/system/holon/") + kByItself);
  return spec.contains(wish) && spec[wish] == true;
}

// Whole nodes are those that nobody else may have anything of.
bool wants_whole_nodes(const json& jobspec) {
  const auto resources = jobspec.find("resources");
  if (resources == jobspec.end() || !resources->is_array() || resources->empty()) return false;
  const json& first = resources->front();
  if (!first.is_object() || !first.contains("type") || !first.contains("exclusive")) return false;
  return first["type"] == "node" && first["exclusive"] == true;
}

// Of an ask for nodes, all of the same size at most; nullopt: it does not say.
std::optional<std::int64_t> most_cores_of_each(const json& jobspec) {
  const json::json_pointer wish(std::string("/attributes/system/holon/") + kMostCores);
  if (!jobspec.contains(wish) || !jobspec[wish].is_number_integer()) return std::nullopt;
  const auto spec = resource::parse_jobspec(jobspec.dump());
  const auto nodes = spec ? qmanager::least_units(*spec, "node") : 0;
  return jobspec[wish].get<std::int64_t>() / std::max<std::int64_t>(1, nodes);
}

}  // namespace

// Each node has to have an agent, which starts the child's.
Status Lender::can_lend_nodes() const {
  const auto& agents = uses_.nodes_of_agents.agents();
  if (uses_.identity.serves_users)
    return fail(Errc::unsupported,
                "an instance for several users lends cores and GPUs of nodes that a child has; no "
                "whole nodes");
  if (ranks_of_nodes(uses_.store.graph()) == agents && agents.size() > 1) return {};
  const auto nodes = uses_.store.graph().by_type("node").size();
  std::string here = fmt::format("{} have {}", agents.size(), nodes);
  if (agents.size() == 1) here = nodes == 1 ? "there is one" : fmt::format("one has all {}", nodes);
  return fail(
      Errc::unsupported,
      "whole nodes are lent where there are several, each with an agent of its own; here " + here);
}

// Those with cores of which the child's own job has nothing.
std::vector<resource::VertexId> Lender::nodes_beside(const ActiveJob& child) const {
  const auto& graph = uses_.store.graph();
  const auto own = units_of(graph, *child.allocation);
  const auto its = own ? nodes_with(graph, *own) : std::vector<resource::VertexId>();
  std::vector<resource::VertexId> nodes;
  for (const auto node : graph.by_type("node"))
    if (std::find(its.begin(), its.end(), node) == its.end() &&
        count(graph, units_below(graph, node)).cores > 0)
      nodes.push_back(node);
  return nodes;
}

void Lender::tell_of_nodes(const ActiveJob& child, msg::GrantChance& chance) const {
  if (const auto can = can_lend_nodes(); !can) {
    chance.no_nodes = can.error().what;
    return;
  }
  const auto& graph = uses_.store.graph();
  const auto nodes = nodes_beside(child);
  const auto cores = [&](auto node) { return count(graph, units_below(graph, node)).cores; };
  const auto smallest = std::min_element(nodes.begin(), nodes.end(),
                                         [&](auto a, auto b) { return cores(a) < cores(b); });
  if (smallest == nodes.end())
    chance.no_nodes = fmt::format("{} has a part of each node of {}", uses_.jobs.path_of(child.id),
                                  uses_.identity.path);
  else
    chance.node = shape_of(graph, *smallest);
}

// The jobspec of the job that holds what the child asks for: on the child's own nodes, or whole
// nodes that it does not have. Errors: invalid_argument, with the place in the ask; unsupported.
Result<std::string> Lender::jobspec_for(const ActiveJob& child, const h::Ask& ask) const {
  json spec = json::parse(ask.jobspec, nullptr, false);
  if (!spec.is_object() || !spec["attributes"].is_object() ||
      !spec["attributes"]["system"].is_object())
    return fail(Errc::invalid_argument, "is no jobspec", "jobspec");
  json& asked = spec["attributes"]["system"];
  if (auto sound = check_ask(asked); !sound) return tl::unexpected(sound.error());
  const bool is_for_nodes = wants_whole_nodes(spec);
  if (const auto can = can_lend_nodes(); is_for_nodes && !can) return tl::unexpected(can.error());
  for (const char* name : kOfTheCommand) asked.erase(name);
  json hosts = json::array({child.life.place.nodelist});
  if (const auto most = most_cores_of_each(spec); is_for_nodes && most) {
    const auto& graph = uses_.store.graph();
    Hostlist too_large;
    for (const auto node : nodes_beside(child))
      if (count(graph, units_below(graph, node)).cores > *most) too_large.append(graph.name(node));
    if (!too_large.empty()) hosts.push_back(too_large.str());
  }
  const json here = {{"hostlist", std::move(hosts)}};
  const json where = is_for_nodes ? json{{"not", json::array({here})}} : here;
  asked["constraints"] = asked.contains("constraints") && asked["constraints"] != where
                             ? json{{"and", json::array({asked["constraints"], where})}}
                             : where;
  json grant = {
      {"child", child.id.value()}, {"ask", ask.op}, {"epoch", uses_.children.epoch_of(child.id)}};
  if (asked.contains("holon")) {
    asked["holon"].erase(kGroup);
    if (asked["holon"].contains(kByItself)) grant[kByItself] = asked["holon"][kByItself];
    asked["holon"].erase(kByItself);
    asked["holon"].erase(kMostCores);
  }
  asked["holon"]["grant"] = std::move(grant);
  asked["job"]["name"] = "grant";
  spec["attributes"] = {{"system", asked}};
  return spec.dump(-1, ' ', true, json::error_handler_t::replace);
}

Status Lender::has_nodes_for(const ActiveJob& child, const resource::Jobspec& spec) const {
  const auto wanted = std::max<std::int64_t>(1, qmanager::least_units(spec, "node"));
  const auto of_each = [&](const char* type) {
    return (qmanager::least_units(spec, type) + wanted - 1) / wanted;
  };
  const UnitCounts each{of_each("core"), of_each("gpu")};
  const auto& graph = uses_.store.graph();
  const auto nodes = nodes_beside(child);
  const auto fitting = std::count_if(nodes.begin(), nodes.end(), [&](resource::VertexId node) {
    const UnitCounts its = count(graph, units_below(graph, node));
    return its.cores >= each.cores && its.gpus >= each.gpus;
  });
  if (wanted <= fitting) return {};
  std::string what = fmt::format("{} core{}", each.cores, each.cores == 1 ? "" : "s");
  if (each.gpus > 0) what += fmt::format(" and {} GPU{}", each.gpus, each.gpus == 1 ? "" : "s");
  return fail(
      Errc::unsatisfiable,
      fmt::format(
          "asks for {} whole node{} of {}; of the {} that {} has nothing of, {} have as much",
          wanted, wanted == 1 ? "" : "s", what, nodes.size(), uses_.jobs.path_of(child.id),
          fitting));
}

// What is lent to others comes back. So does what this child has beyond its own, but that would not
// be more for a child that asks by itself. Below the root an instance may itself get more, by
// itself or since somebody asks for it there; who asks by hand waits for either.
Status Lender::can_be_met(const ActiveJob& child, const h::Ask& ask) const {
  const bool by_itself = is_by_itself(ask.jobspec);
  if (uses_.identity.path != "/" && (is_elastic() || !by_itself)) return {};
  const auto spec = resource::parse_jobspec(ask.jobspec);
  if (!spec) return tl::unexpected(spec.error());
  if (wants_whole_nodes(json::parse(ask.jobspec, nullptr, false)))
    return has_nodes_for(child, *spec);
  const auto& graph = uses_.store.graph();
  h::Units has;
  if (auto own = units_of(graph, *child.allocation)) has = std::move(*own);
  if (by_itself)
    has = h::all_of(has, units_in(link_to(uses_.book.book(), child.id), h::State::held));
  const UnitCounts all = count(graph, units_beside(graph, has)), its = count(graph, has);
  const std::pair<const char*, std::int64_t> left[] = {{"core", all.cores - its.cores},
                                                       {"gpu", all.gpus - its.gpus}};
  for (const auto& [type, most] : left)
    if (const auto least = qmanager::least_units(*spec, type); least > most)
      return fail(
          Errc::unsatisfiable,
          fmt::format("asks for {} {}{} more; beside what {} has there are {} on its nodes{}",
                      least, type, least == 1 ? "" : "s", uses_.jobs.path_of(child.id), most,
                      can_lend_nodes() ? "; whole nodes come with -N" : ""));
  return {};
}

void Lender::heard(JobId child, const h::Ask& ask, Time now) {
  const ActiveJob& its = *uses_.jobs.find(child);
  const auto request = request_for(its, ask);
  if (!request) return refuse(child, ask.op, request.error(), now);
  if (auto possible = can_be_met(its, ask); !possible)
    return refuse(child, ask.op, {possible.error().code, possible.error().what, {}}, now);
  const auto taken = uses_.jobs.submit_grant(*request, now);
  if (!taken) refuse(child, ask.op, {taken.error().code, taken.error().what, {}}, now);
}

Result<msg::GrantChance> Lender::could(JobId child, const msg::GrantCould& what, Time now) const {
  if (!is_child(child))
    return fail(Errc::not_found, fmt::format("no instance {} runs here", uses_.jobs.path_of(child)),
                "child");
  const ActiveJob& its = *uses_.jobs.find(child);
  msg::GrantChance chance;
  tell_of_nodes(its, chance);
  if (what.jobspec.empty()) return chance;
  const h::Ask ask{.jobspec = what.jobspec};
  const auto request = request_for(its, ask);
  if (!request) return tl::unexpected(request.error());
  if (auto possible = can_be_met(its, ask); !possible) return tl::unexpected(possible.error());
  const auto found = uses_.jobs.chance_of_grant(*request, now);
  if (!found) return tl::unexpected(found.error());
  const auto& clock = uses_.jobs.clock();
  chance.is_planned = found->planned.has_value();
  if (found->planned && *found->planned > now) chance.at = clock.wall(*found->planned);
  if (found->room) chance.room = clock.wall(std::max(now, *found->room));
  chance.cores = static_cast<std::int64_t>(uses_.store.graph().by_type("core").size());
  return chance;
}

// The submission of the job that is to hold what the child asks for.
Result<msg::SubmitRequest> Lender::request_for(const ActiveJob& child, const h::Ask& ask) const {
  auto spec = jobspec_for(child, ask);
  if (!spec) return tl::unexpected(spec.error());
  msg::SubmitRequest request;
  request.jobspec = std::move(*spec);
  request.user = child.life.user;
  if (is_by_itself(ask.jobspec)) request.urgency = kUrgencyByItself;
  // A child that knows nothing of the one before it begins to count anew.
  request.key = fmt::format("grant {} {} {} {}", child.id.value(), child.life.retries,
                            uses_.children.epoch_of(child.id), ask.op);
  return request;
}

}  // namespace holon::instance
