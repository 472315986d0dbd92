#include "sim/formats/swf_text.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "sim/workload.hpp"

namespace holon::sim {

namespace {

// Keeps a header to one line, whatever is in a name.
std::string in_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

// Names of one kind by their numbers, in the order of their first jobs.
class NumberedNames {
 public:
  explicit NumberedNames(const char* kind) : kind_(kind) {}

  std::int64_t of(const std::string& name) {
    if (name.empty()) return -1;
    const auto [found, is_new] = numbers_.emplace(name, numbers_.size() + 1);
    if (is_new) notes_ += fmt::format("; Note: {} {} is {}\n", kind_, found->second, name);
    return static_cast<std::int64_t>(found->second);
  }
  const std::string& notes() const { return notes_; }

 private:
  const char* kind_;
  std::map<std::string, std::size_t> numbers_;
  std::string notes_;
};

std::string swf_seconds(Duration ms) {
  return ms < 0 ? "-1" : seconds_text(ms, kMsPerSecond);
}

std::string head_of(const SwfHeader& header, Time begin, std::size_t jobs) {
  std::string head = "; Version: 2.2\n";
  if (!header.computer.empty()) head += "; Computer: " + in_one_line(header.computer) + "\n";
  if (!header.note.empty()) head += "; Note: " + in_one_line(header.note) + "\n";
  head += "; Note: requested time 0 is no limit\n";
  head += fmt::format("; MaxJobs: {}\n; UnixStartTime: {}\n", jobs, begin / kMsPerSecond);
  if (header.nodes > 0) head += fmt::format("; MaxNodes: {}\n", header.nodes);
  if (header.procs > 0) head += fmt::format("; MaxProcs: {}\n", header.procs);
  return head;
}

}  // namespace

std::string swf_text(std::vector<SwfJob> jobs, const SwfHeader& header) {
  std::sort(jobs.begin(), jobs.end(), [](const SwfJob& a, const SwfJob& b) {
    return std::tie(a.submit, a.id) < std::tie(b.submit, b.id);
  });
  const Time first = jobs.empty() ? 0 : jobs.front().submit;
  const Time begin = first - first % kMsPerSecond;
  NumberedNames users("user"), groups("group"), queues("queue");
  std::string lines;
  for (const SwfJob& job : jobs)
    lines +=
        fmt::format("{} {} {} {} {} {} {} {} {} -1 {} {} {} -1 {} -1 -1 -1\n", job.id,
                    swf_seconds(job.submit - begin), swf_seconds(job.wait), swf_seconds(job.run),
                    job.run < 0 ? -1 : job.procs, swf_seconds(job.cpu), job.memory_kb, job.procs,
                    swf_seconds(job.limit), job.status, users.of(in_one_line(job.user)),
                    groups.of(in_one_line(job.group)), queues.of(in_one_line(job.queue)));
  return head_of(header, begin, jobs.size()) + users.notes() + groups.notes() + queues.notes() +
         lines;
}

}  // namespace holon::sim
