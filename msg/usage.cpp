#include "msg/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace holon::msg {
namespace {

constexpr auto kUsageKeys = std::to_array<std::string_view>(
    {"user", "name", "queue", "account", "group", "qos", "result", "day"});

std::string day_of(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string usage_key(const std::string& by, const JobRecord& job) {
  if (by == "user") return job.user;
  if (by == "name") return job.name;
  if (by == "queue") return job.queue;
  if (by == "account") return job.account;
  if (by == "group") return job.group;
  if (by == "qos") return job.qos;
  if (by == "result") return job.result;
  return day_of(job.t_inactive);
}

std::uint64_t& column_of(Usage& usage, const std::string& result) {
  if (result == "COMPLETED") return usage.completed;
  if (result == "CANCELED") return usage.cancelled;
  if (result == "TIMEOUT") return usage.timeout;
  if (result == "REJECTED") return usage.rejected;
  return usage.failed;
}

}  // namespace

std::span<const std::string_view> usage_keys() {
  return kUsageKeys;
}

Status check_usage_key(const std::string& by) {
  if (std::find(kUsageKeys.begin(), kUsageKeys.end(), by) != kUsageKeys.end()) return {};
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is not accepted; {} are", by, fmt::join(kUsageKeys, ", ")), "by");
}

namespace {

// Adds the tasks of an array, by their results; `key`: the array's.
void add_array(UsageTable& table, const std::string& by, const std::string& key,
               const JobRecord& array) {
  const auto add = [&](const char* result, std::uint64_t tasks) {
    if (tasks == 0) return;
    Usage& usage = table[by == "result" ? result : key];
    usage.key = by == "result" ? result : key;
    usage.jobs += tasks;
    column_of(usage, result) += tasks;
  };
  add("COMPLETED", array.tasks_completed);
  add("FAILED", array.tasks_failed - std::min(array.tasks_failed, array.tasks_timeout));
  add("TIMEOUT", array.tasks_timeout);
  add("CANCELED", array.tasks_cancelled);
  Usage& usage = table[key];
  usage.key = key;
  usage.started += array.tasks_started;
  usage.wait_ms += array.tasks_wait_ms;
  usage.run_ms += array.tasks_run_ms;
  usage.core_ms += array.tasks_core_ms;
  usage.cpu_ms += array.cpu_ms;
  usage.max_rss_kb = std::max(usage.max_rss_kb, array.max_rss_kb);
}

}  // namespace

void add_usage(UsageTable& table, const std::string& by, const JobRecord& job, std::uint64_t n) {
  if (job.state != "INACTIVE") return;
  const std::string key = usage_key(by, job);
  if (job.tasks > 0) return add_array(table, by, key, job);
  const auto times = static_cast<std::int64_t>(n);
  Usage& usage = table[key];
  usage.key = key;
  usage.jobs += n;
  column_of(usage, job.result) += n;
  usage.retries += job.retries * n;
  usage.preemptions += job.preemptions * n;
  usage.cpu_ms += job.cpu_ms * times;
  usage.max_rss_kb = std::max(usage.max_rss_kb, job.max_rss_kb);
  if (job.t_start == 0) return;
  const std::int64_t end = job.t_finish > 0 ? job.t_finish : job.t_inactive;
  const std::int64_t ran = std::max<std::int64_t>(0, end - job.t_start);
  usage.started += n;
  usage.wait_ms += std::max<std::int64_t>(0, job.t_start - job.t_submit) * times;
  usage.run_ms += ran * times;
  usage.core_ms += ran * std::max<std::int64_t>(0, job.ncores) * times;
}

void add_usage(UsageTable& table, const Usage& more) {
  Usage& usage = table[more.key];
  usage.key = more.key;
  usage.jobs += more.jobs;
  usage.completed += more.completed;
  usage.failed += more.failed;
  usage.cancelled += more.cancelled;
  usage.timeout += more.timeout;
  usage.rejected += more.rejected;
  usage.started += more.started;
  usage.wait_ms += more.wait_ms;
  usage.run_ms += more.run_ms;
  usage.core_ms += more.core_ms;
  usage.cpu_ms += more.cpu_ms;
  usage.max_rss_kb = std::max(usage.max_rss_kb, more.max_rss_kb);
  usage.retries += more.retries;
  usage.preemptions += more.preemptions;
}

}  // namespace holon::msg
