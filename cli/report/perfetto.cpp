#include "cli/report/perfetto.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

using Event = nlohmann::ordered_json;

constexpr std::int64_t kUsPerMs = 1'000;

class EventWriter {
 public:
  void add(const Event& event) {
    text_ +=
        (text_.empty() ? "" : ",\n") + event.dump(-1, ' ', false, Event::error_handler_t::replace);
  }
  void name(const char* what, int pid, std::int64_t tid, const std::string& name) {
    add({{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Event arguments_of(const msg::JobRecord& job) {
  return {{"job", msg::shown_path(job)},
          {"state", msg::state_word(job)},
          {"user", job.user},
          {"queue", job.queue},
          {"cores", job.ncores},
          {"nodes", job.nodelist},
          {"exit code", job.exit_code},
          {"reason", job.reason},
          {"command", job.command},
          {"waited ms", web::start_of(job) - job.t_submit}};
}

// A number that goes up and down.
class Counter {
 public:
  void add(Time begin, Time end, std::int64_t weight) {
    if (begin <= 0 || end < begin) return;
    changes_[begin] += weight;
    changes_[end] -= weight;
  }
  void write(EventWriter& out, int pid, const char* name) const {
    std::int64_t level = 0;
    for (const auto& [time, change] : changes_) {
      if (change == 0) continue;
      level += change;
      out.add({{"name", name},
               {"ph", "C"},
               {"ts", time * kUsPerMs},
               {"pid", pid},
               {"args", {{name, level}}}});
    }
  }

 private:
  std::map<Time, std::int64_t> changes_;
};

void add_counters(EventWriter& out, int pid, const std::vector<const msg::JobRecord*>& jobs,
                  Time now) {
  Counter waiting, busy;
  for (const auto* job : jobs) {
    const Time start = web::start_of(*job), end = web::end_of_run(*job, now);
    waiting.add(job->t_submit, start > 0 ? start : end, 1);
    if (start > 0) busy.add(start, end, std::max<std::int64_t>(job->ncores, 1));
  }
  waiting.write(out, pid, "jobs waiting");
  busy.write(out, pid, "cores in use");
}

// Two slices of one thread may only lie within each other: a node has a thread for each lane that a
// job begins in.
void add_slices(EventWriter& out, int pid, const ReportPart& part,
                const std::vector<const msg::JobRecord*>& jobs, Time now) {
  const web::LayoutInput input{jobs, {}, part.hosts, web::RowsBy::nodes, web::ColourBy::result,
                               now};
  const web::Layout layout = web::lay_out(input);
  std::map<std::string, const msg::JobRecord*> by_path;
  for (const auto* job : jobs) by_path.emplace(job->path, job);
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> threads;
  std::map<std::pair<std::int32_t, std::uint32_t>, bool> drawn;  // of a node: the job
  for (const auto& piece : layout.pieces) {
    const auto job = by_path.find(layout.subjects[piece.subject].path);
    if (piece.kind == web::Kind::planned || job == by_path.end()) continue;
    if (!drawn.emplace(std::pair(piece.row, piece.subject), true).second) continue;
    // Rows and lanes are counted from 0, threads from 1: 0 is the process itself in some viewers.
    const std::int64_t tid = std::int64_t{piece.row} * 1'000 + piece.lane + 1;
    if (threads.emplace(std::pair(piece.row, piece.lane), tid).second) {
      const auto& node = layout.rows[static_cast<std::size_t>(piece.row)].name;
      out.name("thread_name", pid, tid,
               piece.lane == 0 ? node : fmt::format("{} lane {}", node, piece.lane));
      out.add({{"name", "thread_sort_index"},
               {"ph", "M"},
               {"pid", pid},
               {"tid", tid},
               {"args", {{"sort_index", tid}}}});
    }
    out.add({{"name", layout.subjects[piece.subject].label},
             {"cat", msg::state_word(*job->second)},
             {"ph", "X"},
             {"ts", piece.begin * kUsPerMs},
             {"dur", (piece.end - piece.begin) * kUsPerMs},
             {"pid", pid},
             {"tid", tid},
             {"args", arguments_of(*job->second)}});
  }
}

}  // namespace

std::string trace_events(const std::vector<ReportPart>& parts, Time now) {
  EventWriter out;
  int pid = 0;
  for (const auto& part : parts) {
    ++pid;
    std::vector<const msg::JobRecord*> jobs;
    for (const auto& job : part.jobs) jobs.push_back(&job);
    out.name("process_name", pid, 0,
             part.node.path + (part.node.name.empty() ? "" : " " + part.node.name));
    add_slices(out, pid, part, jobs, now);
    add_counters(out, pid, jobs, now);
  }
  return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" + out.text() + "\n]}\n";
}

}  // namespace holon::cli
