#include "policy/sandbox.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <lua.hpp>
#include <utility>

#include "base/text/printable.hpp"
#include "policy/library.hpp"
#include "policy/table_looks.hpp"

namespace holon::policy {

namespace {

// Instructions between two looks at the budget. The count goes on from call to call, so that a
// thousand calls of ten instructions take as many steps as one of ten thousand.
constexpr int kStepsPerLook = 100;
constexpr std::size_t kLongestMessage = 300;

// The sandbox of a state, kept in the state's extra space.
Sandbox*& owner_of(lua_State* lua) {
  return *static_cast<Sandbox**>(lua_getextraspace(lua));
}

// The function that runs is at level 0 for a hook, at level 1 for a function that it has called.
[[noreturn]] void raise_spent(lua_State* lua, int level, std::int64_t given) {
  luaL_where(lua, level);
  lua_pushfstring(lua, "more than %d steps in one call", static_cast<int>(given));
  lua_concat(lua, 2);
  lua_error(lua);
  __builtin_unreachable();
}

// Sets bounds for as long as it lives.
class Bounds {
 public:
  explicit Bounds(bool& bounded) : bounded_(bounded), before_(std::exchange(bounded, true)) {}
  Bounds(const Bounds&) = delete;
  Bounds& operator=(const Bounds&) = delete;
  ~Bounds() { bounded_ = before_; }

 private:
  bool& bounded_;
  bool before_;
};

void look(lua_State* lua, lua_Debug* event) {
  Sandbox& sandbox = Sandbox::of(lua);
  if (event->event == LUA_HOOKLINE)
    sandbox.charge_line(lua, event->currentline);
  else
    sandbox.charge(lua, kStepsPerLook * sandbox.weight(), 0);
  if (!sandbox.has_grown()) return;
  lua_getinfo(lua, "l", event);
  sandbox.charge_line(lua, event->currentline);
}

// The keys that this block has room for if it is the hash part of a table (lobject.h): a power of
// two of nodes. 0: it is no such part, or has room for few.
std::size_t keys_of(std::size_t size, std::size_t few) {
  constexpr std::size_t kNode = 24;
  const std::size_t keys = size / kNode;
  return size % kNode == 0 && keys > few && (keys & (keys - 1)) == 0 ? keys : 0;
}

int append(lua_State*, const void* bytes, std::size_t size, void* to) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
  return 0;
}

// Takes the message off the stack: a line of text, whatever bytes are in it.
std::string pop_message(lua_State* lua) {
  std::string message;
  if (lua_type(lua, -1) == LUA_TSTRING)
    message.assign(lua_tostring(lua, -1),
                   std::min<std::size_t>(lua_rawlen(lua, -1), kLongestMessage));
  else
    message = fmt::format("an error without words (a {})", luaL_typename(lua, -1));
  lua_pop(lua, 1);
  return printable(message);
}

}  // namespace

// Lua passes the purpose of a new block in place of an old size (lua_Alloc).
void* Sandbox::allocate(void* self, void* block, std::size_t old_size, std::size_t new_size) {
  auto& sandbox = *static_cast<Sandbox*>(self);
  const std::size_t before = block == nullptr ? 0 : old_size;
  if (keys_of(before, kFewKeys) != 0) sandbox.tables_.remove(block);
  if (new_size == 0) {
    sandbox.used_ -= before;
    std::free(block);
    return nullptr;
  }
  constexpr std::size_t kHeader = 64;
  constexpr std::int64_t kStepsPerBlock = 5;
  const bool text = block == nullptr && old_size == LUA_TSTRING;
  const bool more = sandbox.bounded_ && new_size > before;
  const std::size_t bytes_per_step = text ? 16 : 32;
  // The cost of blocks in a row is seen at the next look at the budget, at the latest.
  if (more)
    sandbox.steps_left_ -=
        kStepsPerBlock + static_cast<std::int64_t>((new_size - before) / bytes_per_step);
  if (text && more && !sandbox.showing_)
    sandbox.longest_made_ = std::max(sandbox.longest_made_, new_size);
  if (more && (sandbox.used_ - before + new_size > sandbox.limits_.memory ||
               (text && new_size > sandbox.limits_.text + kHeader)))
    return nullptr;
  const std::size_t keys =
      block == nullptr && old_size == 0 ? keys_of(new_size, kFewKeys) : std::size_t{0};
  if (sandbox.is_too_large(keys)) return nullptr;
  void* const moved = std::realloc(block, new_size);
  if (moved != nullptr) sandbox.used_ = sandbox.used_ - before + new_size;
  if (moved != nullptr && keys != 0 && sandbox.tables_.add(moved, keys)) sandbox.has_grown_ = true;
  return moved;
}

bool Sandbox::has_grown() {
  if (!std::exchange(has_grown_, false)) return false;
  count_steps();
  return true;
}

