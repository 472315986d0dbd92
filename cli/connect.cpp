#include "cli/connect.hpp"

#include <fmt/format.h>

#include <ostream>
#include <utility>

#include "base/idset.hpp"
#include "base/text/printable.hpp"
#include "cli/paths.hpp"
#include "cli/show/units.hpp"
#include "instance/basics/clock.hpp"
#include "transport/blocking_client.hpp"

namespace holon::cli {

Result<Client> connect_to_instance(const Invocation& call) {
  auto uri = client::find_instance(describe);
  if (!uri) return tl::unexpected(uri.error());
  return Client::connect({std::move(*uri), call.instance, [&call](const std::string& notice) {
                            call.io.err << "holon: " << printable(notice) << "\n" << std::flush;
                          }});
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

}  // namespace holon::cli
