#include "instance/request/dependencies.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace holon::instance {
namespace {

using nlohmann::json;
using Scheme = Dependency::Scheme;
using Verdict = Standing::Verdict;

constexpr auto kSchemes = std::to_array<std::pair<const char*, Scheme>>({
    {"after", Scheme::after},
    {"afterstart", Scheme::after},
    {"afterany", Scheme::afterany},
    {"afterok", Scheme::afterok},
    {"afternotok", Scheme::afternotok},
    {"aftercorr", Scheme::aftercorr},
    {"singleton", Scheme::singleton},
    {"begin-time", Scheme::begin_time},
});

template <class Number>
std::optional<Number> parse_whole(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<Dependency> read_one(const json& entry, const std::string& where) {
  if (!entry.is_object() || !entry.contains("scheme") || !entry["scheme"].is_string())
    return fail(Errc::invalid_argument,
                "is no dependency; accepted is an object with \"scheme\" and \"value\"", where);
  const auto name = entry["scheme"].get<std::string>();
  const auto known = std::find_if(kSchemes.begin(), kSchemes.end(),
                                  [&](const auto& s) { return name == s.first; });
  if (known == kSchemes.end())
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is no scheme; accepted are after, afterany, afterok, afternotok, "
                            "aftercorr, singleton and begin-time",
                            name),
                where + "/scheme");
  Dependency dependency;
  dependency.scheme = known->second;
  const bool has_value = entry.contains("value") && entry["value"].is_string();
  const auto value = has_value ? entry["value"].get<std::string>() : std::string();
  dependency.text = value.empty() ? name : name + ":" + value;
  if (known->second == Scheme::singleton) return dependency;
  if (known->second == Scheme::begin_time) {
    const auto seconds = parse_whole<double>(value);
    if (!seconds || !(*seconds >= 0 && *seconds < 1e12))
      return fail(Errc::invalid_argument,
                  "is no time; accepted are seconds since the epoch, as a string",
                  where + "/value");
    dependency.at = std::llround(*seconds * 1000);
    return dependency;
  }
  const auto wrong = [&](const char* what) {
    return fail(Errc::invalid_argument, fmt::format("\"{}\" {}", value, what), where + "/value");
  };
  const auto dot = std::min(value.find('.'), value.size());
  const auto id = parse_whole<std::uint64_t>(value.substr(0, dot));
  if (!id)
    return wrong(
        "is no job id; accepted is one, as a string; more jobs are more entries of the list");
  dependency.job = JobId(*id);
  if (dot == value.size()) return dependency;
  auto indices = Idset::parse(std::string_view(value).substr(dot + 1));
  if (!indices || indices->empty())
    return wrong("names no tasks; accepted are an array's id, a dot and indices, like \"7.3-9\"");
  if (dependency.scheme == Scheme::aftercorr)
    return wrong("names tasks; aftercorr takes an array, whose tasks are waited for one by one");
  dependency.indices = std::move(*indices);
  return dependency;
}

}  // namespace

Result<std::vector<Dependency>> read_dependencies(const json& system) {
  std::vector<Dependency> all;
  const auto list = system.find("dependencies");
  if (list == system.end()) return all;
  const std::string where = "/attributes/system/dependencies";
  if (!list->is_array()) return fail(Errc::invalid_argument, "is no list of dependencies", where);
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto one = read_one((*list)[i], fmt::format("{}/{}", where, i));
    if (!one) return tl::unexpected(one.error());
    all.push_back(std::move(*one));
  }
  return all;
}

Standing judge(const Dependency& dependency, const TargetState& target, Time now,
               const JobText& text) {
  const JobId job = target.job.value() == 0 ? dependency.job : target.job;
  const bool over = !target.result.empty();
  const bool completed = target.result == "COMPLETED";
  const auto never = [&](std::string_view why) -> Standing {
    return {Verdict::impossible, fmt::format("{} can never be met: {} {}", dependency.text,
                                             job_in_words(job, text), why)};
  };
  const auto waits = [&](std::string_view what) -> Standing {
    return {Verdict::open, fmt::format("waits for {} to {}", job_in_words(job, text), what)};
  };
  switch (dependency.scheme) {
    case Scheme::after:
      if (target.started) return {};
      return over ? never("ended without having started (" + target.result + ")") : waits("start");
    case Scheme::afterany:
      return over ? Standing{} : waits("end");
    case Scheme::afterok:
      if (!over) return waits("complete");
      return completed ? Standing{} : never("did not complete (" + target.result + ")");
    case Scheme::afternotok:
      if (!over) return waits("fail");
      // For "again until it succeeds": after the first success no later attempt has failed.
      if (target.fell) return never("did not run: what it waited for did not happen");
      return completed ? never("has completed") : Standing{};
    case Scheme::begin_time:
      return now >= dependency.at
                 ? Standing{}
                 : Standing{Verdict::open, "waits for its begin time", "begin-time"};
    case Scheme::aftercorr:  // each task has its own Standing
    case Scheme::singleton:
      break;
  }
  return {};
}

void WaitingRoom::happened(JobId first_target, JobId last_target) {
  const auto first = by_target_.lower_bound({first_target, JobId(0)});
  auto last = first;
  for (; last != by_target_.end() && last->first <= last_target; ++last)
    to_look_at_.insert(last->second);
  by_target_.erase(first, last);
}

void WaitingRoom::call_due(Time now) {
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    to_look_at_.insert(by_time_.begin()->second);
    by_time_.erase(by_time_.begin());
  }
}

std::optional<JobId> WaitingRoom::next_called() {
  if (to_look_at_.empty()) return std::nullopt;
  return to_look_at_.extract(to_look_at_.begin()).value();
}

std::optional<Time> WaitingRoom::next() const {
  if (!to_look_at_.empty()) return 0;
  return by_time_.empty() ? std::nullopt : std::optional(by_time_.begin()->first);
}

}  // namespace holon::instance
