#include "instance/resources/drains.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kReasonsNamed = 4;  // named in one answer

std::set<std::string> hosts_of(const resource::ResourceGraph& graph) {
  std::set<std::string> hosts;
  for (const resource::VertexId node : graph.by_type("node")) hosts.insert(graph.name(node));
  return hosts;
}

void add(std::vector<KeptDrain>& all, const Drains::ByHost& drains, bool above) {
  for (const auto& [host, drain] : drains)
    all.push_back({host, above, drain.reason, drain.since, drain.leave});
}

}  // namespace

Result<std::vector<std::string>> Drains::nodes_among(const Hostlist& hosts,
                                                     const std::set<std::string>& here) const {
  // If more hosts are listed than there are nodes, one of the first n + 1 is unknown.
  const bool too_many = hosts.count() > here.size();
  std::vector<std::string> names;
  Hostlist unknown;
  for (std::uint64_t n = 0; n < std::min<std::uint64_t>(hosts.count(), here.size() + 1); ++n) {
    names.push_back(hosts.at(n));
    if (!here.contains(names.back())) unknown.append(names.back());
  }
  const std::string counts =
      fmt::format("{} hosts are named, there {} {} node{}", hosts.count(),
                  here.size() == 1 ? "is" : "are", here.size(), here.size() == 1 ? "" : "s");
  if (!unknown.empty())
    return fail(Errc::not_found,
                fmt::format("there is no node {} here{}", unknown.str(),
                            too_many ? "; " + counts : std::string()),
                "hosts");
  if (too_many) return fail(Errc::invalid_argument, counts, "hosts");  // some of them twice
  return names;
}

Status Drains::drain(const Hostlist& hosts, const Drain& why) {
  const auto names = nodes_among(hosts, hosts_of(store_.graph()));
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    const auto [drain, is_new] = here_.try_emplace(name, why);
    if (is_new) continue;
    const Drain before = std::exchange(drain->second, why);
    if (why.reason.empty()) drain->second = before;
    drain->second.leave = why.leave == NodeLeave::stays ? before.leave : why.leave;
  }
  keep();
  apply();
  return {};
}

Status Drains::undrain(const Hostlist& hosts) {
  std::set<std::string> known = hosts_of(store_.graph());
  for (const auto& [host, drain] : here_) known.insert(host);
  const auto names = nodes_among(hosts, known);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names)
    if (above_.contains(name) && !here_.contains(name))
      return fail(
          Errc::invalid_argument,
          fmt::format("{} was drained by an instance above, which alone can end that", name),
          "hosts");
  for (const std::string& name : *names) here_.erase(name);
  keep();
  apply();
  return {};
}

void Drains::lift(const std::string& host) {
  if (here_.erase(host) == 0) return;
  keep();
  apply();
}

void Drains::follow(ByHost above) {
  above_ = std::move(above);
  keep();
  apply();
}

Drains::ByHost Drains::above_here() const {
  const std::set<std::string> here = hosts_of(store_.graph());
  ByHost above = above_;
  std::erase_if(above, [&](const auto& drain) { return !here.contains(drain.first); });
  return above;
}

// The reason given by an instance above comes before the one given here.
std::string Drains::reasons() const {
  ByHost all = above_here();
  all.insert(here_.begin(), here_.end());
  std::map<std::string, Hostlist> hosts;  // by reason
  for (const auto& [host, drain] : all) hosts[drain.reason].append(host);
  const auto silent = hosts.extract("");
  std::string text;
  std::size_t left = hosts.size();
  for (const auto& [reason, whose] : hosts) {
    if (hosts.size() - left == kReasonsNamed)
      return text + fmt::format("; and {} other reasons", left);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", whose.str(), reason);
    --left;
  }
  if (!text.empty() && !silent.empty())
    text += fmt::format("; {}: no reason was given", silent.mapped().str());
  return text;
}

void Drains::keep() {
  std::vector<KeptDrain> kept;
  add(kept, here_, false);
  add(kept, above_, true);
  journal_.put_drains(kept);
  on_changed();
}

Status Drains::restore() {
  const auto kept = journal_.drains();
  if (!kept) return tl::unexpected(kept.error());
  for (const KeptDrain& drain : *kept)
    (drain.above ? above_ : here_)[drain.host] = {drain.reason, drain.since, drain.leave};
  apply();
  return {};
}

void Drains::apply() {
  const resource::ResourceGraph& graph = store_.graph();
  const auto going_back = nodes_going_back();
  bool changed = false;
  for (const resource::VertexId node : graph.by_type("node")) {
    const std::string host = graph.name(node);
    const bool drained = here_.contains(host) || above_.contains(host) || going_back.contains(node);
    if (drained == graph[node].drained) continue;
    store_.set_drained(node, drained);
    changed = true;
  }
  if (changed) jobs_.resources_changed();
}

}  // namespace holon::instance
