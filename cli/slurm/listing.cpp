#include "cli/slurm/listing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "base/hostlist.hpp"
#include "base/idset.hpp"
#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/options/job_options.hpp"
#include "cli/slurm/fields.hpp"
#include "cli/slurm/job_ids.hpp"
#include "launch/tasks/environment.hpp"

namespace holon::cli::slurm {
namespace {

using client::Client;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_one_of(const std::vector<std::string>& list, const std::string& word) {
  return list.empty() || std::find(list.begin(), list.end(), word) != list.end();
}

bool is_on_one_of(const std::vector<std::string>& hosts, const std::string& nodelist) {
  if (hosts.empty()) return true;
  const auto held = Hostlist::parse(nodelist);
  return held && std::any_of(hosts.begin(), hosts.end(),
                             [&held](const std::string& host) { return held->contains(host); });
}

bool is_meant(const Question& question, const msg::JobRecord& job) {
  const State state = state_of(job);
  const auto same = [&state](const State& one) { return one.letters == state.letters; };
  if (!question.states.empty() &&
      std::none_of(question.states.begin(), question.states.end(), same))
    return false;
  const bool is_over = job.state == "INACTIVE";
  if (is_over && question.since > 0 && job.t_inactive < question.since) return false;
  if (question.until > 0 && job.t_submit >= question.until) return false;
  return is_one_of(question.users, job.user) && is_one_of(question.names, job.name) &&
         is_one_of(question.queues, job.queue) && is_one_of(question.accounts, job.account) &&
         is_one_of(question.qos, job.qos.empty() ? std::string(kUsualQos) : job.qos) &&
         is_on_one_of(question.hosts, job.nodelist);
}

// The indices of the array's tasks that wait.
Result<std::string> waiting_of(Client& client, const msg::JobRecord& array,
                               const std::set<std::uint64_t>& begun) {
  const auto all = client.tasks({array.id, "", ""});
  if (!all) return tl::unexpected(all.error());
  const auto over = client.tasks({array.id, "", "COMPLETED,FAILED,CANCELED,TIMEOUT,REJECTED"});
  auto indices = Idset::parse(all->indices);
  if (!indices) return tl::unexpected(indices.error());
  if (over)
    if (const auto ended = Idset::parse(over->indices))
      for (const auto index : ended->ids()) indices->erase(index);
  for (const auto index : begun) indices->erase(index);
  return indices->str();
}

bool is_array(const msg::JobRecord& job) {
  return job.tasks > 0;
}

// Rows of the jobs of a listing with tasks behind their arrays.
class Rows {
 public:
  Rows(Client& client, const Question& question) : client_(client), question_(question) {}

  void add(const msg::JobRecord& job) {
    if (is_array(job)) {
      arrays_.emplace(job.id, job);
      return;
    }
    const bool is_task = job.array != 0;
    if (is_task && !is_pending(job))
      begun_[job.array].insert(static_cast<std::uint64_t>(job.index));
    if (is_task && is_pending(job) && !question_.each_task) return;
    if (is_meant(question_, job)) rows_.emplace(job.id, Row{job});
  }

  // A job that was named by itself: a task that waits has a row, too.
  void add_named(const msg::JobRecord& job) {
    if (is_array(job))
      add(job);
    else if (is_meant(question_, job))
      rows_.emplace(job.id, Row{job});
  }

  // Ends with a row for what waits of each array.
  Result<std::vector<Row>> take() && {
    for (auto& [id, array] : arrays_) {
      if (question_.each_task || array.tasks_pending == 0) continue;
      msg::JobRecord waits = array;
      if (waits.state == "RUN") waits.state = "SCHED";
      waits.nodelist.clear();
      waits.t_start = waits.t_alloc = 0;
      if (waits.waits_for.empty()) waits.waits_for = "array";
      if (!is_meant(question_, waits)) continue;
      auto indices = waiting_of(client_, array, begun_[id]);
      if (!indices) return tl::unexpected(indices.error());
      if (!indices->empty()) rows_.emplace(id, Row{std::move(waits), std::move(*indices)});
    }
    std::vector<Row> rows;
    for (auto& [id, row] : rows_) rows.push_back(std::move(row));
    return rows;
  }

