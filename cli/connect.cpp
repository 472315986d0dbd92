#include "cli/connect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "base/idset.hpp"
#include "base/instance_path.hpp"
#include "base/text/printable.hpp"
#include "cli/paths.hpp"
#include "cli/show/units.hpp"
#include "instance/basics/clock.hpp"
#include "transport/blocking_client.hpp"

namespace holon::cli {

namespace {

Result<Client> connect_to_path(const Invocation& call, const std::string& uri,
                               const std::string& path) {
  return Client::connect({uri, path, [&call](const std::string& notice) {
                            call.io.err << "holon: " << printable(notice) << "\n" << std::flush;
                          }});
}

// Where a part of a path names a task of an array, "7.3": its place, that of the dot, and its end.
struct TaskInPath {
  std::size_t begin = 0, dot = 0, end = 0;
};
std::optional<TaskInPath> task_in_path(const std::string& path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::size_t dot = path.find('.', begin);
    if (dot < end && dot > begin) return TaskInPath{begin, dot, end};
    begin = end + 1;
  }
  return std::nullopt;
}

// The path with the numbers that such tasks have among the jobs, which their instance knows.
Result<std::string> with_numbers_of_tasks(const Invocation& call, const std::string& uri,
                                          std::string path) {
  while (const auto part = task_in_path(path)) {
    const std::string word = path.substr(part->begin, part->end - part->begin);
    const auto array =
        job_number(std::string_view(path).substr(part->begin, part->dot - part->begin));
    const std::string index = path.substr(part->dot + 1, part->end - part->dot - 1);
    if (!array || !job_number("1" + index))
      return fail(Errc::invalid_argument, "no part of a path; 7 and 7.3, a task of an array, are",
                  word);
    const std::string around =
        part->begin <= 1 ? path.substr(0, part->begin) : path.substr(0, part->begin - 1);
    auto client = connect_to_path(call, uri, around);
    if (!client) return tl::unexpected(client.error());
    const auto ids = tasks_of(*client, *array, index);
    if (!ids) return tl::unexpected(ids.error());
    if (ids->size() != 1) return fail(Errc::not_found, "there is no such task", word);
    path.replace(part->begin, part->end - part->begin, std::to_string(ids->front()));
  }
  return path;
}

}  // namespace

Result<Client> connect_to_instance(const Invocation& call) {
  auto uri = client::find_instance(describe);
  if (!uri) return tl::unexpected(uri.error());
  const auto path = with_numbers_of_tasks(call, *uri, call.instance);
  if (!path) return tl::unexpected(path.error());
  return connect_to_path(call, *uri, *path);
}

Result<Client> connect_to_submit(const Invocation& call, const std::string& for_user) {
  auto client = connect_to_instance(call);
  if (!client || for_user.empty()) return client;
  if (auto may = client->check_serves_users(); !may)
    return fail(may.error().code, may.error().what, "--for " + for_user);
  return client;
}

Result<std::vector<std::uint64_t>> tasks_of(Client& client, std::uint64_t array,
                                            const std::string& indices) {
  const auto reply = client.tasks({array, indices, ""});
  if (!reply) return tl::unexpected(reply.error());
  const auto ids = Idset::parse(reply->ids);
  if (!ids) return tl::unexpected(ids.error());
  return ids->ids();
}

Result<SelectedJobs> connect_to_jobs(Invocation& call, const std::vector<std::string>& words) {
  auto selection = select_jobs(words);
  if (!selection) return tl::unexpected(selection.error());
  if (!selection->instance.empty()) call.instance = selection->instance;
  auto client = connect_to_instance(call);
  if (!client) return tl::unexpected(client.error());
  for (const auto& job : selection->tasks) {
    const auto tasks = tasks_of(*client, job.id, job.indices);
    if (!tasks) return tl::unexpected(tasks.error());
    selection->ids.insert(selection->ids.end(), tasks->begin(), tasks->end());
  }
  return SelectedJobs{std::move(*client), std::move(selection->ids)};
}

Result<SelectedJob> connect_to_job(Invocation& call, const std::string& word) {
  const auto job = one_job(word);
  if (!job) return tl::unexpected(job.error());
  if (!job->instance.empty()) call.instance = job->instance;
  auto client = connect_to_instance(call);
  if (!client) return tl::unexpected(client.error());
  if (job->indices.empty()) return SelectedJob{std::move(*client), job->id};
  const auto tasks = tasks_of(*client, job->id, job->indices);
  if (!tasks) return tl::unexpected(tasks.error());
  if (tasks->size() != 1)
    return fail(Errc::invalid_argument, "one task at a time, such as 7.12", word);
  return SelectedJob{std::move(*client), tasks->front()};
}

std::string describe(const client::RunningInstance& root) {
  constexpr Duration kPatience = 500;
  std::string text = root.name;
  auto connection = transport::BlockingClient::connect(root.uri, kPatience);
  const auto node =
      connection ? connection->call<msg::TreeNode>("status", msg::StatusRequest{}, "", kPatience)
                 : tl::unexpected<Error>(connection.error());
  if (node)
    text += fmt::format(", pid {}, since {}, {} job{} running", node->pid,
                        show_time(node->t_started, instance::wall_clock_ms()), node->running,
                        node->running == 1 ? "" : "s");
  else
    text += ", does not answer just now";
  return text + ", state in " + root.state_dir;
}

namespace {

void add_living(const msg::TreeNode& node, std::vector<std::string>& paths) {
  if (node.health == "unreachable" || node.health == "ended") return;
  paths.push_back(node.path);
  for (const auto& child : node.children) add_living(child, paths);
}

}  // namespace

Result<std::vector<std::string>> living_instances(Client& client, bool recursive) {
  const auto top = recursive ? client.tree() : client.status();
  if (!top) return tl::unexpected(top.error());
  if (!recursive) return std::vector<std::string>{top->path};
  std::vector<std::string> paths;
  add_living(*top, paths);
  if (paths.empty()) return fail(Errc::not_found, "the instance has ended", top->path);
  return paths;
}

}  // namespace holon::cli
