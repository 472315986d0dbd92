#include "pmi/server.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

namespace holon::pmi {
namespace {

constexpr const char* kMapping = "PMI_process_mapping";
// The key by which MPICH's tasks tell each other their addresses. Every task has put one before the
// last fence of MPI_Init, and none puts anything after it.
constexpr std::string_view kAddress = "-allgather-shm-";
constexpr std::size_t kMaxStored = 64 << 20;  // bytes that the tasks of one job may leave here

}  // namespace

Server::Server(Job job, std::vector<std::uint64_t> ranks) : job_(std::move(job)) {
  for (const auto rank : ranks) {
    tasks_.emplace_back();
    tasks_.back().rank = rank;
  }
  if (job_.mapping.size() >= kMaxValue) job_.mapping.clear();  // a task finds its nodes without
  if (!job_.mapping.empty()) values_[kMapping] = job_.mapping;
}

Status Server::receive(std::size_t number, std::string_view bytes) {
  Task& task = tasks_[number];
  if (task.broken) return fail(Errc::protocol, "this task has sent something else than PMI");
  task.input.append(bytes);
  for (;;) {
    auto message = task.version == 2 ? take_frame(task.input) : take_line(task.input);
    if (!message) {
      task.broken = true;
      task.input.clear();
      return tl::unexpected(message.error());
    }
    if (!*message) return {};
    handle(task, **message);
  }
}

std::string Server::take_output(std::size_t task) {
  return std::exchange(tasks_[task].output, {});
}

void Server::handle(Task& task, const Message& message) {
  task.thread = message.at("thrid");
  if (task.version == 0) return hello(task, message);
  return task.version == 1 ? handle_one(task, message) : handle_two(task, message);
}

void Server::hello(Task& task, const Message& message) {
  const auto wanted = message.at("pmi_version");
  const bool known = message.command == "init" &&
                     (wanted == "1" || (wanted == "2" && job_.versions == Versions::both));
  task.version = known && wanted == "2" ? 2 : 1;
  task.output += write_line({"response_to_init",
                             {{"pmi_version", std::to_string(task.version)},
                              {"pmi_subversion", task.version == 1 ? "1" : "0"},
                              {"rc", known ? "0" : "-1"}}});
  if (!known) task.version = 0;
  if (known) task.finalized = false;
}

void Server::say_goodbye(Task& task) {
  answer(task, task.version == 1 ? "finalize_ack" : "finalize-response",
         task.version == 1 ? Pairs{} : Pairs{{"rc", "0"}});
  task.finalized = true;
  task.version = 0;
}

void Server::answer(Task& task, std::string command, Pairs fields) {
  if (task.version == 1) {
    task.output += write_line({std::move(command), std::move(fields)});
    return;
  }
  if (!task.thread.empty()) fields.insert(fields.begin(), {"thrid", task.thread});
  task.output += write_frame({std::move(command), std::move(fields)});
}

std::string Server::value_of(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::string() : found->second;
}

void Server::handle_one(Task& task, const Message& message) {
  const std::string& command = message.command;
  if (command == "get_maxes")
    return answer(task, "maxes",
                  {{"kvsname_max", std::to_string(kMaxName)},
                   {"keylen_max", std::to_string(kMaxKey)},
                   {"vallen_max", std::to_string(kMaxValue)}});
  if (command == "get_appnum") return answer(task, "appnum", {{"appnum", "0"}});
  if (command == "get_my_kvsname") return answer(task, "my_kvsname", {{"kvsname", job_.id}});
  if (command == "get_universe_size")
    return answer(task, "universe_size", {{"size", std::to_string(job_.size)}});
  if (command == "put") return put(task, message, "put_result");
  if (command == "get") return get_one(task, message);
  if (command == "barrier_in") return enter_fence(task);
  if (command == "finalize") return say_goodbye(task);
  if (command == "abort")
    return on_abort(task.rank, std::atoi(std::string(message.at("exitcode")).c_str()),
                    std::string(message.at("error_msg")));
  // Refuses spawning and name service: MPI programs get an error from MPI_Comm_spawn.
  answer(task, command + "_result", {{"rc", "-1"}, {"msg", "not_supported"}});
}

void Server::get_one(Task& task, const Message& message) {
  const std::string value = value_of(std::string(message.at("key")));
  if (message.at("kvsname") != job_.id || value.empty())
    return answer(task, "get_result", {{"rc", "-1"}, {"msg", "no_such_key"}, {"value", "unknown"}});
  answer(task, "get_result", {{"rc", "0"}, {"msg", "success"}, {"value", value}});
}

bool Server::fits(const std::string& key, const std::string& value) const {
  return is_word(key) && !value.empty() && key.size() <= kMaxKey && value.size() <= kMaxValue &&
         value.find('\n') == value.npos && stored_ < kMaxStored;
}

void Server::put(Task& task, const Message& message, const std::string& reply) {
  const std::string key(message.at("key")), value(message.at("value"));
  // The pair counts twice: for the other nodes, and for tasks that ask here.
  if (!fits(key, value) || !keep(2 * size_of(key, value)))
    return answer(task, reply,
                  {{"rc", "-1"}, {task.version == 1 ? "msg" : "errmsg", "too_long_or_too_many"}});
  stored_ += key.size() + value.size();
  store(key, value);
  put_.emplace_back(key, value);
  answer(task, reply,
         task.version == 1 ? Pairs{{"rc", "0"}, {"msg", "success"}} : Pairs{{"rc", "0"}});
}

bool Server::keep(std::size_t more) {
  if (!may_keep(kept_ + more)) return false;
  kept_ += more;
  return true;
}

// Replaces an earlier value, whose room is free again.
void Server::store(const std::string& key, const std::string& value) {
  const auto [at, is_new] = values_.try_emplace(key, value);
  if (is_new) return;
  kept_ -= size_of(key, at->second);
  at->second = value;
}

// Each task comes once. One that has ended will not come; the job ends by its exit code then.
void Server::enter_fence(Task& task) {
  if (std::exchange(task.in_fence, true)) return;
  const bool all =
      std::all_of(tasks_.begin(), tasks_.end(), [](const Task& one) { return one.in_fence; });
  if (!all) return;
  for (const auto& [key, value] : put_) kept_ -= size_of(key, value);
  may_keep(kept_);
  on_fence(std::exchange(put_, {}));
}

void Server::release(const Pairs& others) {
  for (const auto& [key, value] : others) {
    kept_ += size_of(key, value);
    store(key, value);
  }
  may_keep(kept_);
  const auto address = values_.lower_bound(std::string(kAddress));
  has_addresses_ = address != values_.end() && address->first.starts_with(kAddress);
  for (Task& task : tasks_)
    if (std::exchange(task.in_fence, false) && !std::exchange(task.has_left, false))
      answer_fence(task);
}

void Server::answer_fence(Task& task) {
  if (task.version == 1)
    answer(task, "barrier_out", {});
  else
    answer(task, "kvs-fence-response", {{"rc", "0"}});
}

bool Server::waits_to_leave() const {
  return has_addresses_ && put_.empty() &&
         std::any_of(tasks_.begin(), tasks_.end(),
                     [](const Task& one) { return one.in_fence && !one.has_left; });
}

void Server::let_leave() {
  for (Task& task : tasks_)
    if (task.in_fence && !std::exchange(task.has_left, true)) answer_fence(task);
}

void Server::handle_two(Task& task, const Message& message) {
  const std::string& command = message.command;
  if (command == "fullinit")
    return answer(task, "fullinit-response",
                  {{"pmi-version", "2"},
                   {"pmi-subversion", "0"},
                   {"rank", std::to_string(task.rank)},
                   {"size", std::to_string(job_.size)},
                   {"appnum", "0"},
                   {"debugged", "FALSE"},
                   {"pmiverbose", "FALSE"},
                   {"rc", "0"}});
  if (command == "job-getid")
    return answer(task, "job-getid-response", {{"jobid", job_.id}, {"rc", "0"}});
  if (command == "kvs-put") return put(task, message, "kvs-put-response");
  if (command == "kvs-get") return get_two(task, message);
  if (command == "kvs-fence") return enter_fence(task);
  if (command == "info-putnodeattr" || command == "info-getnodeattr")
    return node_attribute(task, message);
  if (command == "info-getjobattr") return job_attribute(task, message);
  if (command == "finalize") return say_goodbye(task);
  if (command == "abort") return on_abort(task.rank, 1, std::string(message.at("msg")));
  answer(task, command + "-response", {{"rc", "-1"}, {"errmsg", "not supported"}});
}

void Server::get_two(Task& task, const Message& message) {
  const auto job = message.at("jobid");
  const std::string value = value_of(std::string(message.at("key")));
  const bool found = (job.empty() || job == job_.id) && !value.empty();
  Pairs fields = {{"rc", "0"}, {"flag", found ? "TRUE" : "FALSE"}};
  if (found) fields.emplace_back("value", value);
  answer(task, "kvs-get-response", std::move(fields));
}

// Tasks of one node tell each other attributes; a waiting task is answered when its one is there.
void Server::node_attribute(Task& task, const Message& message) {
  const std::string key(message.at("key"));
  const auto tell = [&](Task& one) {
    const auto found = node_values_.find(key);
    const bool is_there = found != node_values_.end();
    Pairs fields = {{"flag", is_there ? "TRUE" : "FALSE"}};
    if (is_there) fields.emplace_back("value", found->second);
    fields.emplace_back("rc", "0");
    answer(one, "info-getnodeattr-response", std::move(fields));
  };
  if (message.command == "info-getnodeattr") {
    if (message.at("wait") == "TRUE" && !node_values_.contains(key))
      task.waits_for = key;
    else
      tell(task);
    return;
  }
  const std::string value(message.at("value"));
  if (!fits(key, value) || !keep(size_of(key, value)))
    return answer(task, "info-putnodeattr-response",
                  {{"rc", "-1"}, {"errmsg", "too_long_or_too_many"}});
  stored_ += key.size() + value.size();
  const auto [at, is_new] = node_values_.try_emplace(key, value);
  if (!is_new) kept_ -= size_of(key, std::exchange(at->second, value));
  answer(task, "info-putnodeattr-response", {{"rc", "0"}});
  for (Task& one : tasks_)
    if (one.waits_for == key && !std::exchange(one.waits_for, {}).empty()) tell(one);
}

void Server::job_attribute(Task& task, const Message& message) {
  const std::string key(message.at("key"));
  std::string value;
  if (key == kMapping) value = job_.mapping;
  if (key == "universeSize") value = std::to_string(job_.size);
  Pairs fields = {{"flag", value.empty() ? "FALSE" : "TRUE"}};
  if (!value.empty()) fields.emplace_back("value", value);
  fields.emplace_back("rc", "0");
  answer(task, "info-getjobattr-response", std::move(fields));
}

// Blocks are (first node, nodes, tasks of each), filled one after the other.
std::string process_mapping_of(const std::vector<std::uint32_t>& nodes) {
  struct Block {
    std::size_t first, nodes, tasks;
  };
  std::vector<Block> blocks;
  for (std::size_t rank = 0; rank < nodes.size();) {
    std::size_t end = rank;
    while (end < nodes.size() && nodes[end] == nodes[rank]) ++end;
    const std::size_t tasks = end - rank;
    if (!blocks.empty() && blocks.back().tasks == tasks &&
        blocks.back().first + blocks.back().nodes == nodes[rank])
      ++blocks.back().nodes;
    else
      blocks.push_back({nodes[rank], 1, tasks});
    rank = end;
  }
  std::string text;
  for (const Block& block : blocks)
    text += fmt::format(",({},{},{})", block.first, block.nodes, block.tasks);
  return text.empty() ? "" : "(vector" + text + ")";
}

std::string process_mapping(const std::vector<std::uint64_t>& counts) {
  if (counts.empty()) return "";
  std::string text = "(vector";
  for (std::size_t first = 0; first < counts.size();) {
    std::size_t end = first;
    while (end < counts.size() && counts[end] == counts[first]) ++end;
    text += fmt::format(",({},{},{})", first, end - first, counts[first]);
    first = end;
  }
  return text + ")";
}

}  // namespace holon::pmi
