// A log of a million jobs is a gigabyte of JSON, and would be ten as a document. Its records are
// found by their brackets and read one by one; what is around them is read as a document of its
// own, in which each record is a 0 and everything stands where it stood.
#include "sim/formats/records.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/core.h>

#include "sim/formats/json_text.hpp"
#include "sim/formats/trace_builder.hpp"

namespace holon::sim {

namespace {

using RecordJson = nlohmann::json;

// The bytes of one record.
struct RecordSpan {
  std::size_t begin = 0, end = 0;
};

// The form of the text around the records.
enum class Around { document, list, lines };

Around around_of(std::string_view bytes) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return Around::lines;
  if (bytes[first] == '[') return Around::list;
  const auto line = bytes.substr(first, bytes.find('\n', first) - first);
  const auto key = line.find_first_not_of(" \t{");
  const auto last = line.find_last_not_of(" \t\r");
  const bool is_whole =
      line[last] == '}' && !line.substr(std::min(key, last)).starts_with("\"jobs\"");
  return is_whole ? Around::lines : Around::document;
}

// Objects that are `level` brackets deep, in order; an unclosed one goes to the end.
std::vector<RecordSpan> records_in(std::string_view bytes, int level) {
  std::vector<RecordSpan> found;
  int depth = 0;
  bool is_string = false, is_open = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (is_string) {
      if (c == '\\') ++i;
      is_string = c != '"';
    } else if (c == '"') {
      is_string = true;
    } else if (c == '{' || c == '[') {
      if (depth++ == level && c == '{') found.push_back({i, bytes.size()}), is_open = true;
    } else if (c == '}' || c == ']') {
      if (--depth == level && is_open) found.back().end = i + 1, is_open = false;
    }
  }
  return found;
}

class RecordsReader {
 public:
  RecordsReader(std::string_view bytes, const SwfOptions& options)
      : bytes_(bytes), builder_(options) {}

  Result<SwfTrace> read() {
    const Around around = around_of(bytes_);
    spans_ = records_in(bytes_, around == Around::document ? 2 : around == Around::list ? 1 : 0);
    if (around != Around::lines)
      if (Status ok = read_around(around); !ok) return tl::unexpected(ok.error());
    if (Status ok = look_through(); !ok) return tl::unexpected(ok.error());
    for (const RecordSpan& span : spans_) {
      const auto json = parse(span);
      if (!json) return tl::unexpected(json.error());
      if (Status ok = take(*json, span); !ok) return tl::unexpected(ok.error());
    }
    return builder_.finish();
  }

 private:
  tl::unexpected<Error> wrong(std::string what, std::size_t at) const {
    return fail(Errc::invalid_argument, std::move(what), text_of(place_in(bytes_, at)));
  }

  Status read_around(Around around) {
    std::string rest(bytes_);
    for (const RecordSpan& span : spans_)
      for (std::size_t i = span.begin; i < span.end; ++i)
        if (rest[i] != '\n') rest[i] = i == span.begin ? '0' : ' ';
    const auto json = parse_json_text(rest);
    if (!json) return wrong(json.error().what, json.error().at);
    if (around == Around::list) return {};
    const auto jobs = json->find("jobs");
    if (jobs == json->end() || !jobs->is_array())
      return wrong(
          "JSON without a list of jobs; accepted are what `holon history --json` prints, "
          "and a job a line: {\"submit\": 0, \"procs\": 1, \"run\": 10}",
          0);
    const auto cores = json->find("cores");
    if (cores != json->end() && cores->is_number_integer() && *cores > 0)
      builder_.set_procs(cores->get<std::int64_t>());
    return {};
  }

  Result<RecordJson> parse(const RecordSpan& span) const {
    auto json = parse_json_text(bytes_.substr(span.begin, span.end - span.begin));
    if (!json) return wrong(json.error().what, span.begin + json.error().at);
    return std::move(*json);
  }

  // Notes the arrays whose tasks are there, and the instances whose jobs are.
  Status look_through() {
    for (const RecordSpan& span : spans_) {
      const auto json = parse(span);
      if (!json) return tl::unexpected(json.error());
      if (const auto array = number(*json, "array"); array > 0 && number(*json, "tasks") == 0)
        arrays_with_tasks_.insert(array);
      const std::string path = text(*json, "path");
      if (const auto slash = path.rfind('/'); slash != std::string::npos && slash > 0)
        instances_with_jobs_.insert(path.substr(0, slash));
    }
    return {};
  }

