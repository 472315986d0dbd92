#include "sim/trace_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include <fmt/core.h>

#include "base/whole_file.hpp"
#include "sim/formats/json_text.hpp"
#include "sim/formats/records.hpp"
#include "sim/formats/sacct.hpp"
#include "sim/preceding.hpp"

namespace holon::sim {

namespace {

struct GzClose {
  void operator()(gzFile file) const { gzclose(file); }
};

class JsonLinesReader {
 public:
  JsonLinesReader(std::string_view bytes, const SwfOptions& options)
      : bytes_(bytes), options_(options) {}

  Result<SwfTrace> read() {
    while (!bytes_.empty()) {
      ++line_;
      const std::size_t newline = bytes_.find('\n');
      const std::string_view line = bytes_.substr(0, newline);
      bytes_.remove_prefix(newline == std::string_view::npos ? bytes_.size() : newline + 1);
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (Status ok = record(line); !ok) return tl::unexpected(ok.error());
    }
    sort_by_submission(trace_.workload.jobs);
    settle_ticks(trace_.workload);
    if (options_.think_times)
      if (Status ok = settle_preceding(trace_, options_, {"preceding", "think"}); !ok)
        return tl::unexpected(ok.error());
    return std::move(trace_);
  }

 private:
  Status issue(const char* field, std::string what, bool skipped = true, std::size_t column = 0) {
    return trace_.add_issue({line_, field, std::move(what), skipped, column}, options_);
  }

  Status record(std::string_view line) {
    const auto parsed = parse_json_text(line);
    if (!parsed) return issue("line", parsed.error().what, true, parsed.error().at + 1);
    const nlohmann::json& json = *parsed;
    if (!json.is_object()) return issue("line", "this is not a JSON object");
    TraceJob job;
    job.id = static_cast<std::int64_t>(line_);
    job.submit = job.run = -1;
    job.procs = 0;
    for (const auto& [key, field] : {std::pair{"id", &job.id}, {"procs", &job.procs}})
      if (!number(json, key, *field)) return issue(key, "it is no number, or too large");
    for (const auto& [key, field] : {std::pair{"submit", &job.submit}, {"run", &job.run}})
      if (!time(json, key, *field)) return issue(key, "it is no number, or too large");
    job.limit = job.run == 0 ? kMsPerSecond : job.run;  // an exact estimate, and none is not meant
    if (!time(json, "limit", job.limit)) return issue("limit", "it is no number, or too large");
    for (const auto& [key, field] : {std::pair{"user", &job.user},
                                     {"group", &job.group},
                                     {"queue", &job.queue},
                                     {"account", &job.account},
                                     {"qos", &job.qos}})
      if (!text(json, key, *field)) return issue(key, "it is no string");
    for (const auto& [key, field] :
         {std::pair{"preemptible", &job.preemptible}, {"checkpoints", &job.checkpoints}})
      if (!flag(json, key, *field)) return issue(key, "it is neither true nor false");
    if (options_.think_times && !number(json, "preceding", job.preceding))
      return issue("preceding", "it is no number, or too large");
    if (options_.think_times && !time(json, "think", job.think))
      return issue("think", "it is no number, or too large");
    if (job.preceding < 1) job.preceding = kNoJob;
    job.line = line_;
    return take(std::move(job));
  }

  // Takes a number. True: it was taken, or is absent.
  static bool number(const nlohmann::json& json, const char* key, std::int64_t& into) {
    const auto at = json.find(key);
    if (at == json.end() || at->is_null()) return true;
    const double value = at->is_number() ? at->get<double>() : HUGE_VAL;
    if (!(value >= -9e15 && value <= 9e15)) return false;
    into = static_cast<std::int64_t>(value);
    return true;
  }
  // Takes seconds, to ms.
  static bool time(const nlohmann::json& json, const char* key, std::int64_t& into) {
    const auto at = json.find(key);
    if (at == json.end() || at->is_null()) return true;
    const double value = at->is_number() ? at->get<double>() : HUGE_VAL;
    if (!(value >= -9e12 && value <= 9e12)) return false;
    into = std::llround(value * kMsPerSecond);
    return true;
  }
  static bool text(const nlohmann::json& json, const char* key, std::string& into) {
    const auto at = json.find(key);
    if (at == json.end() || at->is_null()) return true;
    if (!at->is_string()) return false;
    into = at->get<std::string>();
    return true;
  }

