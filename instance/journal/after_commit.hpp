// after_commit.hpp - effects that a turn of the broker's loop may have only once its journal
// transaction is on disk: answers, starts, signals.
#pragma once
#include <functional>
#include <utility>
#include <vector>

namespace holon::instance {

class AfterCommit {
 public:
  void add(std::function<void()> effect) { effects_.push_back(std::move(effect)); }
  bool empty() const { return effects_.empty(); }
  // Runs the effects in the order they were added. Those added meanwhile wait for the next commit.
  void run() {
    for (auto& effect : std::exchange(effects_, {})) effect();
  }

 private:
  std::vector<std::function<void()>> effects_;
};

}  // namespace holon::instance
