// commands.hpp - what the page changes, it changes as a person would: a button runs a command of
// holon, whose words the page shows.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::web {

// The command lines that a request asks for, {"verb": "retry", "at": "/", "what": ["/7.3",
// "/7.5"]}: at most 64. Nothing in it can become an option. Errors: invalid_argument.
Result<std::vector<std::vector<std::string>>> read_commands(const std::string& json);

struct CommandEnd {
  bool good = true;
  std::string said;  // each command, and what it wrote
};

// Runs commands of a program, one after the other, at most a few at once.
class Commands {
 public:
  Commands(transport::Reactor& reactor, std::string program, std::string uri);
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // Errors: busy (too many run).
  Status run(std::vector<std::vector<std::string>> commands,
             std::function<void(CommandEnd)> on_end);

 private:
  struct Run {
    std::vector<std::vector<std::string>> commands;
    std::size_t at = 0;  // the one that runs
    CommandEnd end;
    std::function<void(CommandEnd)> on_end;
    transport::UniqueFd output;
    transport::Subscription child;
  };
  void start_next(std::uint64_t number);
  void ended(std::uint64_t number, int status);
  void read_output(Run& run);

  transport::Reactor& reactor_;
  std::string program_, uri_;
  std::map<std::uint64_t, Run> runs_;
  std::uint64_t next_ = 1;
};

}  // namespace holon::web
