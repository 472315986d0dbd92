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
// Steps of a call of `score` that the pass does not pay for, in so many calls a pass: a look at a
// node is cheap, and a large machine has many.
inline constexpr std::int64_t kScoreSteps = 40;
inline constexpr std::int64_t kPassScores = 25'000;
inline constexpr std::int64_t kAdmitSteps =
    5'000'000;                                       // of the calls of `admit` between two passes
inline constexpr std::size_t kMostText = 64u << 10;  // bytes of a file
inline constexpr int kMostTroubles = 10;             // in a row, until the policy is given up

// The declarations of a text.
struct Description {
  struct Function {
    std::string name;
    int line = 0;
  };
  // A function that is never asked, by a name that is nearly that of one that is.
  struct NearMiss {
    std::string name;
    int line = 0;
    std::string meant;
  };
  std::string base;
  std::vector<Function> functions;
  std::vector<NearMiss> near_misses;
};
// Describes a text. Errors: those of compile().
Result<Description> describe(const std::string& name, std::string_view text);

// Reads and runs the text once, to see what it declares. `name` is the file's in messages. Errors:
// invalid_argument with "NAME:LINE": the text, its `base`, a function that is misspelt or no
// function.
Result<std::shared_ptr<const qmanager::PolicyProgram>> compile(const std::string& name,
                                                               std::string_view text);

}  // namespace holon::policy
