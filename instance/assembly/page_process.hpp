// page_process.hpp - the live page of `holon start --web`: `holon web` as a process of the
// supervisor. An instance does not depend on it: when it cannot be kept alive, only the page is
// missing.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

#include "instance/process/crash_guard.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

class PageProcess {
 public:
  // `say`: tells people. `on_gone` is called when the process has ended behind end().
  PageProcess(transport::Reactor& reactor, std::function<void(const std::string&)> say,
              std::function<void()> on_gone);

  // Starts the page of the instance that HOLON_URI names. Its address is kept in web.json of
  // `state_dir`, so that a page that is started again has it, too; nobody else is told, as it has
  // the secret of the page.
  void start(const std::string& binary, const std::string& state_dir);
  // Ends it, and starts it no more.
  void end();
  pid_t pid() const { return pid_; }  // 0: there is none

 private:
  void begin();
  void give_up_unwatched(const Error& why);
  void ended(int status);

  transport::Reactor& reactor_;
  std::function<void(const std::string&)> say_;
  std::function<void()> on_gone_;
  std::string binary_, file_;
  transport::UniqueFd nowhere_;  // for what it writes
  pid_t pid_ = 0;
  bool ends_ = false;
  CrashGuard guard_;
  transport::Subscription watch_, timer_;
};

}  // namespace holon::instance