  static bool flag(const nlohmann::json& json, const char* key, bool& into) {
    const auto at = json.find(key);
    if (at == json.end() || at->is_null()) return true;
    if (!at->is_boolean()) return false;
    into = at->get<bool>();
    return true;
  }

  Status take(TraceJob job) {
    if (job.id < 1) return issue("id", "it is not above 0");
    if (!ids_.insert(job.id).second)
      return issue("id", fmt::format("job {} is here twice", job.id));
    if (job.submit < 0) return issue("submit", "it is missing, or below 0 (seconds; 0 or more)");
    if (job.procs < 1) return issue("procs", "it is missing, or not above 0");
    if (job.run < 0) return issue("run", "it is missing, or below 0 (seconds; 0 or more)");
    if (job.limit < 0) return issue("limit", "it is below 0");
    if (options_.procs > 0 && job.procs > options_.procs)
      return issue("procs",
                   fmt::format("{} asked for, the machine has {}", job.procs, options_.procs));
    if (job.submit < last_submit_)
      if (Status ok =
              issue("submit",
                    seconds_text(job.submit, kMsPerSecond) + " is before the line above it", false);
          !ok)
        return ok;
    last_submit_ = std::max(last_submit_, job.submit);
    if (Status ok = trace_.cut_overrun(job, "run", options_); !ok) return ok;
    trace_.workload.jobs.push_back(std::move(job));
    return {};
  }

  std::string_view bytes_;
  const SwfOptions& options_;
  SwfTrace trace_;
  std::unordered_set<std::int64_t> ids_;
  std::size_t line_ = 0;
  Time last_submit_ = 0;
};

}  // namespace

Result<SwfTrace> read_json_lines(std::string_view bytes, const SwfOptions& options) {
  return JsonLinesReader(bytes, options).read();
}

Result<std::string> read_maybe_gzipped(const std::string& path) {
  errno = 0;
  const std::unique_ptr<gzFile_s, GzClose> file(gzopen(path.c_str(), "rb"));
  if (!file)
    return fail(errno == ENOENT ? Errc::not_found : Errc::system, std::strerror(errno), path);
  std::string bytes;
  constexpr std::size_t kChunk = 1 << 20;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kChunk);
    const int got = gzread(file.get(), bytes.data() + before, kChunk);
    int code = Z_OK;
    const char* const what = gzerror(file.get(), &code);
    if (got < 0 && code == Z_ERRNO) return fail(Errc::system, std::strerror(errno), path);
    if (got < 0) return fail(Errc::invalid_argument, what, path);
    if (code == Z_BUF_ERROR)
      return fail(Errc::invalid_argument, "the gzip stream ends too early", path);
    bytes.resize(before + static_cast<std::size_t>(got));
    if (got == 0) return bytes;
    if (bytes.size() > kMaxTraceBytes)
      return fail(Errc::out_of_range, "more than 4 GiB of text", path);
  }
}

std::string why_no_jobs(const SwfTrace& trace) {
  return trace.skipped == 0 ? "the trace has no jobs" : "no job is left to simulate";
}

Result<SwfTrace> read_trace(std::string_view bytes, const SwfOptions& options) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '['))
    return is_records(bytes) ? read_records(bytes, options) : read_json_lines(bytes, options);
  return is_sacct(bytes) ? read_sacct(bytes, options) : read_swf(bytes, options);
}

Result<SwfTrace> read_trace_file(const std::string& path, const SwfOptions& options) {
  if (Status ends = check_has_end(path); !ends) return tl::unexpected(ends.error());
  Result<std::string> bytes = read_maybe_gzipped(path);
  if (!bytes) return tl::unexpected(bytes.error());
  Result<SwfTrace> trace = read_trace(*bytes, options);
  if (!trace)
    return fail(trace.error().code, trace.error().what, path + ", " + trace.error().where);
  return trace;
}

}  // namespace holon::sim
