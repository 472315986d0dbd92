// user.hpp - a user of a world, who submits, cancels and looks: a client of every instance, in a
// process that is never killed.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/rpc.hpp"
#include "world/seams/process.hpp"

namespace holon::world {

class User final : public Process {
 public:
  explicit User(Machine& machine, const std::string& name = "user");
  ~User() override;

  // `path`: the instance that the request is for; "": the one that listens there.
  void ask(const std::string& uri, const std::string& topic, std::string payload,
           std::function<void(const Result<std::string>&)> done, const std::string& path = "");
  void leave(const std::string& uri);

 private:
  std::map<std::string, std::unique_ptr<transport::Client>> clients_;
};

// A process that says hello as if it were the child, or the agent, once; `taken` is called if it
// was believed.
class Ghost final : public Process {
 public:
  struct Words {
    std::string uri, topic, hello;
  };
  Ghost(Machine& machine, pid_t pid, const Words& words, std::function<void()> taken);
  ~Ghost() override;

 private:
  std::unique_ptr<transport::Client> client_;
};

}  // namespace holon::world
