// history.hpp - what has happened in a world, one line each, and what must not have happened.
#pragma once
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "world/seams/timeline.hpp"

namespace holon::world {

class History {
 public:
  // `dir`: where the world's files are this time; its name is left out.
  History(const Timeline& timeline, std::string dir) : timeline_(timeline), dir_(std::move(dir)) {}

  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(fmt::format("{:>13.6f} ", static_cast<double>(timeline_.now()) / kSecond) +
                     same_everywhere(fmt::format(format, std::forward<Args>(args)...)));
  }
  // Notes a violation; the first one ends the world.
  template <class... Args>
  void violation(fmt::format_string<Args...> format, Args&&... args) {
    const std::string what = same_everywhere(fmt::format(format, std::forward<Args>(args)...));
    note("VIOLATION {}", what);
    if (violation_.empty()) violation_ = what;
  }
  bool failed() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::string same_everywhere(std::string text) const {
    for (auto at = text.find(dir_); at != std::string::npos; at = text.find(dir_))
      text.erase(at, dir_.size());
    return text;
  }

  const Timeline& timeline_;
  std::string dir_;
  std::vector<std::string> lines_;
  std::string violation_;
};

}  // namespace holon::world