Result<std::unique_ptr<Sandbox>> Sandbox::create(const SandboxLimits& limits) {
  std::unique_ptr<Sandbox> sandbox(new Sandbox(limits));
  sandbox->lua_ = lua_newstate(&Sandbox::allocate, sandbox.get());
  if (sandbox->lua_ == nullptr) return fail(Errc::system, "there is no memory for Lua");
  owner_of(sandbox->lua_) = sandbox.get();
  sandbox->count_steps();
  lua_pushcfunction(sandbox->lua_, &open_library);
  if (Status opened = sandbox->call(0, 0, limits.load_steps); !opened)
    return tl::unexpected(opened.error());
  return sandbox;
}

Sandbox::~Sandbox() {
  if (lua_ != nullptr) lua_close(lua_);
}

Sandbox& Sandbox::of(lua_State* lua) {
  return *owner_of(lua);
}

Status Sandbox::run(std::string_view text, const std::string& name) {
  return run_text(text, name, true);
}

Status Sandbox::run_once(std::string_view text, const std::string& name) {
  return run_text(text, name, false);
}

Status Sandbox::run_text(std::string_view text, const std::string& name, bool is_run_again) {
  const Bounds bounds(bounded_);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::vector<LineCost> costs = line_costs(text);
  line_costs_.resize(std::max(line_costs_.size(), costs.size()));
  for (std::size_t i = 0; i < costs.size(); ++i) {
    line_costs_[i].joins = std::max(line_costs_[i].joins, costs[i].joins);
    line_costs_[i].loops = std::max(line_costs_[i].loops, costs[i].loops);
  }
  count_steps();
  const std::string chunk = "@" + name;
  const int loaded = luaL_loadbufferx(lua_, text.data(), text.size(), chunk.c_str(), "t");
  if (loaded == LUA_ERRMEM) {
    lua_pop(lua_, 1);
    return fail(Errc::invalid_argument, "it takes too much memory to read", name);
  }
  if (loaded == LUA_OK && is_run_again) {
    std::string dumped;
    lua_dump(lua_, &append, &dumped, 0);
    const auto looks = table_looks(dumped);
    looks_.resize(std::max(looks_.size(), looks.size()));
    for (std::size_t i = 0; i < looks.size(); ++i) looks_[i] = std::max(looks_[i], looks[i]);
  }
  const Status ran = loaded == LUA_OK ? call(0, 0, limits_.load_steps)
                                      : Status(fail(Errc::invalid_argument, pop_message(lua_)));
  if (ran || ran.error().what.starts_with(name + ":")) return ran;
  return fail(Errc::invalid_argument, ran.error().what, name);
}

Status Sandbox::call(int arguments, int results, std::int64_t steps) {
  const Bounds bounds(bounded_);
  given_ = steps_left_ = steps;
  const int outcome = lua_pcall(lua_, arguments, results, 0);
  if (outcome == LUA_OK) return {};
  if (outcome == LUA_ERRMEM) {
    lua_pop(lua_, 1);
    lua_gc(lua_, LUA_GCCOLLECT);
    return fail(
        Errc::invalid_argument,
        fmt::format("it takes more than {} KiB of memory, {} KiB for a text, or {} keys for "
                    "a table beside its list",
                    limits_.memory >> 10, limits_.text >> 10, limits_.keys));
  }
  return fail(Errc::invalid_argument, pop_message(lua_));
}

void Sandbox::count_steps() {
  const bool by_line = !line_costs_.empty() || (tables_.most() > 0 && !looks_.empty());
  lua_sethook(lua_, &look, LUA_MASKCOUNT | (by_line ? LUA_MASKLINE : 0), kStepsPerLook);
}

void Sandbox::begin_pass(std::uint64_t seed) {
  random_ = seed;
  count_steps();
}

void Sandbox::charge_line(lua_State* lua, int line) {
  constexpr std::size_t kShortNumber = 128;
  const auto at = static_cast<std::size_t>(line) - 1;  // 0, of what has no lines: none
  const LineCost cost = at < line_costs_.size() ? line_costs_[at] : LineCost{};
  const std::int64_t looks = at < looks_.size() ? looks_[at] * look_steps() : 0;
  if (cost == LineCost{} && looks == 0) return;
  const auto longer = static_cast<std::int64_t>(1 + longest_made_ / kShortNumber);
  charge(lua, cost.joins + cost.loops * longer + looks, 0);
}

void Sandbox::push_shown(std::string_view text) {
  const Bounds shown(showing_);
  lua_pushlstring(lua_, text.data(), text.size());
}

void Sandbox::charge(lua_State* lua, std::int64_t steps, int level) {
  steps_left_ -= steps;
  if (steps_left_ < 0) raise_spent(lua, level, given_);
}

// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
std::uint64_t Sandbox::random() {
  used_random = true;
  std::uint64_t z = (random_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace holon::policy
