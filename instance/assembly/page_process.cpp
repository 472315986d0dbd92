#include "instance/assembly/page_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "instance/process/spawn.hpp"

namespace holon::instance {
namespace {

constexpr Duration kPagePatience = 3'000;  // from SIGTERM to SIGKILL
// Before another one is started. A page sees the end of its instance a moment before the supervisor
// does, and is not to begin again just then.
constexpr Duration kPagePause = 1'000;

}  // namespace

PageProcess::PageProcess(transport::Reactor& reactor, std::function<void(const std::string&)> say,
                         std::function<void()> on_gone)
    : reactor_(reactor), say_(std::move(say)), on_gone_(std::move(on_gone)) {}

void PageProcess::start(const std::string& binary, const std::string& state_dir) {
  binary_ = binary;
  file_ = state_dir + "/web.json";
  nowhere_.reset(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!nowhere_) return say_(std::string("the page: /dev/null: ") + std::strerror(errno));
  begin();
}

void PageProcess::begin() {
  // Ctrl-C at a terminal is for the initial program: the page has a group of its own.
  const auto child = spawn({.argv = {binary_, "web", "--address-file", file_},
                            .own_group = true,
                            .output = nowhere_.get()});
  if (!child) return say_("the page: " + to_string(child.error()));
  pid_ = *child;
  auto watch =
      reactor_.on_child(pid_, [this](const transport::ChildExit& exit) { ended(exit.status); });
  if (!watch) return give_up_unwatched(watch.error());
  watch_ = std::move(*watch);
}

// Ends a page of whose end nobody would hear; another one may be watched.
void PageProcess::give_up_unwatched(const Error& why) {
  say_("the page: " + to_string(why));
  kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  ended(status);
}

void PageProcess::ended(int status) {
  pid_ = 0;
  timer_.cancel();
  if (ends_) return on_gone_();
  const auto pause = guard_.crashed(reactor_.now());
  if (!pause) return say_("the page " + end_text(status) + " again and again; it is not served");
  timer_ = reactor_.after(kPagePause + *pause, [this] { begin(); });
}

void PageProcess::end() {
  ends_ = true;
  timer_.cancel();
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  timer_ = reactor_.after(kPagePatience, [this] { kill(pid_, SIGKILL); });
}

}  // namespace holon::instance
