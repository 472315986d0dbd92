#include "sim/formats/sacct.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "sim/formats/json_text.hpp"
#include "sim/formats/trace_builder.hpp"

namespace holon::sim {

namespace {

using namespace std::string_view_literals;

constexpr std::int64_t kMostDays = 10'000'000;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty() || number < 0)
    return std::nullopt;
  return number;
}

// Reads "12", "12.345" as seconds, to ms.
std::optional<Duration> seconds_in_ms(std::string_view text) {
  const auto point = std::min(text.find('.'), text.size());
  const auto whole = whole_number(text.substr(0, point));
  if (!whole || *whole > kMostDays * 86'400) return std::nullopt;
  Duration ms = *whole * kMsPerSecond, unit = kMsPerSecond / 10;
  for (std::size_t i = point + 1; i < text.size(); ++i, unit /= 10) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    ms += (text[i] - '0') * unit;
  }
  return ms;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const auto bar = line.find('|');
    cells.push_back(line.substr(0, bar));
    if (bar == std::string_view::npos) return cells;
    line.remove_prefix(bar + 1);
  }
}

// Is it what sacct writes for no value: unknown, or still to come?
bool is_none(std::string_view text) {
  return text.empty() || text == "Unknown" || text == "None" || text == "N/A";
}

// Columns by their names, in lower case.
using Columns = std::map<std::string, std::size_t>;

struct SacctRow {
  std::size_t line = 0;
  std::string_view text;
  std::vector<std::string_view> cells;
};

class SacctReader {
 public:
  SacctReader(std::string_view bytes, const SwfOptions& options)
      : bytes_(bytes), builder_(options) {}

