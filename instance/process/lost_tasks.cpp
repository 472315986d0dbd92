#include "instance/process/lost_tasks.hpp"

#include <fmt/core.h>

namespace holon::instance {
namespace {

constexpr Duration kLookForTasksAgain = 5;
constexpr int kTellAfter = 2'000;  // looks

}  // namespace

void LostTasks::end(launch::Leftovers::What what) {
  leftovers_ = std::make_unique<launch::Leftovers>(std::move(what));
  looks_ = 0;
  look();
}

void LostTasks::end_adopted(std::string prefix, std::string cgroup,
                            std::function<std::vector<pid_t>()> spare) {
  launch::Leftovers::What what;
  what.prefix = std::move(prefix);
  what.cgroup = std::move(cgroup);
  what.adopted = true;
  what.spare = std::move(spare);
  end(std::move(what));
}

void LostTasks::when_gone(std::function<void()> then) {
  then_ = std::move(then);
  if (!leftovers_) std::exchange(then_, nullptr)();
}

// Two looks in a row make the answer; later ones only wait for processes to die.
void LostTasks::look() {
  if (leftovers_->end() || leftovers_->end()) {
    timer_.cancel();
    leftovers_.reset();
    if (then_) std::exchange(then_, nullptr)();
    return;
  }
  if (++looks_ % kTellAfter == 0)
    tell_(fmt::format("waits for {} to end, which an earlier run left behind",
                      leftovers_->example()));
  timer_ = reactor_.after(kLookForTasksAgain, [this] { look(); });
}

}  // namespace holon::instance
