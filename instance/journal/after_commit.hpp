// after_commit.hpp - what a turn of the broker's loop may only do once its journal transaction is
// on disk: answers, starts, signals.
#pragma once
#include <functional>
#include <utility>
#include <vector>

namespace holon::instance {

class AfterCommit {
 public:
  void add(std::function<void()> effect) { effects_.push_back(std::move(effect)); }
  bool empty() const { return effects_.empty(); }
  // In the order they were added. What is added meanwhile waits for the next commit.
  void run() {
    for (auto& effect : std::exchange(effects_, {})) effect();
  }

 private:
  std::vector<std::function<void()>> effects_;
};

}  // namespace holon::instance
