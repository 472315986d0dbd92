#include "cli/show/csv.hpp"

#include <fmt/format.h>

#include "base/text/printable.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

// Seconds with their ms; "" for 0, which is "not yet".
std::string csv_seconds(std::int64_t ms) {
  return ms == 0 ? "" : fmt::format("{}.{:03}", ms / 1000, ms % 1000);
}

std::string csv_length(std::int64_t from, std::int64_t until) {
  if (from == 0 || until < from) return "";
  return fmt::format("{}.{:03}", (until - from) / 1000, (until - from) % 1000);
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const auto& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  return line + "\r\n";
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string cell = printable_lines(text);  // it may go to a terminal
  if (!cell.empty() && std::string_view("=+@\t").find(cell.front()) != std::string_view::npos)
    cell.insert(cell.begin(), '\'');
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_titles() {
  return csv_line({"path",        "name",        "user",        "account", "queue",
                   "result",      "code",        "nodes",       "cores",   "gpus",
                   "tasks",       "submit",      "start",       "end",     "wait_seconds",
                   "run_seconds", "cpu_seconds", "max_rss_kib", "retries", "preemptions",
                   "nodelist",    "reason",      "command",     "entry"});
}

std::string csv_row(const msg::JobRecord& job) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  const std::int64_t end = job.t_finish > 0 ? job.t_finish : job.t_inactive;
  return csv_line({msg::shown_path(job),
                   job.name,
                   job.user,
                   job.account,
                   job.queue,
                   job.result,
                   job.exit_code < 0 ? "" : number(job.exit_code),
                   number(job.nnodes),
                   number(job.ncores),
                   number(job.ngpus),
                   number(job.ntasks),
                   csv_seconds(job.t_submit),
                   csv_seconds(job.t_start),
                   csv_seconds(job.t_inactive),
                   csv_length(job.t_submit, job.t_start),
                   csv_length(job.t_start, end),
                   job.t_start == 0 ? "" : csv_length(1, 1 + job.cpu_ms),
                   job.max_rss_kb > 0 ? number(job.max_rss_kb) : "",
                   std::to_string(job.retries),
                   std::to_string(job.preemptions),
                   job.nodelist,
                   job.reason,
                   job.command,
                   job.entry});
}

std::string csv_text(const std::string& by, const std::vector<msg::Usage>& usages) {
  std::string text = csv_line({by, "jobs", "completed", "failed", "cancelled", "timeout",
                               "rejected", "started", "wait_seconds", "run_seconds", "core_seconds",
                               "cpu_seconds", "max_rss_kib", "retries", "preemptions"});
  const auto time = [](std::int64_t ms) { return fmt::format("{}.{:03}", ms / 1000, ms % 1000); };
  for (const auto& u : usages)
    text +=
        csv_line({u.key, std::to_string(u.jobs), std::to_string(u.completed),
                  std::to_string(u.failed), std::to_string(u.cancelled), std::to_string(u.timeout),
                  std::to_string(u.rejected), std::to_string(u.started), time(u.wait_ms),
                  time(u.run_ms), time(u.core_ms), time(u.cpu_ms), std::to_string(u.max_rss_kb),
                  std::to_string(u.retries), std::to_string(u.preemptions)});
  return text;
}

}  // namespace holon::cli
