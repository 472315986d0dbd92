#include "batch/time_left.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace holon::batch {
namespace {

constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86'400;

tl::unexpected<Error> strange(std::string_view answer, const char* command) {
  constexpr std::size_t kQuoted = 80;
  return fail(
      Errc::invalid_argument,
      fmt::format("'{}' says no time", answer.substr(0, answer.find('\n')).substr(0, kQuoted)),
      command);
}

// The value behind "key = " or "key: " on a line of its own.
std::optional<std::string_view> value_of(const std::vector<std::string_view>& lines,
                                         std::string_view key) {
  for (const auto line : lines) {
    if (!line.starts_with(key)) continue;
    auto rest = line.substr(key.size());
    const auto sign = rest.find_first_not_of(' ');
    if (sign == rest.npos || (rest[sign] != '=' && rest[sign] != ':')) continue;
    rest.remove_prefix(sign + 1);
    const auto begin = rest.find_first_not_of(' ');
    if (begin != rest.npos) return rest.substr(begin);
  }
  return std::nullopt;
}

// A local time as strptime(3) reads it with one of `formats`.
std::optional<std::int64_t> local_time(std::string_view text,
                                       std::initializer_list<const char*> formats) {
  const std::string word(text);
  for (const char* format : formats) {
    std::tm parts{};
    parts.tm_isdst = -1;
    if (strptime(word.c_str(), format, &parts) == nullptr) continue;
    if (const auto seconds = std::mktime(&parts); seconds != -1) return seconds;
  }
  return std::nullopt;
}

std::int64_t elapsed(std::optional<std::int64_t> start, std::int64_t now) {
  return start ? std::max<std::int64_t>(0, now - *start) : 0;
}

// Reads squeue -o %L.
Result<TimeLeft> read_squeue(std::string_view word) {
  if (word == "UNLIMITED") return TimeLeft{TimeLeft::Kind::unlimited, 0};
  if (word == "NOT_SET") return TimeLeft{};
  if (word == "INVALID") return TimeLeft::of(0);  // it has run longer than its limit
  const auto seconds = read_clock_length(word);
  return seconds ? Result<TimeLeft>(TimeLeft::of(*seconds)) : strange(word, "squeue -o %L");
}

// Reads qstat -f: the time used is minutes old; the start is not. Torque also says what remains.
Result<TimeLeft> read_pbs_qstat(const std::vector<std::string_view>& lines, std::int64_t now) {
  if (const auto rest = value_of(lines, "Walltime.Remaining")) {
    const auto seconds = whole_number(*rest);
    return seconds ? Result<TimeLeft>(TimeLeft::of(static_cast<std::int64_t>(*seconds)))
                   : strange(*rest, "qstat -f");
  }
  const auto limit = value_of(lines, "Resource_List.walltime");
  if (!limit) return TimeLeft{TimeLeft::Kind::unlimited, 0};
  const auto seconds = read_clock_length(*limit);
  if (!seconds) return strange(*limit, "qstat -f");
  std::int64_t used = 0;
  if (const auto said = value_of(lines, "resources_used.walltime"))
    used = read_clock_length(*said).value_or(0);
  if (const auto start = value_of(lines, "stime"))
    used = std::max(used, elapsed(local_time(*start, {"%a %b %d %H:%M:%S %Y"}), now));
  return TimeLeft::of(*seconds - used);
}

// Reads bjobs -o time_left: "hours:minutes" and a letter; "-" if there is no limit. The letter L is
// the job's limit, X one that was passed, E an estimate that ends nothing.
Result<TimeLeft> read_bjobs(std::string_view line) {
  const auto words = words_of(line);
  if (words[0] == "-") return TimeLeft{TimeLeft::Kind::unlimited, 0};
  if (words.size() > 1 && words[1] == "E") return TimeLeft{TimeLeft::Kind::unlimited, 0};
  if (words.size() > 1 && words[1] == "X") return TimeLeft::of(0);
  const auto colon = words[0].find(':');
  const auto hours = whole_number(words[0].substr(0, colon));
  const auto minutes =
      colon == line.npos ? Result<std::uint64_t>(0) : whole_number(words[0].substr(colon + 1));
  if (!hours || !minutes || *hours > 1'000'000 || *minutes > 1'000'000)
    return strange(line, "bjobs -o time_left");
  return TimeLeft::of(static_cast<std::int64_t>(*hours) * kHour +
                      static_cast<std::int64_t>(*minutes) * kMinute);
}

// Reads oarstat -f -j.
Result<TimeLeft> read_oarstat(const std::vector<std::string_view>& lines, std::int64_t now) {
  const auto limit = value_of(lines, "walltime");
  const auto start = value_of(lines, "startTime");
  const auto seconds = limit ? read_clock_length(*limit) : strange(lines[0], "oarstat -f");
  const auto began =
      start ? local_time(*start, {"%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S"}) : std::nullopt;
  if (!seconds || !began) return strange(limit.value_or(lines[0]), "oarstat -f");
  return TimeLeft::of(*seconds - elapsed(began, now));
}

// Reads flux job timeleft: seconds.
Result<TimeLeft> read_flux_timeleft(std::string_view word) {
  if (word == "inf" || word == "infinity") return TimeLeft{TimeLeft::Kind::unlimited, 0};
  char* end = nullptr;
  const std::string text(word);
  const double seconds = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(seconds >= 0) || seconds > 1e12)
    return strange(word, "flux job timeleft");
  return TimeLeft::of(static_cast<std::int64_t>(seconds));
}

