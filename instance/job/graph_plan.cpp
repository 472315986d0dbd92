#include "instance/job/graph_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text/nesting.hpp"
#include "instance/job/array.hpp"

namespace holon::instance {
namespace {

constexpr auto kSchemesOfGraphs = std::to_array<std::string_view>(
    {"after", "afterstart", "afterany", "afterok", "afternotok", "aftercorr"});
constexpr std::size_t kLongestTaskName = 4096;  // bytes
constexpr std::uint32_t kMostUrgent = 31;
constexpr std::uint64_t kMostOfSpecs = std::uint64_t{1} << 30;  // bytes

tl::unexpected<Error> wrong_at(const char* list, std::size_t place, Errc code, std::string what) {
  return fail(code, std::move(what), fmt::format("{}/{}", list, place));
}

// The jobspec, with this environment if it has none.
std::string with_environment(const std::string& jobspec, const msg::GraphRequest& request) {
  // A jobspec that nests too deep is refused by its reader and is not rewritten before.
  if (request.environment.empty() || json_nesting(jobspec) > resource::kMaxJobspecDepth)
    return jobspec;
  nlohmann::json spec = nlohmann::json::parse(jobspec, nullptr, false);
  if (!spec.is_object()) return jobspec;
  auto& attributes = spec["attributes"];
  if (!attributes.is_object()) attributes = nlohmann::json::object();
  auto& system = attributes["system"];
  if (!system.is_object()) system = nlohmann::json::object();
  if (!system.contains("environment")) system["environment"] = request.environment;
  return spec.dump();
}

// Each jobspec keeps a copy of the environment: a small request could ask for more memory than a
// broker has.
Status check_size_of_specs(const msg::GraphRequest& request) {
  std::uint64_t environment = 0;
  for (const auto& [name, value] : request.environment) environment += name.size() + value.size();
  std::uint64_t all = 0;
  for (const auto& spec : request.specs) all += spec.jobspec.size() + environment;
  if (all <= kMostOfSpecs) return {};
  return fail(Errc::out_of_range,
              fmt::format("{} jobspecs are {} bytes with the environment; at most {} are accepted",
                          request.specs.size(), all, kMostOfSpecs),
              "specs");
}

Result<std::vector<GraphPlan::Spec>> read_specs(const msg::GraphRequest& request,
                                                const ReadSpec& read) {
  if (auto good = check_size_of_specs(request); !good) return tl::unexpected(good.error());
  std::vector<GraphPlan::Spec> specs;
  for (std::size_t i = 0; i < request.specs.size(); ++i) {
    const msg::GraphSpec& asked = request.specs[i];
    if (asked.urgency > kMostUrgent)
      return wrong_at(
          "specs", i, Errc::invalid_argument,
          fmt::format("urgency is {}; accepted are 0 to {}", asked.urgency, kMostUrgent));
    GraphPlan::Spec spec;
    spec.jobspec = with_environment(asked.jobspec, request);
    spec.urgency = asked.urgency;
    auto made = read(spec.jobspec, asked);
    if (!made && made.error().code == Errc::unsatisfiable) spec.refusal = made.error();
    if (!made && !spec.refusal)
      return wrong_at("specs", i, made.error().code, to_string(made.error()));
    spec.submission = made ? std::make_shared<const Submission>(std::move(*made))
                           : std::make_shared<const Submission>();
    specs.push_back(std::move(spec));
  }
  return specs;
}

// The first way of the task that is not refused; the first of all if every one is.
const Submission& taken_way(const msg::GraphTask& task, const GraphPlan& plan) {
  const auto way = std::find_if(task.ways.begin(), task.ways.end(),
                                [&](std::uint32_t one) { return !plan.specs[one].refusal; });
  return *plan.specs[way == task.ways.end() ? task.ways.front() : *way].submission;
}

// Checks the indices of the array's tasks that a task waits for.
Status check_indices(const msg::GraphRequest& request, const GraphPlan& plan, std::size_t place,
                     const msg::GraphAfter& after) {
  if (after.indices.empty()) return {};
  const msg::GraphTask& target = request.tasks[after.task];
  const Submission& array = taken_way(target, plan);
  const auto indices = Idset::parse(after.indices);
  if (!indices || indices->empty())
    return wrong_at("tasks", place, Errc::invalid_argument,
                    fmt::format("'{}' are no indices; 3-9 are", after.indices));
  if (!array.wishes.array)
    return wrong_at("tasks", place, Errc::invalid_argument,
                    fmt::format("task {} is no array", target.name));
  const ArrayShape shape{JobId(0), array.count, *array.wishes.array};
  if (shape.numbers_of(*indices)) return {};
  return wrong_at(
      "tasks", place, Errc::invalid_argument,
      fmt::format("array {} has no task with such an index: {}", target.name, after.indices));
}

// Checks what a task waits for: an earlier task, of equal size for aftercorr.
Status check_after(const msg::GraphRequest& request, const GraphPlan& plan, std::size_t place,
                   const msg::GraphAfter& after) {
  const auto wrong = [&](std::string what) {
    return wrong_at("tasks", place, Errc::invalid_argument, std::move(what));
  };
  if (after.task >= place)
    return wrong(
        fmt::format("it waits for the task at {}; accepted are those before it", after.task));
  if (std::find(kSchemesOfGraphs.begin(), kSchemesOfGraphs.end(), after.scheme) ==
      kSchemesOfGraphs.end())
    return wrong(
        fmt::format("'{}' is no scheme; accepted are after, afterany, afterok, "
                    "afternotok and aftercorr",
                    after.scheme));
  if (after.scheme != "aftercorr") return check_indices(request, plan, place, after);
  if (!after.indices.empty())
    return wrong("aftercorr takes an array, whose tasks are waited for one by one");
  const auto size_of = [&](std::size_t task) -> std::optional<std::uint64_t> {
    const Submission& what = taken_way(request.tasks[task], plan);
    return what.wishes.array ? std::optional(what.count) : std::nullopt;
  };
  const auto own = size_of(place), other = size_of(after.task);
  if (!own) return wrong("aftercorr: only an array can wait task by task; afterok waits for all");
  if (!other)
    return wrong(fmt::format("aftercorr: task {} is no array", request.tasks[after.task].name));
  if (*own == *other) return {};
  return wrong(
      fmt::format("aftercorr: array {} has {} tasks, and this one {}; as many are accepted",
                  request.tasks[after.task].name, *other, *own));
}

Status check_task(const msg::GraphRequest& request, const GraphPlan& plan, std::size_t place) {
  const msg::GraphTask& task = request.tasks[place];
  const auto wrong = [&](std::string what) {
    return wrong_at("tasks", place, Errc::invalid_argument, std::move(what));
  };
  if (task.ways.empty()) return wrong("it has no way");
  for (const std::uint32_t way : task.ways)
    if (way >= plan.specs.size())
      return wrong(fmt::format("spec {} of {} is named", way, plan.specs.size()));
  if (task.name.size() > kLongestTaskName)
    return wrong(fmt::format("its name has {} bytes; at most {} are accepted", task.name.size(),
                             kLongestTaskName));
  if (!task.command.empty() && task.command.front().empty())
    return wrong("its command is an empty string");
  const auto shape = [&](std::uint32_t way) {
    const auto& spec = plan.specs[way];
    return spec.refusal ? 0 : spec.numbers();
  };
  std::uint64_t numbers = 0;
  for (const std::uint32_t way : task.ways) {
    if (shape(way) == 0) continue;
    if (numbers != 0 && numbers != shape(way))
      return wrong("its variants differ in how many tasks they are");
    numbers = shape(way);
  }
  for (const auto& after : task.after)
    if (auto good = check_after(request, plan, place, after); !good) return good;
  return {};
}

}  // namespace

msg::GraphReply GraphPlan::reply() const {
  msg::GraphReply reply;
  for (const Task& task : tasks) reply.ids.push_back(task.id.value());
  return reply;
}

Result<GraphPlan> plan_graph(const msg::GraphRequest& request, JobId first, const ReadSpec& read) {
  GraphPlan plan;
  plan.user = request.user;
  auto specs = read_specs(request, read);
  if (!specs) return tl::unexpected(specs.error());
  plan.specs = std::move(*specs);
  plan.end = first;
  for (std::size_t i = 0; i < request.tasks.size(); ++i) {
    if (auto good = check_task(request, plan, i); !good) return tl::unexpected(good.error());
    const msg::GraphTask& asked = request.tasks[i];
    GraphPlan::Task task{plan.end, asked.ways, asked.ways.front(), {asked.name, asked.command, {}}};
    for (const auto& after : asked.after)
      task.words.dependencies.push_back(
          fmt::format("{}:{}{}{}", after.scheme, plan.tasks[after.task].id.value(),
                      after.indices.empty() ? "" : ".", after.indices));
    std::uint64_t numbers = 1;
    for (const std::uint32_t way : asked.ways)
      if (!plan.specs[way].refusal) numbers = plan.specs[way].numbers();
    plan.end = JobId(plan.end.value() + numbers);
    plan.tasks.push_back(std::move(task));
  }
  return plan;
}

}  // namespace holon::instance
