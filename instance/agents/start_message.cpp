// Makes the message that starts a job's tasks on an agent: files, tasks, variables, limits.
#include <algorithm>

#include "instance/agents/agent_link.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

namespace lm = launch::msg;

void add_tasks(lm::Start& start, const std::vector<PlacedNode>& nodes) {
  for (const auto& node : nodes) {
    for (const auto& task : node.tasks)
      start.tasks.push_back(
          {static_cast<std::uint32_t>(task.rank), idset_text(task.cores), idset_text(task.gpus)});
    if (nodes.size() > 1) start.node_tasks.push_back(static_cast<std::uint32_t>(node.tasks.size()));
  }
  if (nodes.empty())
    for (std::uint32_t i = 0; i < start.ntasks; ++i) start.tasks.push_back({i, "", ""});
}

}  // namespace

void AgentLink::add_files(lm::Start& start, const ActiveJob& job) const {
  const auto files = jobs_.files_of(job);
  const std::size_t place = place_of(job.life, rank_);
  if (!is_led(job.life, rank_)) {
    start.input = files.input;
    start.input_tasks = job.submission->input_tasks;
  }
  // An agent of a child that comes and goes leaves nothing beside the user's files.
  const bool is_extra = grant_of_part(job) != nullptr;
  const auto file_for = [&](const std::string& file, const std::string& of_user) {
    return is_extra && !of_user.empty() ? "/dev/null" : file_of_part(file, place);
  };
  start.output = file_for(files.output, job.submission->output);
  start.error = file_for(files.error, job.submission->error);
  start.own_output = job.submission->output.empty();
  start.own_error = job.submission->error.empty();
  start.label = job.submission->label;
  if (!job.submission->output.empty() || !job.submission->error.empty()) return;
  start.output_limit = settings_.output_limit;
  // A job by itself keeps files of its own, which somebody may look at. So does a job that has run
  // before: its next attempt continues the files.
  const Submission& what = *job.submission;
  const bool is_one_of_many = what.wishes.array || what.count > 1 || !what.argv.empty();
  start.in_slot =
      is_one_of_many && !what.is_instance && job.life.retries == 0 && job.life.parts.size() < 2;
}

// A lone task has nobody to find, and a child instance is no task of several.
std::string AgentLink::wire_up_of(const Submission& what) const {
  const std::string& wanted = what.mpi.empty() ? settings_.mpi : what.mpi;
  if (what.is_instance || wanted == "none") return {};
  if (wanted != "auto") return wanted;
  if (what.ntasks <= 1) return {};
  return settings_.serves_users ? "pmi2" : wanted;  // no PMIx server is another user's
}

// What the process of this part of a child instance has to know of the others. A child on one node
// of several may get others later (grants/); users' instances do not.
ChildPlace AgentLink::place_in(const ActiveJob& job, const std::vector<PlacedNode>& nodes) const {
  ChildPlace place;
  place.is_one_machine = settings_.is_one_machine;
  const auto host_of = [&](std::uint32_t rank) {
    const auto its = part_for(ground_.nodes_of_agents, nodes, rank).nodes;
    return its.empty() ? std::string() : its.front().host;
  };
  if (grant_of_part(job) != nullptr) {
    place.hosts = {job.life.place.nodelist, host_of(rank_)};
    place.index = 1;
    place.is_by_name = true;
    return place;
  }
  place.index = place_of(job.life, rank_);
  const bool is_alone = job.life.parts.size() < 2;
  if (is_alone && (settings_.serves_users || ground_.nodes_of_agents.agents().size() < 2))
    return place;
  for (const Part& part : job.life.parts)
    if (const auto host = host_of(part.rank); !host.empty()) place.hosts.push_back(host);
  if (place.index >= place.hosts.size()) place.hosts.clear();
  return place;
}

// The grant that has brought the node of this part of a child; nullptr: it is the child's own.
const ActiveJob* AgentLink::grant_of_part(const ActiveJob& job) const {
  for (const event::GrantExtend& extra : job.life.extra)
    if (std::find(extra.ranks.begin(), extra.ranks.end(), rank_) != extra.ranks.end())
      return jobs_.find(JobId(extra.grant));
  return nullptr;
}