// qstat -j -xml: the start of the task in seconds, and the resources asked for by name and value.
std::optional<std::string_view> between(std::string_view text, std::string_view begin,
                                        std::string_view end, std::size_t from = 0) {
  const auto first = text.find(begin, from);
  if (first == text.npos) return std::nullopt;
  const auto last = text.find(end, first + begin.size());
  if (last == text.npos) return std::nullopt;
  return text.substr(first + begin.size(), last - first - begin.size());
}

std::optional<std::int64_t> grid_engine_limit(std::string_view xml) {
  std::optional<std::int64_t> least;
  for (const char* name : {"<CE_name>s_rt</CE_name>", "<CE_name>h_rt</CE_name>"}) {
    const auto at = xml.find(name);
    if (at == xml.npos) continue;
    const auto value = between(xml, "<CE_doubleval>", "</CE_doubleval>", at);
    const double seconds = value ? std::strtod(std::string(*value).c_str(), nullptr) : 0;
    if (seconds > 0 && seconds < 1e9)
      least = std::min(least.value_or(kDay * 100'000), static_cast<std::int64_t>(seconds));
  }
  return least;
}

// The start; each task of an array job has its own.
std::optional<std::string_view> grid_engine_start(std::string_view job, std::string_view xml) {
  const auto dot = job.find('.');
  std::size_t at = 0;
  if (dot != job.npos) {
    at = xml.find(fmt::format("<JAT_task_number>{}</JAT_task_number>", job.substr(dot + 1)));
    if (at == xml.npos) return std::nullopt;
  }
  return between(xml, "<JAT_start_time>", "</JAT_start_time>", at);
}

Result<TimeLeft> read_grid_engine_qstat(std::string_view job, std::string_view xml,
                                        std::int64_t now) {
  if (xml.find("<JB_job_number>") == xml.npos) return strange(xml, "qstat -xml -j");
  const auto limit = grid_engine_limit(xml);
  if (!limit) return TimeLeft{TimeLeft::Kind::unlimited, 0};
  const auto start = grid_engine_start(job, xml);
  const auto began = start ? whole_number(*start) : strange(xml, "qstat -xml -j");
  if (!began) return strange("JAT_start_time", "qstat -xml -j");
  return TimeLeft::of(*limit - elapsed(static_cast<std::int64_t>(*began), now));
}

}  // namespace

std::vector<std::string> time_left_command(const Allocation& allocation) {
  const std::string& job = allocation.job;
  switch (allocation.system) {
    case System::slurm:
      return {"squeue", "-h", "-j", job, "-o", "%L"};
    case System::pbs:
      return {"qstat", "-f", job};
    case System::lsf:
      return {"bjobs", "-noheader", "-o", "time_left", job};
    case System::oar:
      return {"oarstat", "-f", "-j", job};
    case System::grid_engine:
      return {"qstat", "-xml", "-j", job.substr(0, job.find('.'))};
    case System::flux:
      return {"flux", "job", "timeleft"};
    case System::holon:  // the job's own limit ends it
    case System::none:
      break;
  }
  return {};
}

Result<TimeLeft> read_time_left(const Allocation& allocation, std::string_view answer,
                                std::int64_t now) {
  const auto lines = lines_of(answer);
  if (lines.empty())
    return fail(Errc::not_found, "the batch system does not know this job any more");
  switch (allocation.system) {
    case System::slurm:
      return read_squeue(lines[0]);
    case System::pbs:
      return read_pbs_qstat(lines, now);
    case System::lsf:
      return read_bjobs(lines[0]);
    case System::oar:
      return read_oarstat(lines, now);
    case System::grid_engine:
      return read_grid_engine_qstat(allocation.job, answer, now);
    case System::flux:
      return read_flux_timeleft(lines[0]);
    case System::holon:
    case System::none:
      break;
  }
  return TimeLeft{};
}

TimeLeft known_time_left(const Allocation& allocation, std::int64_t now) {
  return allocation.ends_at ? TimeLeft::of(*allocation.ends_at - now) : TimeLeft{};
}

Result<std::int64_t> read_clock_length(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  const auto wrong = [&] {
    return fail(Errc::invalid_argument, fmt::format("'{}' is no time like 1-02:03:04", text));
  };
  std::int64_t days = 0;
  auto rest = text;
  if (const auto dash = rest.find('-'); dash != rest.npos) {
    const auto number = whole_number(rest.substr(0, dash));
    if (!number || dash > kMostDigits) return wrong();
    days = static_cast<std::int64_t>(*number);
    rest.remove_prefix(dash + 1);
  }
  std::int64_t seconds = 0;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    const auto colon = rest.find(':');
    const auto word = rest.substr(0, colon);
    const auto number = whole_number(word);
    if (!number || word.size() > kMostDigits || parts == 3) return wrong();
    seconds = seconds * 60 + static_cast<std::int64_t>(*number);
    more = colon != rest.npos;
    if (more) rest.remove_prefix(colon + 1);
  }
  return days * kDay + seconds;
}

}  // namespace holon::batch
