// The part of the JobManager that enters a large graph in the journal, in portions.
//
// All of the graph or nothing, whatever happens: in the turn that takes it, it is kept whole, as
// one text beside the jobs, with what was decided of it. Each portion after that enters some of its
// tasks as jobs, and how far that has come; with the last of them the text goes. A broker that
// finds such a text plans the graph as it was planned, and enters what is missing.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "instance/job/kept_graph.hpp"
#include "instance/manager/manager.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kEnteredAtOnce = 1'000;  // tasks
constexpr std::size_t kLargeGraph = 2'000;     // tasks

// Where the journal keeps the graph of a slot, and how many of its tasks are entered.
std::string key_of(std::size_t slot) {
  return fmt::format("graph.{}", slot);
}
std::string progress_of(std::size_t slot) {
  return fmt::format("graph.{}.entered", slot);
}

}  // namespace

bool JobManager::is_large(const msg::GraphRequest& request) {
  return request.tasks.size() > kLargeGraph;
}

void JobManager::keep_graph(msg::GraphRequest request, GraphPlan plan,
                            std::vector<std::uint32_t> refused, Time now) {
  std::size_t slot = 0;
  const auto has_slot = [&slot](const auto& graph) { return graph.second.slot == slot; };
  while (std::any_of(entering_.begin(), entering_.end(), has_slot)) ++slot;
  const JobId first = plan.tasks.front().id;
  KeptGraph kept{first.value(), now, std::move(request), {}, std::move(refused)};
  for (const GraphPlan::Task& task : plan.tasks) kept.chosen.push_back(task.spec);
  journal_.set_meta(key_of(slot), transport::pack(kept));
  journal_.set_number(progress_of(slot), 0);
  entering_.emplace(first, Entering{std::move(plan), 0, slot, now});
}

bool JobManager::enter_more(JobId first) {
  const auto found = entering_.find(first);
  if (found == entering_.end()) return false;
  Entering& graph = found->second;
  const std::size_t stop = std::min(graph.next + kEnteredAtOnce, graph.plan.tasks.size());
  while (graph.next < stop) graph.next = accept_run(graph.plan, graph.next, graph.taken);
  if (graph.next < graph.plan.tasks.size()) {
    journal_.set_number(progress_of(graph.slot), static_cast<std::int64_t>(graph.next));
    return true;
  }
  journal_.set_meta(key_of(graph.slot), "");
  entering_.erase(found);
  return false;
}

// The graph that the journal keeps in this slot; nullopt: none. What its specs are is taken from
// the time when it was accepted: the instance may be another since.
Result<std::optional<JobManager::Entering>> JobManager::kept_graph(std::size_t slot,
                                                                   const std::string& text,
                                                                   Time now) const {
  if (text.empty()) return std::nullopt;
  auto kept = transport::unpack<KeptGraph>(text);
  if (!kept) return tl::unexpected(kept.error());
  const auto entered = journal_.number(progress_of(slot));
  if (!entered) return tl::unexpected(entered.error());
  auto specs = read_specs(kept->request);
  if (!specs) return tl::unexpected(specs.error());
  const auto& asked = kept->request.specs;
  auto plan = plan_graph(
      kept->request, std::move(*specs), JobId(kept->first),
      [&](Submission& spec, const msg::GraphSpec& one) -> Status {
        spec.count = one.count;
        add_default_limit(spec, now);
        const auto place = static_cast<std::uint32_t>(&one - asked.data());
        if (std::find(kept->refused.begin(), kept->refused.end(), place) == kept->refused.end())
          return {};
        return fail(Errc::unsatisfiable, "it could not be had");
      });
  if (!plan) return tl::unexpected(plan.error());
  const auto next = static_cast<std::size_t>(entered->value_or(0));
  const auto& chosen = kept->chosen;
  const auto is_spec = [&](std::uint32_t spec) { return spec < plan->specs.size(); };
  if (chosen.size() != plan->tasks.size() || next >= chosen.size() ||
      !std::all_of(chosen.begin(), chosen.end(), is_spec))
    return fail(Errc::invalid_argument, "a kept graph does not fit its plan");
  for (std::size_t i = 0; i < chosen.size(); ++i) plan->tasks[i].spec = chosen[i];
  return Entering{std::move(*plan), next, slot, kept->taken};
}

// Enters what is missing of the graphs that an earlier broker had accepted, and makes their jobs.
Status JobManager::enter_kept_graphs(Time now) {
  for (std::size_t slot = 0;; ++slot) {
    const auto text = journal_.meta(key_of(slot));
    if (!text) return tl::unexpected(text.error());
    if (!*text) break;
    auto graph = kept_graph(slot, **text, now);
    if (!graph) return tl::unexpected(condemn(next_id_, graph.error()));
    if (!*graph) continue;
    next_id_ = std::max(next_id_, (*graph)->plan.end);
    entering_.emplace((*graph)->plan.tasks.front().id, std::move(**graph));
  }
  take_all(now);
  return {};
}

}  // namespace holon::instance