lm::Start AgentLink::start_message(const ActiveJob& job, std::uint32_t program) const {
  const auto& what = *job.submission;
  const ActiveJob* const grant = grant_of_part(job);
  const bool is_extra = grant != nullptr && grant->allocation.has_value();
  auto nodes = nodes_of(ground_.graph, is_extra ? *grant->allocation : *job.allocation);
  place_tasks(nodes, tasks_of(job), what.distribution, slot_shape(what));
  const auto place = static_cast<std::uint32_t>(place_of(job.life, rank_));
  const bool led = is_led(job.life, rank_);
  lm::Start start;
  start.job = job.id.value();
  start.attempt = job.life.retries;
  start.truncate = job.life.retries == 0 && grant == nullptr;
  start.path = jobs_.path_of(job.id);
  start.program = program;
  start.ntasks = static_cast<std::uint32_t>(tasks_of(job));
  start.nnodes = static_cast<std::uint32_t>(std::max<std::size_t>(1, nodes.size()));
  start.nodelist = is_extra ? grant->life.place.nodelist : job.life.place.nodelist;
  start.bind = settings_.bind;
  auto part_tasks = tasks_by_part(ground_.nodes_of_agents, nodes);
  const PlacedPart part = part_for(ground_.nodes_of_agents, nodes, rank_);
  start.node_index = static_cast<std::uint32_t>(part.first);
  if (what.is_instance)
    start.tasks.push_back({place, "", ""});  // all of the job's cores
  else
    add_tasks(start, part.nodes);
  if (part.nodes.size() == 1) {
    start.cores = idset_text(part.nodes.front().cores);
    start.gpus = idset_text(part.nodes.front().gpus);
  }
  start.slurm_names = what.slurm_names;
  start.hides_gpus = !ground_.graph.by_type("gpu").empty();
  add_files(start, job);
  if (job.life.expiration != 0 && !led)
    start.limit = std::max<Duration>(1, job.life.expiration - job.life.t_alloc);
  start.mpi = wire_up_of(what);
  if (!led) {
    start.warn_signal = what.warn_signal;
    start.warn_before = what.warn_before;
  }
  start.rlimits = what.rlimits;
  start.file_mask = what.file_mask;
  if (settings_.keep_memory && !what.is_instance)
    start.memory = what.wishes.memory * static_cast<std::int64_t>(start.tasks.size());
  if (!what.is_instance) {
    start.prolog = settings_.prolog;
    start.epilog = settings_.epilog;
    start.hook_timeout = settings_.hook_timeout;
  }
  start.kill_on_bad_exit = what.kill_on_bad_exit;
  if (!start.mpi.empty() && job.life.parts.size() > 1) {
    start.part = place;
    start.part_tasks = std::move(part_tasks);
    if (what.distribution == Distribution::cyclic) start.dealt = tasks_by_node(nodes);
  }
  start.grace = what.is_instance ? settings_.instance_grace : settings_.grace;
  if (settings_.serves_users) start.user = job.life.user;
  start.env = array_variables(what, job.id);
  start.env["HOLON_URI"] = settings_.uri;
  start.env["HOLON_PE"] = job.life.environment;
  start.start_by = start_by(job);
  if (const auto epoch = settings_.grant_epoch(); epoch > 0)
    start.env["HOLON_GRANT_EPOCH"] = std::to_string(epoch);
  if (what.is_instance) {
    start.secrets = {{"HOLON_PARENT_URI", settings_.uri}, {"HOLON_TOKEN", settings_.token(job.id)}};
    if (what.wishes.goes_on) start.secrets["HOLON_GOES_ON"] = "1";
    // Another user's child keeps its directory with that user's instances.
    if (!settings_.serves_users)
      start.secrets["HOLON_STATE_DIR"] =
          settings_.state_dir + "/children/" + std::to_string(job.id.value());
    start.secrets.merge(secrets_of(place_in(job, nodes)));
  }
  return start;
}

}  // namespace holon::instance