  Result<SwfTrace> read() {
    while (!bytes_.empty()) {
      ++line_;
      const auto newline = bytes_.find('\n');
      std::string_view line = bytes_.substr(0, newline);
      bytes_.remove_prefix(newline == std::string_view::npos ? bytes_.size() : newline + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      const Status ok = columns_.empty() ? read_names(line) : row({line_, line, cells_of(line)});
      if (!ok) return tl::unexpected(ok.error());
    }
    return builder_.finish();
  }

 private:
  Status wrong_names(std::string what) const {
    return fail(Errc::invalid_argument, std::move(what), text_of(TextPlace{line_, 1}));
  }

  Status read_names(std::string_view line) {
    if (line.find('|') == std::string_view::npos)
      return wrong_names("the columns of sacct have no | between them: give it -P");
    const auto names = cells_of(line);
    for (std::size_t i = 0; i < names.size(); ++i) columns_.emplace(in_lower_case(names[i]), i);
    width_ = names.size();
    const auto has_one = [this](std::initializer_list<const char*> some) {
      return std::any_of(some.begin(), some.end(),
                         [this](const char* name) { return columns_.contains(name); });
    };
    if (!has_one({"jobid", "jobidraw"}))
      return wrong_names("this line names no column JobID: sacct without -n writes one that does");
    for (const char* needed : {"Submit", "Start"})
      if (!has_one({in_lower_case(needed).c_str()}))
        return wrong_names(
            fmt::format("no column {}: sacct -P -o JobID,Submit,Start,Elapsed,"
                        "Timelimit,NCPUS,State,User,Account,Partition,QOS",
                        needed));
    if (!has_one({"elapsed", "elapsedraw", "end"}))
      return wrong_names("neither a column Elapsed nor End: how long did the jobs run?");
    if (!has_one({"alloccpus", "ncpus", "reqcpus", "alloctres"}))
      return wrong_names(
          "no column NCPUS, AllocCPUS, ReqCPUS or AllocTRES: how large were the "
          "jobs?");
    return {};
  }

  // The cell; "" if there is no such column.
  std::string_view cell(const SacctRow& row, const char* name) const {
    const auto column = columns_.find(name);
    return column == columns_.end() ? std::string_view() : row.cells[column->second];
  }
  // The place of that cell in its line.
  FieldPlace at(const SacctRow& row, const char* name, const char* shown) const {
    const auto text = cell(row, name);
    const bool is_there = columns_.contains(name);
    const auto column = is_there ? static_cast<std::size_t>(text.data() - row.text.data()) + 1 : 1;
    return {row.line, column, shown};
  }
  Status wrong(const SacctRow& row, const char* name, const char* shown, const char* accepted) {
    return builder_.issue(at(row, name, shown),
                          fmt::format("'{}' is not {}", cell(row, name), accepted));
  }

  Status row(const SacctRow& row) {
    const bool has_bar_behind = row.cells.size() == width_ + 1 && row.cells.back().empty();
    if (row.cells.size() != width_ && !has_bar_behind)
      return builder_.issue({row.line, 0, "line"},
                            fmt::format("{} columns, and the first line names {}; a name with | in "
                                        "it has to be left out of sacct -o",
                                        row.cells.size(), width_));
    const auto id = cell(row, columns_.contains("jobid") ? "jobid" : "jobidraw");
    if (id.find('.') != std::string_view::npos) return {};  // a step: it is in its job
    return job(row, id);
  }

  Status job(const SacctRow& row, std::string_view id) {
    TraceJob job;
    job.id = number_of(row, id);
    const auto submit = parse_sacct_time(cell(row, "submit"));
    if (!submit) return wrong(row, "submit", "Submit", "a time, such as 2026-01-31T23:59:58");
    job.submit = *submit;
    builder_.submitted(*submit);
    const auto state = cell(row, "state");
    for (const auto open : {"PENDING"sv, "RUNNING"sv, "SUSPENDED"sv, "REQUEUED"sv, "RESIZING"sv})
      if (state.starts_with(open))
        return builder_.issue(at(row, "state", "State"), fmt::format("job {} is not over", id));
    if (is_none(cell(row, "start")))
      return builder_.issue(at(row, "start", "Start"), fmt::format("job {} never ran", id));
    const auto start = parse_sacct_time(cell(row, "start"));
    if (!start) return wrong(row, "start", "Start", "a time, such as 2026-01-31T23:59:58");
    const auto run = run_of(row, *start);
    if (!run) return run_fault(row);
    // Jobs cancelled while they waited have a start, too: their end.
    if (*run == 0 && state.starts_with("CANCELLED"))
      return builder_.issue(at(row, "state", "State"),
                            fmt::format("job {} was cancelled before it ran", id));
    job.run = *run;
    const auto limit = limit_of(row);
    if (!limit)
      return wrong(row, columns_.contains("timelimit") ? "timelimit" : "timelimitraw", "Timelimit",
                   "a length, such as 1-00:00:00");
    job.limit = *limit;
    if (state.starts_with("TIMEOUT") && job.limit > 0) job.run = std::min(job.run, job.limit);
    job.procs = processors_of(row);
    take_names(row, job);
    return builder_.add(std::move(job), at(row, run_column(), "Elapsed"));
  }

  // Numbers of tasks of arrays (12_3) and parts of heterogeneous jobs (12+1) come behind all
  // others, unless their own are there.
  std::int64_t number_of(const SacctRow& row, std::string_view id) const {
    const auto own = whole_number(columns_.contains("jobidraw") ? cell(row, "jobidraw") : id);
    return own.value_or(0);
  }

  const char* run_column() const {
    return columns_.contains("elapsedraw") ? "elapsedraw"
           : columns_.contains("elapsed")  ? "elapsed"
                                           : "end";
  }

  std::optional<Duration> run_of(const SacctRow& row, Time start) const {
    const std::string_view text = cell(row, run_column());
    if (run_column() == "elapsedraw"sv) return seconds_in_ms(text);
    if (run_column() == "elapsed"sv) return parse_sacct_length(text);
    const auto end = parse_sacct_time(text);
    return end ? std::optional(*end - start) : std::nullopt;
  }

  Status run_fault(const SacctRow& row) {
    if (run_column() == "end"sv && is_none(cell(row, "end")))
      return builder_.issue(at(row, "end", "End"), "the job is not over");
    return run_column() == "end"sv
               ? wrong(row, "end", "End", "a time, such as 2026-01-31T23:59:58")
               : wrong(row, run_column(), "Elapsed", "a length, such as 1-00:00:00");
  }

  // The limit; 0: none. nullopt: it makes no sense. A partition's own limit is not in the log.
  std::optional<Duration> limit_of(const SacctRow& row) const {
    const bool is_raw = columns_.contains("timelimitraw");
    const std::string_view text = cell(row, is_raw ? "timelimitraw" : "timelimit");
    if (is_none(text) || text == "UNLIMITED" || text == "Partition_Limit") return 0;
    if (!is_raw) return parse_sacct_length(text);
    const auto minutes = seconds_in_ms(text);
    return minutes ? std::optional(*minutes * 60) : std::nullopt;
  }

  // The processors; 0: unknown.
  std::int64_t processors_of(const SacctRow& row) const {
    for (const char* name : {"alloccpus", "ncpus", "reqcpus"})
      if (const auto number = whole_number(cell(row, name)); number && *number > 0) return *number;
    std::string_view resources = cell(row, "alloctres");  // "billing=4,cpu=4,mem=8G,node=1"
    while (!resources.empty()) {
      const auto comma = std::min(resources.find(','), resources.size());
      const std::string_view one = resources.substr(0, comma);
      if (one.starts_with("cpu=")) return whole_number(one.substr(4)).value_or(0);
      resources.remove_prefix(std::min(comma + 1, resources.size()));
    }
    return 0;
  }

  void take_names(const SacctRow& row, TraceJob& job) const {
    job.user = cell(row, "user");
    job.group = cell(row, "group");
    job.account = cell(row, "account");
    job.qos = cell(row, "qos");
    const auto partition = cell(row, "partition");  // of a job that could go to several: a list
    job.queue = partition.substr(0, partition.find(','));
  }

  std::string_view bytes_;
  TraceBuilder builder_;
  Columns columns_;
  std::size_t width_ = 0, line_ = 0;
};

}  // namespace