  // The value; 0 and "" if it is absent, or of another kind.
  static std::int64_t number(const RecordJson& json, const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
  }
  static std::string text(const RecordJson& json, const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
  }
  static bool is_true(const RecordJson& json, const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_boolean() && at->get<bool>();
  }

  FieldPlace at(const RecordSpan& span, const char* field) const {
    // Records stand in the order of their lines: those before the last one were counted then.
    for (; counted_ < span.begin; ++counted_) line_ += bytes_[counted_] == '\n';
    return {line_, 0, field};
  }

  Status take(const RecordJson& json, const RecordSpan& span) {
    const Time submit = number(json, "t_submit"), start = number(json, "t_start");
    if (submit <= 0)
      return builder_.issue(at(span, "t_submit"), "no job of an instance: it was never submitted");
    builder_.submitted(submit);
    const std::int64_t id = number(json, "id");
    if (number(json, "tasks") > 0) return take_array(json, span);
    if (is_true(json, "is_instance") && instances_with_jobs_.contains(text(json, "path")))
      return {};
    if (text(json, "state") != "INACTIVE")
      return builder_.issue(at(span, "state"), fmt::format("job {} is not over", id));
    if (start <= 0) return builder_.issue(at(span, "t_start"), fmt::format("job {} never ran", id));
    TraceJob job = job_of(json);
    const Time finish = number(json, "t_finish");
    job.run = (finish > 0 ? finish : number(json, "t_inactive")) - start;
    // A job ended by its limit ran a moment longer than that.
    if (text(json, "result") == "TIMEOUT" && job.limit > 0) job.run = std::min(job.run, job.limit);
    return builder_.add(std::move(job), at(span, "t_finish"));
  }

  // Takes an array; how long each task ran is unknown.
  Status take_array(const RecordJson& json, const RecordSpan& span) {
    const std::int64_t id = number(json, "id");
    if (arrays_with_tasks_.contains(id)) return {};
    const std::int64_t started = number(json, "tasks_started");
    if (started <= 0)
      return builder_.issue(at(span, "tasks"), fmt::format("no task of array {} has run", id));
    TraceJob task = job_of(json);
    const std::int64_t ran = number(json, "tasks_run_ms");
    task.run = ran / started;
    task.procs = ran > 0
                     ? std::max<std::int64_t>(1, (number(json, "tasks_core_ms") + ran / 2) / ran)
                     : task.procs;
    if (Status ok = builder_.issue(at(span, "tasks"),
                                   fmt::format("array {} without its tasks (holon history --tasks "
                                               "has them): {} equal ones are taken",
                                               id, started),
                                   false);
        !ok)
      return ok;
    constexpr std::int64_t kMostTasks = 10'000'000;  // the most, lest a damaged record is believed
    for (std::int64_t n = 1; n <= std::min(started, kMostTasks); ++n) {
      task.id = id + n;
      if (Status ok = builder_.add(task, at(span, "tasks")); !ok) return ok;
    }
    return {};
  }

  static TraceJob job_of(const RecordJson& json) {
    TraceJob job;
    job.id = number(json, "id");
    job.submit = number(json, "t_submit");
    job.procs = number(json, "ncores");
    job.limit = number(json, "limit");
    job.user = text(json, "user");
    job.group = text(json, "group");
    job.queue = text(json, "queue");
    job.account = text(json, "account");
    job.qos = text(json, "qos");
    return job;
  }

  std::string_view bytes_;
  TraceBuilder builder_;
  std::vector<RecordSpan> spans_;
  std::unordered_set<std::int64_t> arrays_with_tasks_;
  std::set<std::string> instances_with_jobs_;
  mutable std::size_t counted_ = 0, line_ = 1;
};

}  // namespace

// A job of a trace has "submit", a record has the field that says when it was submitted.
bool is_records(std::string_view bytes) {
  if (around_of(bytes) != Around::lines) return true;
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const auto json = parse_json_text(bytes.substr(first, bytes.find('\n', first) - first));
  return json && json->is_object() && json->contains("t_submit");
}

Result<SwfTrace> read_records(std::string_view bytes, const SwfOptions& options) {
  return RecordsReader(bytes, options).read();
}

}  // namespace holon::sim
