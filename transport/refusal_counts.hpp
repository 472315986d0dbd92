// refusal_counts.hpp - which refusals are told of: the first of a source in a minute, so that
// nobody fills a disk or a memory by asking.
//
// A value without a clock. Not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.hpp"

namespace holon::transport {

class RefusalCounts {
 public:
  static constexpr std::size_t kMostSources = 1'000;

  // Counts a refusal to `source`. nullopt: a refusal within the last minute was told of, this one
  // is only counted. Else the number only counted since then. If kMostSources were refused
  // something within the last minute, `source` becomes "others". O(log sources), O(sources) where
  // that many are known.
  std::optional<std::uint64_t> tell(std::string& source, Time now) {
    if (!sources_.contains(source) && sources_.size() >= kMostSources) {
      std::erase_if(sources_, [now](const auto& known) {
        return distance(known.second.told, now) >= kQuiet;
      });
      if (sources_.size() >= kMostSources) source = "others";
    }
    const auto [at, is_fresh] = sources_.try_emplace(source);
    Source& known = at->second;
    if (!is_fresh && distance(known.told, now) < kQuiet) {
      ++known.untold;
      return std::nullopt;
    }
    const std::uint64_t untold = known.untold;
    known = {now, 0};
    return untold;
  }

 private:
  static constexpr Duration kQuiet = 60'000;  // ms between two of one source

  struct Source {
    Time told = 0;
    std::uint64_t untold = 0;
  };
  std::map<std::string, Source> sources_;
};

}  // namespace holon::transport
