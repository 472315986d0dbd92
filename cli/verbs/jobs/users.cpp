// holon users: who has what of an instance.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

struct OneUser {
  std::int64_t running = 0, pending = 0, cores = 0, gpus = 0;
  std::vector<std::string> children;    // paths of child instances that are theirs
  std::vector<msg::JobRecord> waiting;  // child instances that have nothing yet
};
using AllUsers = std::map<std::string, OneUser>;

// An array's record says what one task has: an open array that waits for more tasks has nothing.
void count_tasks(OneUser& user, const msg::JobRecord& array) {
  const auto running = static_cast<std::int64_t>(array.tasks_running);
  ++(running > 0 ? user.running : user.pending);
  user.cores += running * array.ncores;
  user.gpus += running * array.ngpus;
}

void count(AllUsers& users, const msg::JobRecord& job) {
  OneUser& user = users[job.user];
  if (job.tasks > 0 || job.tasks_open) return count_tasks(user, job);
  if (job.state != "RUN" && job.state != "CLEANUP") {
    ++user.pending;
    if (job.is_instance) user.waiting.push_back(job);
    return;
  }
  ++user.running;
  user.cores += job.ncores;
  user.gpus += job.ngpus;
  if (job.is_instance) user.children.push_back(job.path);
}

std::string joined(const std::vector<std::string>& paths) {
  std::string text;
  for (const auto& path : paths) text += (text.empty() ? "" : " ") + path;
  return text.empty() ? "-" : text;
}

std::string why_they_wait(const std::vector<msg::JobRecord>& waiting) {
  std::string text;
  for (const auto& job : waiting) {
    text += (text.empty() ? "" : "; ") + msg::shown_path(job);
    if (!job.reason.empty()) text += ": " + printable(job.reason);
  }
  return text.empty() ? "-" : text;
}

std::string users_as_table(const Io& io, const AllUsers& users) {
  using enum Table::Align;
  Table table({{"USER", left},
               {"RUNNING", right},
               {"PENDING", right},
               {"CORES", right},
               {"GPUS", right},
               {"CHILDREN", left},
               {"WAITING", left}});
  for (const auto& [name, user] : users)
    table.add({{name},
               {std::to_string(user.running)},
               {std::to_string(user.pending)},
               {std::to_string(user.cores)},
               {std::to_string(user.gpus)},
               {joined(user.children)},
               {why_they_wait(user.waiting)}});
  return table.render(io);
}

std::string users_as_json(const AllUsers& users) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [name, user] : users) {
    nlohmann::ordered_json waiting = nlohmann::ordered_json::array();
    for (const auto& job : user.waiting)
      waiting.push_back({{"path", job.path}, {"reason", job.reason}});
    list.push_back({{"user", name},
                    {"running", user.running},
                    {"pending", user.pending},
                    {"cores", user.cores},
                    {"gpus", user.gpus},
                    {"children", user.children},
                    {"waiting", waiting}});
  }
  return nlohmann::ordered_json{{"users", list}}.dump(
             2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace

int verb_users(Invocation& call) {
  bool json = false;
  Parser parser("users", "who has what of an instance: jobs, cores, child instances");
  parser.instance(call)
      .json(json)
      .note(
          "Of the jobs that wait and run now; of child instances that wait, why. In an instance "
          "for several users each sees "
          "themselves, and operators see all.")
      .example("holon users", "the users of the instance here");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "users", client.error());
  if (call.instance.empty()) client->set_path("");  // not the caller's own below it
  AllUsers users;
  const auto all = client->each_page(msg::JobsRequest(),
                                     [&users](const std::vector<msg::JobRecord>& page, bool) {
                                       for (const auto& job : page) count(users, job);
                                       return true;
                                     });
  if (!all) return report(call, "users", all.error());
  call.io.out << (json ? users_as_json(users) : users_as_table(call.io, users));
  return kOk;
}

}  // namespace holon::cli
