#include "cli/slurm/words.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <ctime>

#include "cli/show/units.hpp"

namespace holon::cli::slurm {
namespace {

constexpr std::array kStates = {
    State{"PENDING", "PD"},       State{"RUNNING", "R"},         State{"SUSPENDED", "S"},
    State{"COMPLETING", "CG"},    State{"COMPLETED", "CD"},      State{"CANCELLED", "CA"},
    State{"FAILED", "F"},         State{"TIMEOUT", "TO"},        State{"NODE_FAIL", "NF"},
    State{"PREEMPTED", "PR"},     State{"OUT_OF_MEMORY", "OOM"}, State{"BOOT_FAIL", "BF"},
    State{"CONFIGURING", "CF"},   State{"DEADLINE", "DL"},       State{"REQUEUED", "RQ"},
    State{"RESIZING", "RS"},      State{"REVOKED", "RV"},        State{"SIGNALING", "SI"},
    State{"SPECIAL_EXIT", "SE"},  State{"STAGE_OUT", "SO"},      State{"STOPPED", "ST"},
    State{"RESV_DEL_HOLD", "RD"}, State{"REQUEUE_FED", "RF"},    State{"REQUEUE_HOLD", "RH"},
};

State named(std::string_view name) {
  return *std::find_if(kStates.begin(), kStates.end(),
                       [name](const State& state) { return state.name == name; });
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// By what a job waits for (docs/protocol.md).
constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"dependency", "Dependency"},
    {"begin-time", "BeginTime"},
    {"retry", "BeginTime"},
    {"array", "Resources"},
    {"tasks", "Priority"},
    {"held", "JobHeldUser"},
    {"stopped", "PartitionInactive"},
    {"aside", "JobHeldAdmin"},
    {"resources", "Resources"},
    {"pool", "Licenses"},
    {"reservation", "Priority"},
    {"planned", "Priority"},
    {"order", "Priority"},
    {"policy", "Priority"},
    {"depth", "Priority"},
    {"limit", "AssocMaxJobsLimit"},
    {"chunk", "Resources"},
    {"lease", "ReqNodeNotAvail"},
    {"outage", "ReqNodeNotAvail"},
    {"preemption", "Resources"},
    {"advance", "Reservation"},
    {"disk", "SystemFailure"},
};

std::tm local(std::time_t seconds) {
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

Time midnight(Time now) {
  std::tm day = local(now / 1000);
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  return static_cast<Time>(std::mktime(&day)) * 1000;
}

// "now-2hours", "now+30minutes"
std::optional<Time> from_now(const std::string& text, Time now) {
  if (!text.starts_with("now")) return std::nullopt;
  if (text == "now") return now;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 4, end, count);
  if (read.ec != std::errc() || (text[3] != '-' && text[3] != '+')) return std::nullopt;
  const std::string unit(read.ptr, end);
  for (const auto& [name, seconds] : {std::pair("seconds", 1),
                                      {"minutes", 60},
                                      {"hours", 3'600},
                                      {"days", 86'400},
                                      {"weeks", 604'800}})
    if ((unit.empty() && seconds == 1) || (!unit.empty() && std::string(name).starts_with(unit)))
      return now + (text[3] == '-' ? -1 : 1) * count * seconds * 1000;
  return std::nullopt;
}

// "11/29", "11/29/26", with "-12:00" behind: as a date that is read elsewhere.
std::string without_slashes(const std::string& text, Time now) {
  int month = 0, day = 0, year = 0;
  char rest[16] = {};
  const int year_now = local(now / 1000).tm_year + 1900;
  if (std::sscanf(text.c_str(), "%2d/%2d/%2d-%15s", &month, &day, &year, rest) >= 3)
    year += 2000;
  else if (std::sscanf(text.c_str(), "%2d/%2d-%15s", &month, &day, rest) >= 2)
    year = year_now;
  else
    return text;
  return fmt::format("{:04}-{:02}-{:02}{}{}", year, month, day, rest[0] == 0 ? "" : "T", rest);
}

}  // namespace

State state_of(const msg::JobRecord& job) {
  if (job.state == "RUN") return named(job.t_suspended != 0 ? "SUSPENDED" : "RUNNING");
  if (job.state == "CLEANUP") return named("COMPLETING");
  if (job.state != "INACTIVE") return named("PENDING");
  if (job.result == "COMPLETED") return named("COMPLETED");
  if (job.result == "TIMEOUT") return named("TIMEOUT");
  if (job.exception == "preempt") return named("PREEMPTED");
  if (job.result == "CANCELED") return named("CANCELLED");
  if (job.exception == "node-failure") return named("NODE_FAIL");
  return named("FAILED");
}

Result<std::vector<State>> states_in(const std::string& list) {
  std::vector<State> states;
  for (std::string rest = upper(list) + ","; !rest.empty(); rest.erase(0, rest.find(',') + 1)) {
    const std::string word = rest.substr(0, rest.find(','));
    if (word.empty()) continue;
    if (word == "ALL") return std::vector<State>(kStates.begin(), kStates.end());
    const auto found = std::find_if(kStates.begin(), kStates.end(), [&word](const State& state) {
      return state.name == word || state.letters == word ||
             (word == "CANCELED" && state.letters == "CA");
    });
    if (found == kStates.end())
      return fail(Errc::invalid_argument, "Invalid job state specified: " + word);
    states.push_back(*found);
  }
  return states;
}

bool is_pending(const msg::JobRecord& job) {
  return state_of(job).letters == "PD";
}

bool is_active(const msg::JobRecord& job) {
  return job.state != "INACTIVE";
}

std::string_view reason_of(const msg::JobRecord& job) {
  for (const auto& [ours, theirs] : kReasons)
    if (job.waits_for == ours) return theirs;
  if (job.state != "INACTIVE") return "None";
  if (job.result == "TIMEOUT") return "TimeLimit";
  if (job.exception == "node-failure") return "NodeDown";
  if (job.exception == "dependency") return "DependencyNeverSatisfied";
  if (job.exception == "exec") return "JobLaunchFailure";
  if (job.result == "REJECTED") return "BadConstraints";
  return job.result == "FAILED" ? "NonZeroExitCode" : "None";
}

std::string exit_code_of(const msg::JobRecord& job) {
  constexpr int kBySignal = 128;
  if (job.exit_code < 0) return job.state == "INACTIVE" && job.result == "FAILED" ? "1:0" : "0:0";
  if (job.exit_code > kBySignal) return fmt::format("0:{}", job.exit_code - kBySignal);
  return fmt::format("{}:0", job.exit_code);
}

std::string short_duration(Duration ms) {
  const auto seconds = std::max<Duration>(0, ms) / 1000;
  const auto days = seconds / 86'400, hours = seconds / 3'600 % 24, minutes = seconds / 60 % 60;
  if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, seconds % 60);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, seconds % 60);
  return fmt::format("{}:{:02}", minutes, seconds % 60);
}

std::string long_duration(Duration ms) {
  const auto seconds = std::max<Duration>(0, ms) / 1000;
  const auto days = seconds / 86'400;
  const std::string rest =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3'600 % 24, seconds / 60 % 60, seconds % 60);
  return days > 0 ? fmt::format("{}-{}", days, rest) : rest;
}

std::string time_of(std::int64_t ms, std::string_view none) {
  if (ms == 0) return std::string(none);
  const std::tm t = local(ms / 1000);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
}

Duration elapsed(const msg::JobRecord& job, Time now) {
  const std::int64_t begin = job.t_start != 0 ? job.t_start : job.t_alloc;
  if (begin == 0) return 0;
  const std::int64_t end = job.t_finish != 0     ? job.t_finish
                           : job.t_inactive != 0 ? job.t_inactive
                                                 : now;
  return std::max<Duration>(0, end - begin);
}

Result<Time> time_in(const std::string& text, Time now) {
  if (text == "today" || text == "midnight") return midnight(now);
  if (const auto when = from_now(text, now)) return *when;
  const std::string date = without_slashes(text, now);
  if (auto past = parse_since(date, now)) return past;
  if (auto to_come = parse_time(date, now)) return to_come;
  return fail(Errc::invalid_argument, "Invalid time specification: " + text);
}

}  // namespace holon::cli::slurm
