// server.hpp - what the tasks of one job on one node ask of PMI, without any input or output: bytes
// in, bytes out.
//
// Whoever owns the descriptors hands in what came and writes what take_output() gives. A fence of
// all tasks is two steps, so that several nodes can serve one job: when the tasks of this node have
// all come, `on_fence` gets what they have put; release() lets them go on, with what those of the
// other nodes have put. On one node on_fence can call release() at once.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pmi/message.hpp"

namespace holon::pmi {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// The versions that a task may speak.
enum class Versions { one, both };

struct Job {
  std::string id;          // a word (is_word), shorter than kMaxName
  std::uint64_t size = 1;  // tasks on all nodes
  // The ranks that share a node, as MPICH reads it: "(vector,(first node,nodes,tasks on each))";
  // "": unknown.
  std::string mapping;
  Versions versions = Versions::both;
};

class Server {
 public:
  // `ranks`: those of the tasks on this node, in the order of the numbers below.
  Server(Job job, std::vector<std::uint64_t> ranks);

  std::function<void(Pairs)> on_fence = [](Pairs) {};
  // Called when a task gives up for all: its exit code, and its words.
  std::function<void(std::uint64_t rank, int code, std::string why)> on_abort =
      [](std::uint64_t, int, std::string) {};

  // May it keep so many bytes in all? Asked before it keeps more, and told when it keeps fewer.
  std::function<bool(std::size_t bytes)> may_keep = [](std::size_t) { return true; };
  std::size_t kept() const { return kept_; }
  // The bytes that a pair takes, as far as that can be said.
  static std::size_t size_of(const std::string& key, const std::string& value) {
    constexpr std::size_t kAround = 192;  // a node of a map, two strings
    return key.size() + value.size() + kAround;
  }

  // Takes bytes from local task `task` (0 to ranks - 1). Errors: protocol, after which the task is
  // not heard any more.
  Status receive(std::size_t task, std::string_view bytes);
  // The bytes to be written to the task.
  std::string take_output(std::size_t task);
  // Ends the fence that on_fence told of. `others`: the pairs of tasks on other nodes.
  void release(const Pairs& others);

  // Do tasks wait in the fence with which programs of MPICH end? Up to 4.1 its MPI_Finalize over
  // UCX waits there without answering other tasks, which still close their connections to it and
  // come to the fence only after that: neither can go on.
  bool waits_to_leave() const;
  // Lets those tasks go on without the others. They still count as having come to that fence.
  void let_leave();

  // Has it said goodbye? It may say hello again: a script can run one program after the other.
  bool is_finalized(std::size_t task) const { return tasks_[task].finalized; }
  // Has the task said hello and no goodbye? If it ends now, the others may wait for it for ever.
  bool is_waited_for(std::size_t task) const { return tasks_[task].version != 0; }

 private:
  struct Task {
    std::uint64_t rank = 0;
    int version = 0;  // 0: it has not said hello, or has said goodbye
    std::string input, output;
    std::string thread;  // of the current request, for PMI-2
    bool in_fence = false, finalized = false, broken = false;
    bool has_left = false;  // the fence it is in, before the others had come
    std::string waits_for;  // a node attribute
  };

  void handle(Task& task, const Message& message);
  void hello(Task& task, const Message& message);
  void handle_one(Task& task, const Message& message);
  void handle_two(Task& task, const Message& message);
  void get_one(Task& task, const Message& message);
  void get_two(Task& task, const Message& message);
  void node_attribute(Task& task, const Message& message);
  void job_attribute(Task& task, const Message& message);
  void put(Task& task, const Message& message, const std::string& answer);
  void enter_fence(Task& task);
  void answer_fence(Task& task);
  void say_goodbye(Task& task);
  bool fits(const std::string& key, const std::string& value) const;
  bool keep(std::size_t more);
  void store(const std::string& key, const std::string& value);
  void answer(Task& task, std::string command, Pairs fields);
  std::string value_of(const std::string& key) const;

  Job job_;
  std::vector<Task> tasks_;
  std::map<std::string, std::string> values_, node_values_;
  std::size_t stored_ = 0;      // bytes of all that was ever put here
  std::size_t kept_ = 0;        // bytes of memory that all of it takes
  Pairs put_;                   // since the last fence
  bool has_addresses_ = false;  // of MPICH's tasks, which were told each other's
};

// The mapping of `counts[i]` tasks, one after the other, on node i. "": no nodes.
std::string process_mapping(const std::vector<std::uint64_t>& counts);
// The mapping of tasks the i-th of which is on node nodes[i].
std::string process_mapping_of(const std::vector<std::uint32_t>& nodes);

}  // namespace holon::pmi
