// holon output, holon job output: what a job wrote, from the beginning, and what it goes on to
// write.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "base/idset.hpp"
#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/jobs/job_verbs.hpp"
#include "launch/streams/output.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

Status copy_file(const std::string& file, std::ostream& to) {
  std::error_code error;
  const bool is_readable = std::filesystem::is_regular_file(file, error);
  if (!is_readable && std::filesystem::exists(file, error)) return {};  // a pipe, a device
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(Errc::not_found, "the output is not there any more", file);
  if (in.peek() != std::ifstream::traits_type::eof()) to << in.rdbuf();
  return {};
}

// Copies one file, or one of each task.
Status copy_files(const std::string& pattern, std::int64_t tasks, std::ostream& to) {
  if (launch::file_of_task(pattern, 0) == pattern) return copy_file(pattern, to);
  for (std::int64_t rank = 0; rank < tasks; ++rank)
    if (auto copied =
            copy_file(launch::file_of_task(pattern, static_cast<std::uint32_t>(rank)), to);
        !copied)
      return copied;
  return {};
}

// Prints files at the places in the record: the instance that ran the job has ended, or does not
// read files that its users have named.
Status print_files(Invocation& call, Client& client, std::uint64_t id) {
  const auto job = client.record(id);
  if (!job) return tl::unexpected(job.error());
  if (job->output.empty())
    return fail(Errc::not_found, "it never ran, so it wrote nothing", job->path);
  const bool separate = !job->error.empty() && job->error != job->output;
  if (auto copied = copy_files(job->output, job->ntasks, call.io.out); !copied) return copied;
  return separate ? copy_files(job->error, job->ntasks, call.io.err) : Status{};
}

// Copies the job's output. Under a name, both streams become one, which can be kept in a file.
Status copy_stream(Invocation& call, Client& client, std::uint64_t id, bool named) {
  return client.attach(id, [&](const msg::OutputChunk& chunk) {
    (chunk.error && !named ? call.io.err : call.io.out) << chunk.data << std::flush;
    return true;
  });
}

// The entry of a task as ": beta"; "" if it has none.
std::string given_to(Client& client, std::uint64_t id) {
  const auto task = client.record(id);
  return task && !task->entry.empty() ? ": " + printable(task->entry) : "";
}

// Prints the output of the tasks that `ask` names, one after the other; with `named` each under its
// name and entry.
Status print_tasks(Invocation& call, Client& client, const msg::TasksRequest& ask, bool named) {
  const auto tasks = client.tasks(ask);
  if (!tasks) return tl::unexpected(tasks.error());
  const auto ids = Idset::parse(tasks->ids);
  const auto indices = Idset::parse(tasks->indices);
  if (!ids) return tl::unexpected(ids.error());
  if (!indices) return tl::unexpected(indices.error());
  const std::vector<std::uint64_t> names = named ? indices->ids() : std::vector<std::uint64_t>();
  std::size_t place = 0;
  for (const std::uint64_t id : ids->ids()) {
    if (place < names.size())
      call.io.out << fmt::format("==> {}.{}{} <==\n", ask.array, names[place++],
                                 given_to(client, id))
                  << std::flush;
    if (auto copied = copy_stream(call, client, id, named); !copied) return copied;
  }
  return {};
}

constexpr const char* kFailedOutputs = "FAILED,TIMEOUT";

// Prints the failed tasks of an array, or one job if it has failed.
Status print_failed(Invocation& call, Client& client, std::uint64_t id) {
  const auto job = client.record(id);
  if (!job) return tl::unexpected(job.error());
  if (job->tasks > 0) return print_tasks(call, client, {id, "", kFailedOutputs}, true);
  if (job->result != "FAILED" && job->result != "TIMEOUT") return {};
  return copy_stream(call, client, id, true);
}

// Says why nothing came, if the job never ran.
void say_why_nothing(Invocation& call, Client& client, std::uint64_t id) {
  const auto job = client.record(id);
  if (!job || job->t_start != 0 || job->state != "INACTIVE") return;
  call.io.err << fmt::format("holon job output: job {} never ran: {}{}\n", msg::shown_path(*job),
                             job->result, job->reason.empty() ? "" : ": " + printable(job->reason));
}

