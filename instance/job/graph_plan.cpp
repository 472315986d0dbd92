#include "instance/job/graph_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text/nesting.hpp"
#include "instance/job/array.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/parted.hpp"

namespace holon::instance {
namespace {

constexpr auto kSchemesOfGraphs = std::to_array<std::string_view>(
    {"after", "afterstart", "afterany", "afterok", "afternotok", "aftercorr"});
constexpr std::size_t kLongestTaskName = 4096;  // bytes
constexpr std::uint32_t kMostUrgent = 31;
constexpr std::uint64_t kMostOfSpecs = std::uint64_t{1} << 30;  // bytes
constexpr std::uint64_t kBytesAtOnce = 64
                                       << 10;  // of jobspecs with their environment, in a portion
constexpr std::uint64_t kShortest = 500;       // bytes: a shorter jobspec takes as long
constexpr std::size_t kLinksAtOnce = 2'000;    // tasks and what they wait for, in a portion

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

std::uint64_t bytes_of(const std::map<std::string, std::string>& environment) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : environment) bytes += name.size() + value.size();
  return bytes;
}

// Each jobspec keeps a copy of the environment: a small request could ask for more memory than a
// broker has.
Status check_size_of_specs(const msg::GraphRequest& request, std::uint64_t all) {
  if (all <= kMostOfSpecs) return {};
  return fail(Errc::out_of_range,
              fmt::format("{} jobspecs are {} bytes with the environment; at most {} are accepted",
                          request.specs.size(), all, kMostOfSpecs),
              "specs");
}

// The first way of the task that is not refused; the first of all if every one is.
const Submission& taken_way(const GraphPlan& plan, const msg::GraphTask& task) {
  const auto way = std::find_if(task.ways.begin(), task.ways.end(),
                                [&](std::uint32_t one) { return !plan.specs[one].refusal; });
  return *plan.specs[way == task.ways.end() ? task.ways.front() : *way].submission;
}

// Checks the indices of the array's tasks that a task waits for.
Status check_indices(const GraphPlan& plan, std::size_t place, const msg::GraphAfter& after) {
  if (after.indices.empty()) return {};
  const msg::GraphTask& target = plan.request.tasks[after.task];
  const Submission& array = taken_way(plan, target);
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
Status check_after(const GraphPlan& plan, std::size_t place, const msg::GraphAfter& after) {
  const auto& tasks = plan.request.tasks;
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
  if (after.scheme != "aftercorr") return check_indices(plan, place, after);
  if (!after.indices.empty())
    return wrong("aftercorr takes an array, whose tasks are waited for one by one");
  const auto size_of = [&](std::size_t task) -> std::optional<std::uint64_t> {
    const Submission& what = taken_way(plan, tasks[task]);
    return what.wishes.array ? std::optional(what.count) : std::nullopt;
  };
  const auto own = size_of(place), other = size_of(after.task);
  if (!own) return wrong("aftercorr: only an array can wait task by task; afterok waits for all");
  if (!other) return wrong(fmt::format("aftercorr: task {} is no array", tasks[after.task].name));
  if (*own == *other) return {};
  return wrong(
      fmt::format("aftercorr: array {} has {} tasks, and this one {}; as many are accepted",
                  tasks[after.task].name, *other, *own));
}

// `was_checked`: only what a damaged journal could have changed is looked at.
Status check_task(const GraphPlan& plan, std::size_t place, bool was_checked) {
  const msg::GraphTask& task = plan.request.tasks[place];
  const auto wrong = [&](std::string what) {
    return wrong_at("tasks", place, Errc::invalid_argument, std::move(what));
  };
  if (task.ways.empty()) return wrong("it has no way");
  for (const std::uint32_t way : task.ways)
    if (way >= plan.specs.size())
      return wrong(fmt::format("spec {} of {} is named", way, plan.specs.size()));
  if (was_checked) {
    const bool is_damaged = std::any_of(task.after.begin(), task.after.end(),
                                        [place](const auto& after) { return after.task >= place; });
    return is_damaged ? wrong("it waits for a later task") : Status();
  }
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
    if (auto good = check_after(plan, place, after); !good) return good;
  return {};
}

}  // namespace

TaskWords GraphPlan::words_of(std::size_t place) const {
  const msg::GraphTask& asked = request.tasks[place];
  TaskWords words{asked.name, asked.command, {}};
  for (const auto& after : asked.after)
    words.dependencies.push_back(fmt::format("{}:{}{}{}", after.scheme, id_of(after.task).value(),
                                             after.indices.empty() ? "" : ".", after.indices));
  return words;
}

