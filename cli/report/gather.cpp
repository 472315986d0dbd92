#include "cli/report/gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "instance/basics/clock.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/process/state_claim.hpp"
#include "instance/tree/dead_child.hpp"
#include "msg/job_filter.hpp"
#include "web/details.hpp"
#include "web/listing.hpp"

namespace holon::cli {
namespace {

// Tasks of arrays that are drawn one by one; of more, nobody could see anything.
constexpr std::uint64_t kMostTasks = 100'000;
constexpr std::size_t kForLastLine = 2'048;  // bytes of a file's end in which it is looked for
constexpr std::size_t kMostOfAJob = 65'536;  // bytes of output; the log has less of each job

using Jobs = std::vector<msg::JobRecord>;

// Queue depths, which the policy's name does not tell: how many jobs a pass looks at.
std::string depths_of(client::Client& client) {
  const auto stats = client.stats();
  if (!stats) return "";
  std::string text;
  for (const auto& queue : stats->queues)
    text += fmt::format("{}{} of queue {}", text.empty() ? "" : ", ", queue.depth, queue.name);
  return text;
}

// The arrays of an instance.
struct Arrays {
  std::vector<std::uint64_t> ids;
  std::uint64_t tasks = 0;
};
using TasksOf = std::function<Jobs(const std::string& path, const Arrays& arrays)>;

bool is_task(const msg::JobRecord& job) {
  return job.array != 0 && job.tasks == 0;
}

// Appends the tasks of the arrays to the jobs; an instance comes before those below it.
void add_tasks(Jobs& jobs, const msg::JobFilter& filter, const TasksOf& tasks_of) {
  std::map<std::string, Arrays> by_instance;
  for (const auto& job : jobs) {
    if (job.tasks == 0) continue;
    Arrays& arrays = by_instance[web::instance_of(job.path)];
    arrays.ids.push_back(job.id);
    arrays.tasks += job.tasks;
  }
  std::uint64_t all = 0;
  for (const auto& [path, arrays] : by_instance) {
    if (all + arrays.tasks > kMostTasks) continue;
    all += arrays.tasks;
    for (auto& task : tasks_of(path, arrays))
      if (msg::matches(filter, task)) jobs.push_back(std::move(task));
  }
}

// The tasks in the journal of an instance that is over; tasks that cannot be read are problems.
Jobs past_tasks_of(const std::string& state_dir, const std::string& path, const Arrays& arrays,
                   std::vector<std::string>& problems) {
  Jobs all;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(state_dir + "/journal.db", ignored) ||
      instance::is_claimed(state_dir))
    return all;
  for (const std::uint64_t array : arrays.ids) {
    auto past = instance::past_tasks(state_dir, path, array, kMostTasks);
    if (!past)
      problems.push_back(
          fmt::format("array {} of instance {}: {}", array, path, to_string(past.error())));
    else
      std::move(past->begin(), past->end(), std::back_inserter(all));
  }
  return all;
}

// The tasks of arrays of an instance that has ended, from the journal that it has left below the
// one that answers here. What lies on another machine, or cannot be read, is drawn as a whole.
Jobs tasks_left_behind(client::Client& client, const std::string& path, const Arrays& arrays) {
  client.set_path("");
  const auto here = client.status();
  if (!here || here->state_dir.empty()) return {};
  std::vector<std::string> problems;
  return past_tasks_of(instance::state_dir_below(here->state_dir, here->path, path), path, arrays,
                       problems);
}

// Asks each instance that has arrays for their tasks.
Result<Jobs> jobs_and_tasks(client::Client& client, const msg::JobFilter& filter) {
  msg::JobsRequest request;
  request.all = true;
  request.recursive = true;
  request.filter = filter;
  auto jobs = client.jobs(request);
  if (!jobs) return tl::unexpected(jobs.error());
  request.recursive = false;
  request.tasks = true;
  const std::string at = client.path();
  add_tasks(jobs->jobs, filter, [&](const std::string& path, const Arrays& arrays) {
    client.set_path(path);
    auto reply = client.jobs(request);
    if (reply) std::erase_if(reply->jobs, [](const auto& job) { return !is_task(job); });
    return reply && !reply->jobs.empty() ? std::move(reply->jobs)
                                         : tasks_left_behind(client, path, arrays);
  });
  client.set_path(at);
  return std::move(jobs->jobs);
}

// What a job wrote to stderr, and to stdout.
struct Written {
  std::string errors, output;
};
using WrittenBy = std::function<Written(const msg::JobRecord& job)>;

std::string last_line_in_files(const msg::JobRecord& job) {
  for (const std::string& file : {job.error, job.output}) {
    const auto tail = file.empty() ? Result<std::string>("") : web::tail_of(file, kForLastLine);
    if (auto line = tail ? web::last_line_of(*tail) : ""; !line.empty()) return line;
  }
  return "";
}

// The last lines of failures, of each instance as many as its page reads. What is in no file of
// this user is asked for: outputs of small tasks are in the log of their instance.
std::map<std::string, std::string> last_lines_of(const Jobs& jobs, const WrittenBy& written_by) {
  std::map<std::string, std::vector<const msg::JobRecord*>> by_instance;
  for (const auto& job : jobs) by_instance[web::instance_of(job.path)].push_back(&job);
  std::map<std::string, std::string> lines;
  const auto read = [&](const msg::JobRecord& job) {
    std::string line = last_line_in_files(job);
    if (line.empty()) {
      const Written written = written_by(job);
      line = web::last_line_of(written.errors);
      if (line.empty()) line = web::last_line_of(written.output);
    }
    return lines[job.path] = line;
  };
  for (const auto& [path, of_instance] : by_instance) web::failures_of(of_instance, read);
  return lines;
}

// Will the instance at `path` say what its jobs wrote? One that is over is asked for by its
// parent; a living one that does not answer would be waited for without end.
bool will_say(client::Client& client, const Jobs& jobs, const std::string& path) {
  const auto is_it = [&path](const msg::JobRecord& job) { return job.path == path; };
  const auto child = std::find_if(jobs.begin(), jobs.end(), is_it);
  if (child != jobs.end() && web::is_over(*child)) return true;
  client.set_path(path);
  return client.status().has_value();
}

// What the instance of a job has of its output; nothing where that is more than a line is worth.
Written asked_for(client::Client& client, const msg::JobRecord& job) {
  Written written;
  client.set_path(web::instance_of(job.path));
  const auto is_small = [&] {
    return written.errors.size() + written.output.size() <= kMostOfAJob;
  };
  const auto told = client.attach(job.id, [&](const msg::OutputChunk& chunk) {
    (chunk.error ? written.errors : written.output) += chunk.data;
    return is_small();
  });
  return told && is_small() ? written : Written();
}

// Damage that may leave jobs off the page. A journal that cannot be checked has been read all the
// same: then only what the reader has met with is known.
std::vector<std::string> damage_of(const std::string& state_dir, std::vector<std::string> met) {
  auto check = instance::check_journal(state_dir);
  return check && !check->damage.empty() ? std::move(check->damage) : std::move(met);
}

}  // namespace