// Reads "7.2-4"; nullopt: something else.
std::optional<JobRef> several_tasks(const std::string& word) {
  const auto jobs = parse_jobs(word);
  if (!jobs || jobs->size() != 1 || jobs->front().indices.empty()) return std::nullopt;
  const auto indices = Idset::parse(jobs->front().indices);
  return indices && indices->count() > 1 ? std::optional(jobs->front()) : std::nullopt;
}

// Prints the output of one job, or of one list of tasks of an array.
int output_of(Invocation& call, const char* verb, const std::string& word, bool failed) {
  if (const auto tasks = several_tasks(word)) {
    if (!tasks->instance.empty()) call.instance = tasks->instance;
    auto client = connect_to_instance(call);
    if (!client) return report(call, verb, client.error());
    const auto printed = print_tasks(
        call, *client, {tasks->id, tasks->indices, failed ? kFailedOutputs : ""}, failed);
    return printed ? kOk : report(call, verb, printed.error());
  }
  auto selected = connect_to_job(call, word);
  if (!selected) return report(call, verb, selected.error());
  auto& [client, id] = *selected;
  if (failed) {
    const auto printed = print_failed(call, client, id);
    return printed ? kOk : report(call, verb, printed.error());
  }
  bool wrote = false;
  const auto ended = client.attach(id, [&](const msg::OutputChunk& chunk) {
    wrote = true;
    (chunk.error ? call.io.err : call.io.out) << chunk.data << std::flush;
    return true;
  });
  if (ended && !wrote) say_why_nothing(call, client, id);
  if (ended) return kOk;
  if (ended.error().code == Errc::unsupported) {
    const auto printed = print_tasks(call, client, {id, "", ""}, false);
    return printed ? kOk : report(call, verb, printed.error());
  }
  const bool may_be_ours = ended.error().code == Errc::denied;
  if ((client.path().empty() && !may_be_ours) || !print_files(call, client, id))
    return report(call, verb, ended.error());
  return kOk;
}

// Splits "3-5" into "3", "4", "5". Errors: those of parse_jobs.
Result<std::vector<std::string>> one_by_one(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    const auto jobs = parse_jobs(word);
    if (!jobs) return tl::unexpected(jobs.error());
    if (jobs->size() == 1)
      all.push_back(word);
    else
      for (const JobRef& job : *jobs) all.push_back(std::to_string(job.id));
  }
  return all;
}

int print_output(Invocation& call, const char* verb) {
  std::vector<std::string> words;
  bool failed = false;
  Parser parser(verb, "what a job wrote");
  parser
      .positional(
          "ID", words,
          "the job: 7 or /3/7; 7.12 is a task of an array, of which 7.3-9 are these tasks and 7 is "
          "each, one after the other; of several jobs (7 9 12-14) each under its id")
      .group("Options")
      .flag("--failed", failed, "of an array only the tasks that have failed, each under its name")
      .instance(call)
      .note(
          "Of a job that is not over, it goes on until the job ends; Ctrl-C leaves the job alone.")
      .example(fmt::format("holon {} 7", verb), "both streams, each to its own")
      .example(fmt::format("holon {} 7 9", verb), "of two jobs, each under its id")
      .example(fmt::format("holon {} 7 --failed", verb), "what the tasks wrote that have failed");
  if (const auto code = parser.parse(call)) return *code;
  if (words.empty()) return report(call, verb, {Errc::invalid_argument, "ID is missing", ""});
  const auto jobs = one_by_one(words);
  if (!jobs) return report(call, verb, jobs.error());
  const std::string instance = call.instance;
  int worst = kOk;
  for (const std::string& job : *jobs) {
    call.instance = instance;  // a path of the job before may have led elsewhere
    if (jobs->size() > 1) call.io.out << fmt::format("==> {} <==\n", job) << std::flush;
    worst = std::max(worst, output_of(call, verb, job, failed));
  }
  return worst;
}

}  // namespace

int verb_job_output(Invocation& call) {
  return print_output(call, "job output");
}

int verb_output(Invocation& call) {
  return print_output(call, "output");
}

}  // namespace holon::cli
