#include "web/listing.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <tuple>

#include "base/hostlist.hpp"

namespace holon::web {
namespace {

constexpr std::size_t kLinesRead = 500;  // failures whose output is looked at
constexpr std::size_t kMostKept = 50;    // jobs of a group that are named
constexpr std::size_t kLongestLine = 160;

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

bool is_state(const std::string& word) {
  const auto states = msg::filter_states();
  return std::find(states.begin(), states.end(), word) != states.end();
}

// "failed,timeout": are all of them states? Adds them.
bool take_states(const std::string& word, std::vector<std::string>& states) {
  std::vector<std::string> found;
  std::istringstream in(upper(word));
  for (std::string state; std::getline(in, state, ',');) found.push_back(state);
  if (found.empty() || !std::all_of(found.begin(), found.end(), is_state)) return false;
  states.insert(states.end(), found.begin(), found.end());
  return true;
}

bool has_host(const msg::JobRecord& job, const std::string& host) {
  const auto hosts = Hostlist::parse(job.nodelist);
  return hosts && hosts->contains(host);
}

// What runs stands before what waits, and that before what is over.
int rank_of(const msg::JobRecord& job) {
  return is_running(job) ? 0 : is_over(job) ? 2 : 1;
}

}  // namespace

bool Filter::empty() const {
  return jobs.states.empty() && jobs.user.empty() && jobs.queue.empty() && jobs.name.empty() &&
         host.empty() && words.empty() && exit_code < 0;
}

bool Filter::matches(const msg::JobRecord& job) const {
  if (!msg::matches(jobs, job)) return false;
  if (exit_code >= 0 && job.exit_code != exit_code) return false;
  if (!host.empty() && !has_host(job, host)) return false;
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    const auto has = [&](const std::string& text) { return text.find(word) != std::string::npos; };
    return has(job.name) || has(job.command) || has(job.reason) || has(job.entry) ||
           msg::shown_path(job) == word || msg::label_of(job) == word;
  });
}

Result<Filter> read_filter(const std::string& text) {
  Filter filter;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const auto colon = word.find(':');
    const std::string key = colon == std::string::npos ? "" : word.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : word.substr(colon + 1);
    if (key == "user")
      filter.jobs.user = value;
    else if (key == "queue")
      filter.jobs.queue = value;
    else if (key == "name")
      filter.jobs.name = value;
    else if (key == "node")
      filter.host = value;
    else if (key == "exit") {
      const auto read =
          std::from_chars(value.data(), value.data() + value.size(), filter.exit_code);
      if (read.ec != std::errc() || read.ptr != value.data() + value.size() || filter.exit_code < 0)
        return fail(Errc::invalid_argument, "exit: is followed by a number, as exit:1", word);
    } else if (!take_states(word, filter.jobs.states)) {
      filter.words.push_back(word);
    }
  }
  if (auto good = msg::check_filter(filter.jobs); !good) return tl::unexpected(good.error());
  return filter;
}

std::vector<const msg::JobRecord*> in_order(std::vector<const msg::JobRecord*> jobs,
                                            std::size_t first, std::size_t most) {
  // A comparison that read states would read them some twenty times for each job.
  struct Keyed {
    std::tuple<int, Time, std::uint64_t> key;
    const msg::JobRecord* job;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(jobs.size());
  for (const auto* job : jobs) {
    const int rank = rank_of(*job);
    const Time time = rank == 2 ? -job->t_inactive : rank == 1 ? job->t_submit : -job->t_start;
    keyed.push_back({{rank, time, job->id}, job});
  }
  const std::size_t begin = std::min(first, jobs.size());
  const std::size_t end = begin + std::min(most, jobs.size() - begin);
  std::partial_sort(keyed.begin(), keyed.begin() + static_cast<std::ptrdiff_t>(end), keyed.end(),
                    [](const Keyed& a, const Keyed& b) {
                      return a.key != b.key ? a.key < b.key : a.job->path < b.job->path;
                    });
  jobs.clear();
  for (std::size_t i = begin; i < end; ++i) jobs.push_back(keyed[i].job);
  return jobs;
}

bool has_failed(const msg::JobRecord& job) {
  return is_over(job) && job.tasks == 0 &&
         (job.result == "FAILED" || job.result == "TIMEOUT" || job.result == "REJECTED");
}

std::vector<FailureGroup> failures_of(
    const std::vector<const msg::JobRecord*>& jobs,
    const std::function<std::string(const msg::JobRecord&)>& last_line) {
  std::vector<const msg::JobRecord*> failed;
  for (const auto* job : jobs)
    if (has_failed(*job)) failed.push_back(job);
  failed = in_order(std::move(failed), 0, failed.size());
  std::map<std::tuple<std::string, int, std::string>, FailureGroup> groups;
  for (std::size_t i = 0; i < failed.size(); ++i) {
    const auto& job = *failed[i];
    std::string line = job.result == "FAILED" && i < kLinesRead ? last_line(job) : "";
    if (line.empty()) line = last_line_of(job.reason);
    FailureGroup& group = groups[{job.result, job.exit_code, line}];
    group.result = job.result;
    group.exit_code = job.exit_code;
    group.line = line;
    if (++group.jobs <= kMostKept) group.newest.push_back(&job);
  }
  std::vector<FailureGroup> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.jobs > b.jobs; });
  return all;
}

std::string last_line_of(const std::string& text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const auto begin = text.rfind('\n', end);
  const std::size_t from = begin == std::string::npos ? 0 : begin + 1;
  return text.substr(from, std::min(end + 1 - from, kLongestLine));
}

}  // namespace holon::web