Time Shown::as_of() const {
  if (state_dir.empty()) return instance::wall_clock_ms();
  Time last = 0;
  for (const auto& job : jobs)
    last = std::max({last, job.t_submit, job.t_start, job.t_finish, job.t_inactive});
  return last;
}

Result<Shown> ask_instance(client::Client& client, const msg::JobFilter& filter) {
  auto jobs = jobs_and_tasks(client, filter);
  if (!jobs) return tl::unexpected(jobs.error());
  Shown shown;
  shown.jobs = std::move(*jobs);
  shown.node = client.status();
  shown.depths = depths_of(client);
  if (const auto resources = client.resources()) shown.hosts = web::hosts_of(*resources);
  if (shown.node) shown.machine = {shown.node->nodes, shown.node->cores};
  const std::string at = client.path();
  std::map<std::string, bool> say;  // by instance
  shown.last_lines = last_lines_of(shown.jobs, [&](const auto& job) {
    const std::string path = web::instance_of(job.path);
    if (!say.contains(path)) say[path] = will_say(client, shown.jobs, path);
    return say[path] ? asked_for(client, job) : Written();
  });
  client.set_path(at);
  return shown;
}

Result<Shown> read_ended_instance(const std::string& state_dir, const msg::JobFilter& filter) {
  std::error_code ignored;
  if (std::filesystem::exists(state_dir, ignored) &&
      !std::filesystem::is_directory(state_dir, ignored))
    return fail(Errc::invalid_argument,
                "is no state directory of an instance; the page's own file is -o FILE", state_dir);
  const auto runs = [&](const std::string& where) {
    return fail(Errc::busy, "its instance runs; holon report without DIR asks it" + where,
                state_dir);
  };
  if (const auto holder = instance::at_work_on(state_dir); !holder.uri.empty())
    return runs(", HOLON_URI=" + holder.uri);
  Shown shown;
  shown.state_dir = state_dir;
  std::string from;
  std::vector<std::string> problems;
  do {
    auto piece = instance::read_dead_child(state_dir, "/", from);
    if (piece.busy) return runs("");
    if (!piece.is_there && from.empty())
      return fail(
          Errc::not_found,
          piece.problems.empty() ? "there is no journal of an instance" : piece.problems.front(),
          state_dir);
    for (auto& job : piece.jobs)
      if (msg::matches(filter, job)) shown.jobs.push_back(std::move(job));
    problems.insert(problems.end(), piece.problems.begin(), piece.problems.end());
    from = std::move(piece.next);
  } while (!from.empty());
  add_tasks(shown.jobs, filter, [&](const std::string& path, const Arrays& arrays) {
    return past_tasks_of(instance::state_dir_below(state_dir, "/", path), path, arrays, problems);
  });
  shown.last_lines = last_lines_of(shown.jobs, [&](const msg::JobRecord& job) {
    const std::string dir = instance::state_dir_below(state_dir, "/", web::instance_of(job.path));
    auto found = instance::read_dead_child_job(dir, job.id);
    return found ? Written{std::move(found->error), std::move(found->output)} : Written();
  });
  if (const auto machine = instance::past_machine(state_dir)) shown.machine = *machine;
  shown.damage = damage_of(state_dir, std::move(problems));
  return shown;
}

}  // namespace holon::cli