msg::GraphReply GraphPlan::reply() const {
  msg::GraphReply reply;
  for (const Task& task : tasks) reply.ids.push_back(first.value() + task.offset);
  return reply;
}

std::vector<std::uint32_t> GraphPlan::taken_ways() const {
  std::vector<std::uint32_t> ways;
  for (const Task& task : tasks) ways.push_back(task.spec);
  return ways;
}

std::uint64_t GraphReader::bytes_of_specs() const {
  const std::uint64_t environment = bytes_of(plan_.request.environment);
  std::uint64_t all = 0;
  for (const auto& spec : plan_.request.specs) all += spec.jobspec.size() + environment;
  return all;
}

Status GraphReader::read_spec(const ReadSpec& read) {
  const std::size_t place = plan_.specs.size();
  const msg::GraphSpec& asked = plan_.request.specs[place];
  if (asked.urgency > kMostUrgent)
    return wrong_at("specs", place, Errc::invalid_argument,
                    fmt::format("urgency is {}; accepted are 0 to {}", asked.urgency, kMostUrgent));
  GraphPlan::Spec spec;
  spec.jobspec = with_environment(asked.jobspec, plan_.request);
  spec.urgency = asked.urgency;
  auto made = read(spec.jobspec, asked);
  if (!made && made.error().code == Errc::unsatisfiable) spec.refusal = made.error();
  if (!made && !spec.refusal)
    return wrong_at("specs", place, made.error().code, to_string(made.error()));
  spec.submission = made ? std::make_shared<const Submission>(std::move(*made))
                         : std::make_shared<const Submission>();
  plan_.specs.push_back(std::move(spec));
  return {};
}

Result<GraphReader> GraphReader::begin(std::string_view packed,
                                       std::vector<std::uint32_t> kept_ways) {
  const auto parted = transport::take_out(packed, "tasks");
  if (!parted) return tl::unexpected(parted.error());
  auto request = transport::unpack<msg::GraphRequest>(parted->rest);
  if (!request) return tl::unexpected(request.error());
  if (!kept_ways.empty() && kept_ways.size() != parted->count)
    return fail(Errc::protocol,
                fmt::format("{} tasks have {} ways", parted->count, kept_ways.size()));
  GraphReader reader;
  reader.plan_.request = std::move(*request);
  reader.elements_ = parted->elements;
  reader.count_ = parted->count;
  reader.kept_ways_ = std::move(kept_ways);
  return reader;
}

Status GraphReader::read_task() {
  const std::size_t place = plan_.tasks.size();
  const auto bytes = transport::first_element(elements_);
  auto asked = transport::unpack<msg::GraphTask>(bytes);
  if (!asked) return wrong_at("tasks", place, asked.error().code, asked.error().what);
  elements_.remove_prefix(bytes.size());
  if (!kept_ways_.empty()) asked->ways = {kept_ways_[place]};
  plan_.request.tasks.push_back(std::move(*asked));
  if (auto good = check_task(plan_, place, !kept_ways_.empty()); !good) return good;
  const auto& ways = plan_.request.tasks.back().ways;
  plan_.tasks.push_back({plan_.numbers, ways.front()});
  std::uint64_t numbers = 1;
  for (const std::uint32_t way : ways)
    if (!plan_.specs[way].refusal) numbers = plan_.specs[way].numbers();
  plan_.numbers += numbers;
  return {};
}

Result<bool> GraphReader::read_some(const ReadSpec& read) {
  const msg::GraphRequest& request = plan_.request;
  if (!environment_) {
    environment_ = bytes_of(request.environment);
    if (auto good = check_size_of_specs(request, bytes_of_specs()); !good)
      return tl::unexpected(good.error());
  }
  for (std::uint64_t bytes = 0; plan_.specs.size() < request.specs.size();) {
    if (bytes >= kBytesAtOnce) return true;
    bytes += kShortest + request.specs[plan_.specs.size()].jobspec.size() + *environment_;
    if (auto good = read_spec(read); !good) return tl::unexpected(good.error());
  }
  for (std::size_t links = 0; !is_read();) {
    if (links >= kLinksAtOnce) return true;
    if (auto good = read_task(); !good) return tl::unexpected(good.error());
    links += 1 + request.tasks.back().after.size() + request.tasks.back().ways.size();
  }
  return false;
}

}  // namespace holon::instance
