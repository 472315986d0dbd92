// program.hpp - a policy written in Lua: docs/own-policy.md says what it may say.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "qmanager/policy/hooks.hpp"

namespace holon::policy {

inline constexpr std::int64_t kCallSteps = 100'000;    // of one call
inline constexpr std::int64_t kPassSteps = 2'000'000;  // of the calls of one pass ...
inline constexpr std::int64_t kPassStepsEach = 300;    // ... and so many for each waiting job
// A look at a node is cheap, and a large machine has many: a call of `score` has so many steps that
// the pass does not pay for, and a pass so many calls.
inline constexpr std::int64_t kScoreSteps = 40;
inline constexpr std::int64_t kPassScores = 25'000;
inline constexpr std::int64_t kAdmitSteps =
    5'000'000;                                       // of the calls of `admit` between two passes
inline constexpr std::size_t kMostText = 64u << 10;  // bytes of a file
inline constexpr int kMostTroubles = 10;             // in a row, until the policy is given up

// What a text says.
struct Description {
  struct Function {
    std::string name;
    int line = 0;
  };
  // A function that nobody asks, by a name that is nearly one of those that are asked.
  struct NearMiss {
    std::string name;
    int line = 0;
    std::string meant;
  };
  std::string base;
  std::vector<Function> functions;
  std::vector<NearMiss> near_misses;
};
// Errors: as of compile().
Result<Description> describe(const std::string& name, std::string_view text);

// Reads and runs the text once, to see what it says. `name` is what the file is called in
// messages. Errors: invalid_argument with "NAME:LINE": the text, its `base`, a function that is
// misspelt or none.
Result<std::shared_ptr<const qmanager::PolicyProgram>> compile(const std::string& name,
                                                               std::string_view text);

}  // namespace holon::policy
