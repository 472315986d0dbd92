// sandbox.hpp - a Lua state in which text that nobody trusts can run: bounded in memory, in steps
// (also inside library functions), without files, processes, network, clock, addresses.
//
// What is there: the language, and assert, error, ipairs, next, pairs, select, tonumber, tostring,
// type, and tables math, string, table. What is missing: load, pcall, coroutines, metatables, os,
// io, debug. Nothing can catch an error, so that a budget that is spent ends the call. Steps
// stand for some ten nanoseconds each: what takes longer than an instruction, as a new block or
// text does, a number that is made a text, a comparison of long texts, or a look into a large
// table, counts as several. Same calls, same answers: tables are walked in the order of their keys,
// random numbers come from a seed that is given. Not thread-safe: one owner.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "policy/large_tables.hpp"
#include "policy/line_costs.hpp"

struct lua_State;

namespace holon::policy {

struct SandboxLimits {
  std::int64_t load_steps = 1'000'000;  // instructions, and as many of what libraries do
  std::size_t memory = 8u << 20;        // bytes
  std::size_t text = 64u << 10;         // bytes of one string
  std::size_t keys = 16u << 10;         // of one table, beside its list; a power of two
};

class Sandbox {
 public:
  // `limits` hold for all calls. Errors: system (no memory).
  static Result<std::unique_ptr<Sandbox>> create(const SandboxLimits& limits = {});
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Runs the text of a file, `name` in messages. Errors: invalid_argument with "NAME:LINE".
  Status run(std::string_view text, const std::string& name);
  // Runs a text that makes no functions.
  Status run_once(std::string_view text, const std::string& name);

  // Calls the function that lies below `arguments` values on the stack, as lua_pcall does. Errors:
  // invalid_argument, with the failure and its place, if known; the stack is then as it was before
  // the function was pushed.
  Status call(int arguments, int results, std::int64_t steps);
  // Steps of the last call.
  std::int64_t steps_taken() const { return given_ - steps_left_; }

  // Counts steps from here on as in any other pass, whatever was done before.
  void begin_pass(std::uint64_t seed);
  void seed(std::uint64_t seed) { random_ = seed; }
  std::uint64_t random();
  // True if random numbers were asked for since it was set to false.
  bool used_random = false;

  lua_State* lua() const { return lua_; }
  // The sandbox of a state.
  static Sandbox& of(lua_State* lua);

  // ---- for functions that Lua calls

  // Takes steps; raises an error of Lua when there are none left, with the line of the function at
  // that level of the stack.
  void charge(lua_State* lua, std::int64_t steps, int level = 1);
  // The steps of an instruction that may compare texts: it takes as long as the longest text made
  // here lets it.
  std::int64_t weight() const { return 1 + static_cast<std::int64_t>(longest_made_ / 1024); }
  // Charges for the entry into a line that makes texts of numbers (line_costs.hpp), or looks into
  // tables (table_looks.hpp).
  void charge_line(lua_State* lua, int line);
  // Steps of one look into a table by a key: as many as the keys of the largest one let it take,
  // since all may fall together.
  std::int64_t look_steps() const {
    return static_cast<std::int64_t>(tables_.most() / kKeysPerStep);
  }
  // True once after the largest table has grown: the charge for the running line was too little.
  bool has_grown();
  // Pushes a text of the host's, however long: the policy has not made it.
  void push_shown(std::string_view text);
  std::int64_t& steps_left() { return steps_left_; }
  std::size_t longest_text() const { return limits_.text; }

 private:
  explicit Sandbox(const SandboxLimits& limits) : limits_(limits) {}
  static constexpr std::size_t kFewKeys = 32;     // in a table into which a look costs no steps
  static constexpr std::size_t kKeysPerStep = 8;  // keys that a look passes by

  Status run_text(std::string_view text, const std::string& name, bool is_run_again);
  void count_steps();
  bool is_too_large(std::size_t keys) const { return bounded_ && keys > limits_.keys; }
  static void* allocate(void* self, void* block, std::size_t old_size, std::size_t new_size);

  SandboxLimits limits_;
  lua_State* lua_ = nullptr;
  std::size_t used_ = 0;
  std::int64_t given_ = 0;
  std::int64_t steps_left_ = 0;
  bool bounded_ = false;  // Lua works: what the host puts there meanwhile must not fail
  bool showing_ = false;  // a text of the host's
  std::size_t longest_made_ = 0;
  std::vector<LineCost> line_costs_;  // of all that was run
  std::vector<std::int64_t> looks_;   // of these lines
  LargeTables tables_;                // with more than a few keys
  bool has_grown_ = false;
  std::uint64_t random_ = 0;
};

}  // namespace holon::policy
