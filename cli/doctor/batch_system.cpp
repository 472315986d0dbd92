#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <ctime>
#include <future>
#include <vector>

#include "batch/provision.hpp"
#include "batch/step.hpp"
#include "batch/time_left.hpp"
#include "cli/doctor/ask.hpp"
#include "cli/doctor/finding.hpp"
#include "cli/show/units.hpp"
#include "config/config.hpp"
#include "instance/assembly/rendezvous.hpp"
#include "instance/basics/surroundings.hpp"

namespace holon::cli {
namespace {

using batch::Allocation;
using State = Finding::State;

constexpr Duration kAnswerPatience = 10'000;

Finding job(const Allocation& allocation) {
  if (allocation.system == batch::System::none)
    return {"batch system", State::ok, "none: an instance would have this machine", ""};
  std::string found = title_of(allocation.system);
  if (!allocation.job.empty()) found += " job " + allocation.job;
  if (!allocation.job_name.empty()) found += fmt::format(" ({})", allocation.job_name);
  if (!allocation.step.empty()) found += ", step " + allocation.step;
  return {"batch system", State::ok, found, ""};
}

void nodes(const Allocation& allocation, Findings& all) {
  if (allocation.nodes.empty()) return;
  const auto n = allocation.nodes.size();
  const std::string here = allocation.node_index ? fmt::format("this is {}", allocation.node)
                                                 : std::string("this host is none of them");
  std::string found = fmt::format("{} node{}, {}", n, n == 1 ? "" : "s", here);
  if (allocation.cpus_here > 0)
    found += fmt::format(", {} CPU{} granted here", allocation.cpus_here,
                         allocation.cpus_here == 1 ? "" : "s");
  if (!allocation.node_index)
    all.push_back({"nodes", State::warning, found,
                   fmt::format("an instance would have this host: start it on one of {}'s nodes",
                               title_of(allocation.system))});
  else if (n > 1)
    all.push_back({"nodes", State::ok, found + "; an instance has an agent on each", ""});
  else
    all.push_back({"nodes", State::ok, found, ""});
}

void place(const instance::Surroundings& around, const config::Config& config, Findings& all) {
  const auto trap = instance::one_of_several(around);
  const auto environment = batch::current_environment();
  if (trap && instance::can_meet(environment, around))
    all.push_back(
        {"task", State::ok,
         fmt::format("{}: with the others that {} has started it makes one instance; they meet {}",
                     around.allocation.place.variable, around.allocation.place.launcher,
                     instance::way_to_meet(environment, config)),
         ""});
  else if (trap)
    all.push_back({"task", State::failed,
                   fmt::format("{}: one of several tasks that {} has started",
                               around.allocation.place.variable, around.allocation.place.launcher),
                   trap->what.substr(trap->what.find(';') + 2)});
}

// Asks as `holon start` would; Slurm's variable is enough where its command is not there.
Finding walltime(const Allocation& allocation, const config::Config& config) {
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  auto left = known_time_left(allocation, now);
  const auto command = time_left_command(allocation);
  const auto answer =
      command.empty() ? fail(Errc::not_found, "nobody to ask") : ask(command, kAnswerPatience);
  if (answer) {
    const auto said = read_time_left(allocation, *answer, now);
    if (!said)
      return {"walltime", State::warning, to_string(said.error()),
              "holon start -t TIME gives the instance a limit of its own"};
    if (said->kind != batch::TimeLeft::Kind::unknown) left = *said;
  }
  switch (left.kind) {
    case batch::TimeLeft::Kind::unlimited:
      return {"walltime", State::ok, "unlimited", ""};
    case batch::TimeLeft::Kind::limited:
      if (left.left <= config.walltime_margin)
        return {"walltime", State::failed,
                fmt::format("{} left, less than batch.margin of {}", show_duration(left.left),
                            show_duration(config.walltime_margin)),
                "--conf batch.margin=5s, or a longer job"};
      return {"walltime", State::ok, show_duration(left.left) + " left", ""};
    default:
      break;
  }
  return {"walltime", State::warning,
          answer ? std::string("the batch system does not say") : to_string(answer.error()),
          "holon start -t TIME gives the instance a limit of its own"};
}

bool is_in_path(const std::string& program) {
  const char* const value = std::getenv("PATH");
  std::string path = value != nullptr ? value : "";
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find(':', at), path.size());
    if (access((path.substr(at, end - at) + "/" + program).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

// Checks the command that starts processes on other nodes.
void launcher(const Allocation& allocation, Findings& all) {
  if (allocation.nodes.size() < 2) return;
  const auto step = batch::step_on_nodes(allocation, {"holon"});
  if (!step) return;
  const std::string& program = step->commands[0][0];
  if (is_in_path(program))
    all.push_back({"launcher", State::ok, program, ""});
  else
    all.push_back(
        {"launcher", State::warning, program + " is not in PATH",
         fmt::format("other nodes are reached by it: put the folder of {}'s commands into PATH",
                     title_of(allocation.system))});
}

// Names, outside of any batch job, the batch systems that would take some. One that is installed
// and does not answer is not mentioned.
void provisioning(Findings& all) {
  constexpr struct {
    batch::System system;
    const char* submits;
    const char* verb;
  } kSystems[] = {{batch::System::slurm, "sbatch", "slurm"},
                  {batch::System::grid_engine, "qconf", "sge"},
                  {batch::System::pbs, "qselect", "pbs"}};
  const passwd* const user = getpwuid(geteuid());
  if (user == nullptr) return;
  // All systems are asked at once: some commands take long, and each may have to be waited for.
  const std::string name = user->pw_name;
  std::vector<std::future<bool>> answers;
  for (const auto& one : kSystems)
    answers.push_back(std::async(std::launch::async, [&one, &name] {
      if (!is_in_path(one.submits)) return false;
      const auto answer = ask(batch::list_command(one.system, name), kAnswerPatience);
      return answer && batch::read_listed(one.system, *answer);
    }));
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (answers[i].get())
      all.push_back({"provisioning", State::ok,
                     fmt::format("{} answers: holon provision {} gets nodes from it",
                                 batch::title_of(kSystems[i].system), kSystems[i].verb),
                     ""});
}

}  // namespace

const char* name_of(Finding::State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::warning:
      return "warning";
    default:
      return "failed";
  }
}

Findings look_at_batch_system(const instance::Surroundings& around, const config::Config& config) {
  const Allocation& allocation = around.allocation;
  Findings all = {job(allocation)};
  for (const auto& doubt : allocation.doubts)
    all.push_back(
        {"batch system", State::warning, doubt,
         "--conf batch.system=NAME says which one it is, batch.system=none that none counts"});
  nodes(allocation, all);
  place(around, config, all);
  const bool is_batch =
      allocation.system != batch::System::none && allocation.system != batch::System::holon;
  if (is_batch) all.push_back(walltime(allocation, config));
  launcher(allocation, all);
  if (allocation.system == batch::System::none) provisioning(all);
  return all;
}

}  // namespace holon::cli
