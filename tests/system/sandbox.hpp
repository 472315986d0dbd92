// sandbox.hpp - real processes for a test, and the proof that nothing is left of them.
//
// A Sandbox is a folder of its own and a mark in the environment that every process started from it
// inherits. When it ends, no process with that mark may live and no runtime directory may be left;
// what is found is reported as a failure and ended by pid.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace holon::system_test {

struct Ran {
  int code = -1;  // 128+N when signal N ended it
  std::string out;
  std::string err;
};

// A process that goes on beside the test: input and output are pipes, its end is waited for.
class Process {
 public:
  Process(std::vector<std::string> command, const std::map<std::string, std::string>& environment,
          const std::string& folder);
  ~Process();
  Process(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(Process&&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // The next line of its standard output, or error; empty at the end of it.
  std::string read_line();
  std::string read_error_line();
  void close_input();
  void signal(int number) const;
  // Waits for its end and returns all it wrote (what was read before excepted). Kills it, and
  // fails the test, after kPatience.
  Ran finish();

 private:
  bool fill(int timeout_ms);
  std::string take_line(std::string& text, const int& fd);

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
  std::string out_text_, err_text_;
};

class Sandbox {
 public:
  Sandbox();
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  const std::string& folder() const { return folder_; }
  std::map<std::string, std::string>& environment() { return environment_; }
  // A file in the folder; its absolute name.
  std::string write_file(const std::string& name, const std::string& text, bool executable = false);
  std::string read_file(const std::string& name) const;

  // `holon` with these words.
  Process start(const std::vector<std::string>& words);
  Ran run(const std::vector<std::string>& words);
  // The same, and the test fails unless it exits with 0; its standard output, or that as JSON.
  std::string ok(const std::vector<std::string>& words);
  nlohmann::json json(std::vector<std::string> words);

  // Living processes with this sandbox's mark whose command line contains all of `words`.
  std::vector<pid_t> processes(const std::vector<std::string>& words = {}) const;

  // Of a sandbox that the tests of a suite share: as it is now each of them is to find it.
  void keep();
  // Takes away the files and variables that came since. Processes that came and are still there
  // have failed the test; `passing`: those with this word are about to end by themselves.
  void go_back(const std::string& passing = "");

 private:
  std::set<std::string> names() const;  // in the folder, and in that for runtime directories

  std::string folder_;
  std::string mark_;
  std::map<std::string, std::string> environment_;
  std::map<std::string, std::string> kept_environment_;
  std::set<std::string> kept_names_;
  std::set<pid_t> kept_processes_;
};

// The options of an instance of one node with two cores.
inline const std::vector<std::string> kTwoCores = {"--resources", "node=1/core=2"};

// An instance that lives as long as this object, or as the test: its initial program reads from a
// pipe whose other end the test holds. Its runtime directory is the only one of the sandbox, so
// that commands find it by themselves.
class Instance {
 public:
  Instance(Sandbox& sandbox, std::vector<std::string> options);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::string& uri() const { return uri_; }
  // Ends it and returns what `holon start` came back with.
  Ran end();

 private:
  Sandbox& sandbox_;
  Process process_;
  std::string uri_;
  bool ended_ = false;
};

// The command line of a process, its words separated by blanks; empty if it is gone.
std::string command_line(pid_t pid);
bool alive(pid_t pid);
pid_t child_of(pid_t pid);  // the first of its children; 0: it has none

// Asks again and again until it is so, for a minute at most; with a pause between, in which what is
// waited for may use the processor.
bool eventually(const std::function<bool()>& is_so);

}  // namespace holon::system_test