 private:
  Client& client_;
  const Question& question_;
  std::map<std::uint64_t, Row> rows_;
  std::map<std::uint64_t, msg::JobRecord> arrays_;
  std::map<std::uint64_t, std::set<std::uint64_t>> begun_;  // indices, by array
};

// Tasks of an array that wait are asked for only where each has a row: there may be a million.
Status add_all(Client& client, const Question& question, Rows& rows) {
  const auto take = [&rows](const std::vector<msg::JobRecord>& page, bool) {
    for (const auto& job : page) rows.add(job);
    return true;
  };
  msg::JobsRequest request;
  request.all = question.with_ended;
  request.filter.since = question.since;
  if (auto read = client.each_page(request, take); !read) return read;
  request.tasks = true;
  if (!question.each_task) {
    request.filter.states = {"RUNNING", "SUSPENDED"};
    if (question.with_ended)
      for (const char* const result : {"COMPLETED", "FAILED", "CANCELED", "TIMEOUT", "REJECTED"})
        request.filter.states.emplace_back(result);
  }
  return client.each_page(request, take);
}

Status add_named(Client& client, const std::vector<std::uint64_t>& ids, Rows& rows) {
  msg::JobsRequest request;
  request.all = true;
  request.ids = ids;
  const auto found = client.jobs(request);
  if (!found) return tl::unexpected(found.error());
  for (const auto& job : found->jobs) rows.add(job);
  return {};
}

}  // namespace

std::string path_of_jobs() {
  const std::string job = variable("SLURM_JOB_ID"), step_of = variable(launch::kStepOf);
  if (job.empty()) return "";
  if (!step_of.empty()) return step_of == job ? ".." : "";
  const std::string path = variable("HOLON_JOB_PATH");
  const bool is_script = variable("HOLON_JOB_ID").empty() && !path.empty();
  return is_script && path.substr(path.rfind('/') + 1) == job ? ".." : "";
}

Result<Client> connect(Call& call) {
  Invocation invocation{call.io, {}, path_of_jobs(), false};
  auto client = connect_to_instance(invocation);
  if (client) return client;
  return fail(client.error().code,
              "Unable to contact a holon instance: " + to_string(client.error()));
}

Result<Question> question_in(const Options& options) {
  Question question;
  if (const auto jobs = options.value("jobs")) {
    auto read = job_ids_in(*jobs);
    if (!read) return tl::unexpected(read.error());
    question.jobs = std::move(*read);
  }
  if (const auto states = options.value("states")) {
    auto read = states_in(*states);
    if (!read) return tl::unexpected(read.error());
    question.states = std::move(*read);
  }
  for (const auto& [name, list] : {std::pair("user", &question.users),
                                   {"name", &question.names},
                                   {"partition", &question.queues},
                                   {"account", &question.accounts},
                                   {"qos", &question.qos}})
    if (const auto value = options.value(name)) *list = items_of(*value);
  if (const auto value = options.value("nodelist")) {
    const auto hosts = Hostlist::parse(*value);
    if (!hosts) return fail(Errc::invalid_argument, "Invalid node name specified: " + *value);
    question.hosts = hosts->hosts();
  }
  if (options.has("me")) question.users = {user_name()};
  return question;
}

Result<std::vector<std::uint64_t>> numbers_of(Client& client, const std::vector<JobRef>& jobs) {
  std::vector<std::uint64_t> numbers;
  for (const JobRef& job : jobs) {
    if (job.indices.empty()) {
      numbers.push_back(job.id);
      continue;
    }
    const auto tasks = tasks_of(client, job.id, job.indices);
    if (!tasks) return tl::unexpected(tasks.error());
    numbers.insert(numbers.end(), tasks->begin(), tasks->end());
  }
  return numbers;
}

Result<std::vector<Row>> rows_of(Client& client, const Question& question) {
  Rows rows(client, question);
  if (question.jobs.empty()) {
    if (auto added = add_all(client, question, rows); !added) return tl::unexpected(added.error());
    return std::move(rows).take();
  }
  const auto numbers = numbers_of(client, question.jobs);
  if (!numbers) return fail(Errc::not_found, "Invalid job id specified");
  msg::JobsRequest request;
  request.all = true;
  request.ids = *numbers;
  const auto named = client.jobs(request);
  if (!named)
    return fail(named.error().code, named.error().code == Errc::not_found
                                        ? "Invalid job id specified"
                                        : named.error().what);
  for (const auto& job : named->jobs) {
    rows.add_named(job);
    if (!is_array(job)) continue;
    const auto all = client.tasks({job.id, "", ""});
    if (!all) return tl::unexpected(all.error());
    const auto ids = Idset::parse(all->ids);
    if (!ids) return tl::unexpected(ids.error());
    if (auto added = add_named(client, ids->ids(), rows); !added)
      return tl::unexpected(added.error());
  }
  return std::move(rows).take();
}

}  // namespace holon::cli::slurm