bool is_sacct(std::string_view bytes) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const std::string line = in_lower_case(bytes.substr(first, bytes.find('\n', first) - first));
  const bool has_id = line.starts_with("jobid") || line.find("|jobid") != std::string::npos;
  // Is it a row without the names, such as 12, 12_3, 12+1, 12.batch?
  const auto end = line.find_first_not_of("0123456789_+.abcdefghijklmnopqrstuvwxyz");
  const bool is_row =
      line.front() >= '0' && line.front() <= '9' && end != std::string::npos && line[end] == '|';
  return has_id || is_row;
}

Result<SwfTrace> read_sacct(std::string_view bytes, const SwfOptions& options) {
  return SacctReader(bytes, options).read();
}

std::optional<Time> parse_sacct_time(std::string_view text) {
  if (const auto seconds = whole_number(text); seconds && *seconds < kMostDays * 86'400)
    return *seconds * kMsPerSecond;  // SLURM_TIME_FORMAT=%s
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != kForm.size()) return std::nullopt;
  std::array<int, 6> parts{};
  std::size_t part = 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (is_digit != (kForm[i] == 'd') || (!is_digit && text[i] != kForm[i])) return std::nullopt;
    if (is_digit)
      parts[part] = 10 * parts[part] + (text[i] - '0');
    else
      ++part;
  }
  const auto [year, month, day, hour, minute, second] = parts;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24LL + hour) * 60 + minute) * 60 + second) * kMsPerSecond;
}

std::optional<Duration> parse_sacct_length(std::string_view text) {
  const auto dash = text.find('-');
  const auto days = dash == std::string_view::npos ? 0 : whole_number(text.substr(0, dash));
  if (!days || *days > kMostDays) return std::nullopt;
  if (dash != std::string_view::npos) text.remove_prefix(dash + 1);
  const auto last = text.rfind(':');
  if (last == std::string_view::npos) return std::nullopt;
  const auto seconds = seconds_in_ms(text.substr(last + 1));
  const std::string_view before = text.substr(0, last);
  const auto colon = before.find(':');
  const bool has_hours = colon != std::string_view::npos;
  const auto minutes = whole_number(has_hours ? before.substr(colon + 1) : before);
  const auto hours = has_hours ? whole_number(before.substr(0, colon)) : 0;
  if (!seconds || !minutes || !hours || *minutes > 59 || *seconds >= 60 * kMsPerSecond ||
      *hours > kMostDays || (dash != std::string_view::npos && !has_hours))
    return std::nullopt;
  return ((*days * 24 + *hours) * 60 + *minutes) * 60 * kMsPerSecond + *seconds;
}

}  // namespace holon::sim
