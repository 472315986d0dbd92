#include "sim/swf.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_set>

#include <fmt/core.h>

#include "sim/preceding.hpp"

namespace holon::sim {

namespace {

constexpr std::size_t kFields = 18;
constexpr std::size_t kKeptIssues = 100;
constexpr std::size_t kMostExpected = 1 << 20;
constexpr std::array<const char*, kFields> kFieldNames = {"job number",
                                                          "submit time",
                                                          "wait time",
                                                          "run time",
                                                          "allocated processors",
                                                          "average cpu time",
                                                          "used memory",
                                                          "requested processors",
                                                          "requested time",
                                                          "requested memory",
                                                          "status",
                                                          "user",
                                                          "group",
                                                          "executable",
                                                          "queue",
                                                          "partition",
                                                          "preceding job",
                                                          "think time"};
enum Field {
  kId,
  kSubmit,
  kWait,
  kRun,
  kAllocated,
  kCpu,
  kMemory,
  kProcs,
  kLimit,
  kAskedMemory,
  kStatus,
  kUser,
  kGroup,
  kExecutable,
  kQueue,
  kPartition,
  kPreceding,
  kThink
};

// The fields of a line, times in ms.
using Numbers = std::array<std::int64_t, kFields>;

constexpr bool is_time(std::size_t field) {
  return field == kSubmit || field == kWait || field == kRun || field == kLimit || field == kThink;
}

// The beginning of a note by swf_text().
constexpr std::string_view kNameNote = "Note: ";
constexpr std::string_view kNoLimitNote = "Note: requested time 0 is no limit";
constexpr std::int64_t kMostSeconds = 4'000'000'000'000'000;  // in ms it is a number still

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Reads the fraction behind a number's whole part, in thousandths. Returns where it ends.
const char* read_fraction(const char* at, const char* end, std::int64_t& thousandths) {
  thousandths = 0;
  if (at == end || *at != '.') return at;
  std::int64_t unit = 100;
  for (++at; at != end && *at >= '0' && *at <= '9'; ++at, unit /= 10)
    thousandths += unit * (*at - '0');
  return at;
}

std::string printable(std::string_view text) {
  std::string shown;
  for (char c : text.substr(0, 24)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

class SwfReader {
 public:
  SwfReader(std::string_view bytes, const SwfOptions& options) : bytes_(bytes), options_(options) {}

  Result<SwfTrace> read() {
    make_room();
    while (!bytes_.empty()) {
      ++line_;
      const std::size_t newline = bytes_.find('\n');
      const std::string_view line = trimmed(bytes_.substr(0, newline));
      bytes_.remove_prefix(newline == std::string_view::npos ? bytes_.size() : newline + 1);
      if (line.empty()) continue;
      if (line.front() == ';')
        comment(line.substr(1));
      else if (Status ok = record(line); !ok)
        return tl::unexpected(ok.error());
    }
    sort_by_submission(trace_.workload.jobs);
    settle_ticks(trace_.workload);
    if (options_.think_times)
      if (Status ok =
              settle_preceding(trace_, options_, {kFieldNames[kPreceding], kFieldNames[kThink]});
          !ok)
        return tl::unexpected(ok.error());
    return std::move(trace_);
  }

 private:
  // Makes room for a long log, which would be moved a dozen times, into fresh pages, on its way to
  // its length. Lines need not be jobs, so the room has a bound.
  void make_room() {
    const auto lines = static_cast<std::size_t>(std::count(bytes_.begin(), bytes_.end(), '\n'));
    const std::size_t expected = std::min(lines + 1, kMostExpected);
    trace_.workload.jobs.reserve(expected);
    ids_.reserve(expected);
  }

  void comment(std::string_view text) {
    text = trimmed(text);
    trace_.workload.comments.emplace_back(text);
    if (text.starts_with(kNameNote)) note(text);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = text.substr(0, colon);
    if (key != "MaxProcs" && !(key == "MaxNodes" && trace_.workload.max_procs == 0)) return;
    const std::string_view value = trimmed(text.substr(colon + 1));
    std::int64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (number > 0) trace_.workload.max_procs = number;
  }

  // Reads "Note: user 3 is ann".
  void note(std::string_view text) {
    zero_is_no_limit_ = zero_is_no_limit_ || text == kNoLimitNote;
    text.remove_prefix(kNameNote.size());
    const auto kind = text.substr(0, text.find(' '));
    if (kind != "user" && kind != "group" && kind != "queue") return;
    text.remove_prefix(std::min(kind.size() + 1, text.size()));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    constexpr std::string_view kIs = " is ";
    if (error == std::errc{} && text.starts_with(kIs))
      names_[{kind.front(), number}] = text.substr(kIs.size());
  }

  Status issue(std::size_t field, std::string what, bool skipped) {
    return trace_.add_issue({line_, kFieldNames[field], std::move(what), skipped}, options_);
  }

  Status record(std::string_view line) {
    Numbers n;
    n.fill(-1);
    const char* at = line.data();
    const char* const end = at + line.size();
    for (std::size_t field = 0; field < kFields; ++field) {
      while (at != end && (*at == ' ' || *at == '\t')) ++at;
      if (at == end) {
        if (field > kLimit) break;  // the archive's older logs leave the last fields out
        return issue(field, fmt::format("the line has {} of 18 fields", field), true);
      }
      const bool is_negative = *at == '-';
      const auto [next, error] = std::from_chars(at, end, n[field]);
      std::int64_t thousandths = 0;
      const char* const after = read_fraction(next, end, thousandths);
      if (error != std::errc{} || (after != end && *after != ' ' && *after != '\t'))
        return issue(field,
                     fmt::format("\"{}\" is not a number", printable({at, std::size_t(end - at)})),
                     true);
      at = after;
      if (is_time(field))
        n[field] = std::clamp(n[field], -kMostSeconds, kMostSeconds) * kMsPerSecond +
                   (is_negative ? -thousandths : thousandths);
    }
    return take(n);
  }

  Status take(const Numbers& n) {
    TraceJob job;
    job.id = n[kId];
    job.submit = n[kSubmit];
    job.run = n[kRun];
    job.procs = n[kProcs] > 0 ? n[kProcs] : n[kAllocated];
    const bool has_none = n[kLimit] == 0 && zero_is_no_limit_;
    job.limit = n[kLimit] > 0 || has_none ? n[kLimit] : n[kRun] == 0 ? kMsPerSecond : n[kRun];
    if (job.id < 1) return issue(kId, fmt::format("{} is not above 0", job.id), true);
    if (!ids_.insert(job.id).second)
      return issue(kId, fmt::format("job {} is here twice", job.id), true);
    if (job.submit < 0) return issue(kSubmit, shown(job.submit) + " is before the begin", true);
    if (job.run < 0) return issue(kRun, shown(job.run) + " is below 0", true);
    constexpr std::int64_t kCancelled = 5;
    if (job.run == 0 && n[kStatus] == kCancelled && n[kAllocated] <= 0)
      return issue(kRun, "it was cancelled before it ran", true);
    if (job.procs <= 0)
      return issue(kProcs, "neither requested nor allocated processors are known", true);
    if (job.submit > kTimeMax / 4 || job.run > kTimeMax / 4 || job.limit > kTimeMax / 4)
      return issue(kSubmit, "a time is too large", true);
    const std::int64_t most = options_.procs > 0 ? options_.procs : trace_.workload.max_procs;
    if (most > 0 && job.procs > most)
      return issue(kProcs,
                   fmt::format("{} processors asked for, the machine has {}", job.procs, most),
                   true);
    if (job.submit < last_submit_)
      if (Status ok = issue(kSubmit, shown(job.submit) + " is before the line above it", false);
          !ok)
        return ok;
    last_submit_ = std::max(last_submit_, job.submit);
    job.line = line_;
    if (Status ok = trace_.cut_overrun(job, kFieldNames[kRun], options_); !ok) return ok;
    const auto name = [this](char kind, std::int64_t number) {
      if (const auto known = names_.find({kind, number}); known != names_.end())
        return known->second;
      return number < 0 ? std::string() : kind + std::to_string(number);
    };
    job.user = name('u', n[kUser]);
    job.group = name('g', n[kGroup]);
    job.queue = name('q', n[kQueue]);
    if (options_.think_times && n[kPreceding] > 0) {
      job.preceding = n[kPreceding];
      job.think = n[kThink];
    }
    trace_.workload.jobs.push_back(std::move(job));
    return {};
  }

  static std::string shown(std::int64_t ms) { return seconds_text(ms, kMsPerSecond); }

  std::string_view bytes_;
  const SwfOptions& options_;
  SwfTrace trace_;
  std::unordered_set<std::int64_t> ids_;
  std::map<std::pair<char, std::int64_t>, std::string> names_;  // by the first letter of their kind
  bool zero_is_no_limit_ = false;
  std::size_t line_ = 0;
  Time last_submit_ = 0;
};

}  // namespace

Status SwfTrace::add_issue(TraceIssue issue, const SwfOptions& options) {
  if (options.strict)
    return fail(Errc::invalid_argument, fmt::format("{}: {}", issue.field, issue.what),
                issue.column == 0 ? fmt::format("line {}", issue.line)
                                  : fmt::format("line {}, column {}", issue.line, issue.column));
  ++issue_count;
  skipped += issue.skipped;
  if (issues.size() < kKeptIssues) issues.push_back(std::move(issue));
  return {};
}

Status SwfTrace::cut_overrun(TraceJob& job, const char* field, const SwfOptions& options) {
  const Duration most = saturating_add(job.limit, options.overrun);
  if (job.limit == 0 || job.run <= most || options.keep_overruns) return {};
  const auto shown = [](Duration ms) { return seconds_text(ms, kMsPerSecond); };
  std::string what =
      fmt::format("{} is above the limit {}, cut ", shown(job.run), shown(job.limit));
  what += most == job.limit ? "there" : "at " + shown(most);
  job.run = most;
  return add_issue({job.line, field, std::move(what), false}, options);
}

Result<SwfTrace> read_swf(std::string_view bytes, const SwfOptions& options) {
  return SwfReader(bytes, options).read();
}

}  // namespace holon::sim
