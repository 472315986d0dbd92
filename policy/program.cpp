// A policy that fails is no danger, only of no use: its call gets no answer, the base policy
// decides, and after so many failures in a row of one function it is not asked again.
#include "policy/program.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <lua.hpp>
#include <utility>

#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "policy/library.hpp"
#include "policy/sandbox.hpp"
#include "policy/views.hpp"
#include "qmanager/policy/policy.hpp"

namespace holon::policy {

using qmanager::Hook;
using qmanager::HookStatus;
using qmanager::JobView;
using qmanager::kHooks;
using qmanager::Opinion;
using qmanager::QueueView;
using qmanager::Rank;

namespace {

constexpr std::array<const char*, kHooks> kHookNames = {"admit", "priority", "may_reserve",
                                                        "may_backfill", "on_event"};
constexpr std::int64_t kStepsOfACall = 20;  // that count for each call, however short

struct Source {
  std::string name;
  std::string text;
  std::string base = "fcfs";
};

// What one function of the file has done so far.
struct Function {
  int reference = LUA_NOREF;  // in the registry
  int line = 0;               // where it is defined
  int troubles = 0;           // in a row
};

class LuaHooks : public qmanager::PolicyHooks {
 public:
  explicit LuaHooks(std::shared_ptr<const Source> source) : source_(std::move(source)) {
    status_.base = source_->base;
  }
  LuaHooks(const LuaHooks&) = delete;
  LuaHooks& operator=(const LuaHooks&) = delete;

  Status open() {
    auto sandbox = Sandbox::create();
    if (!sandbox) return tl::unexpected(sandbox.error());
    sandbox_ = std::move(*sandbox);
    make_views(lua(), seen_);
    if (Status ran = sandbox_->run(source_->text, source_->name); !ran) return ran;
    for (std::size_t i = 0; i < kHooks; ++i)
      if (Status found = find_function(i); !found) return found;
    return {};
  }

  // The text of the global, "" where there is none.
  Result<std::string> global_text(const char* name) {
    const int kind = lua_getglobal(lua(), name);
    std::string text = kind == LUA_TSTRING ? lua_tostring(lua(), -1) : "";
    lua_pop(lua(), 1);
    if (kind == LUA_TSTRING || kind == LUA_TNIL) return text;
    return fail(Errc::invalid_argument, fmt::format("{} is no text in quotes", name),
                source_->name);
  }

  std::vector<Description::Function> described() const {
    std::vector<Description::Function> all;
    for (std::size_t i = 0; i < kHooks; ++i)
      if (functions_[i].reference != LUA_NOREF) all.push_back({kHookNames[i], functions_[i].line});
    return all;
  }

  bool has(Hook hook) const override {
    return !status_.given_up && function_of(hook).reference != LUA_NOREF;
  }

  void begin_pass(Time now, std::size_t pending) override {
    sandbox_->seed(static_cast<std::uint64_t>(now));
    if (pass_steps_ < 0) count_poor_pass();
    pass_steps_ = kPassSteps + kPassStepsEach * static_cast<std::int64_t>(pending);
  }

  Opinion ask(Hook hook, const JobView& job, const QueueView& queue) override {
    Opinion opinion;
    if (!start_call(hook, job, queue)) return opinion;
    if (!finish_call(hook, 2)) return opinion;
    const int kind = lua_type(lua(), -2);
    if (kind == LUA_TBOOLEAN)
      opinion.yes = lua_toboolean(lua(), -2) != 0;
    else if (kind != LUA_TNIL)
      trouble(hook, fmt::format("it answered with a {}; accepted: true, false, nil",
                                luaL_typename(lua(), -2)));
    if (opinion.yes) opinion.reason = reason_at(hook, -1);
    lua_pop(lua(), 2);
    return opinion;
  }

  Rank rank(const JobView& job, const QueueView& queue) override {
    Rank rank;
    seen_.changing = has(Hook::on_event);
    sandbox_->used_random = false;
    if (!start_call(Hook::priority, job, queue)) return rank;
    if (!finish_call(Hook::priority, 2)) return rank;
    const int kind = lua_type(lua(), -2);
    const double value = lua_tonumber(lua(), -2);
    if (kind == LUA_TNUMBER && !std::isnan(value)) {
      rank.priority = value;
      rank.reason = reason_at(Hook::priority, -1);
      rank.lasts = !seen_.changing && !sandbox_->used_random;
    } else if (kind != LUA_TNIL) {
      trouble(Hook::priority,
              fmt::format("it answered with {}; accepted: a number, nil",
                          kind == LUA_TNUMBER ? "what is no number (NaN)"
                                              : fmt::format("a {}", lua_typename(lua(), kind))));
    }
    lua_pop(lua(), 2);
    return rank;
  }

  void on_event(std::string_view kind, const JobView& job, const QueueView& queue) override {
    if (!start_call(Hook::on_event, job, queue)) return;
    lua_pushlstring(lua(), kind.data(), kind.size());
    lua_insert(lua(), -3);
    finish_call(Hook::on_event, 0, 3);
  }

  std::unique_ptr<PolicyHooks> twin() const override {
    auto twin = std::make_unique<LuaHooks>(source_);
    if (!twin->open()) twin->status_.given_up = true;
    twin->status_.given_up = twin->status_.given_up || status_.given_up;
    return twin;
  }

  HookStatus status() const override { return status_; }

 private:
  lua_State* lua() const { return sandbox_->lua(); }
  Function& function_of(Hook hook) { return functions_[static_cast<std::size_t>(hook)]; }
  const Function& function_of(Hook hook) const {
    return functions_[static_cast<std::size_t>(hook)];
  }

  Status find_function(std::size_t hook) {
    const int kind = lua_getglobal(lua(), kHookNames[hook]);
    if (kind == LUA_TNIL) {
      lua_pop(lua(), 1);
      return {};
    }
    if (kind != LUA_TFUNCTION)
      return fail(
          Errc::invalid_argument,
          fmt::format("{} is a {}, not a function", kHookNames[hook], lua_typename(lua(), kind)),
          source_->name);
    lua_Debug about{};
    lua_pushvalue(lua(), -1);
    lua_getinfo(lua(), ">S", &about);
    functions_[hook].line = about.linedefined;
    functions_[hook].reference = luaL_ref(lua(), LUA_REGISTRYINDEX);
    return {};
  }

  // Pushes the function and the two values it gets. False: it is not to be asked.
  bool start_call(Hook hook, const JobView& job, const QueueView& queue) {
    if (!has(hook) || pass_steps_ < 0) return false;
    seen_.job = &job;
    seen_.queue = &queue;
    lua_rawgeti(lua(), LUA_REGISTRYINDEX, function_of(hook).reference);
    push_job(lua());
    push_queue(lua());
    return true;
  }

  // True: its results are on the stack.
  bool finish_call(Hook hook, int results, int arguments = 2) {
    ++status_.calls;
    const Status called = sandbox_->call(arguments, results, kCallSteps);
    seen_.job = nullptr;
    seen_.queue = nullptr;
    pass_steps_ -= kStepsOfACall + sandbox_->steps_taken();
    if (pass_steps_ < 0 && called) status_.trouble = too_slow();
    if (!called) trouble(hook, called.error().what);
    if (called) function_of(hook).troubles = 0;
    return called.has_value();
  }

  std::string place(Hook hook) const {
    return fmt::format("{}:{}", source_->name, function_of(hook).line);
  }

  void trouble(Hook hook, const std::string& what) {
    const bool has_place = what.starts_with(source_->name + ":");
    status_.trouble = has_place ? what
                                : fmt::format("{}: {}: {}", place(hook),
                                              kHookNames[static_cast<std::size_t>(hook)], what);
    ++status_.troubles;
    if (++function_of(hook).troubles >= kMostTroubles) status_.given_up = true;
  }

  std::string too_slow() const {
    return fmt::format("{}: it takes more steps in a pass than {} and {} for each waiting job",
                       source_->name, kPassSteps, kPassStepsEach);
  }

  // The last pass ran out of steps.
  void count_poor_pass() {
    ++status_.troubles;
    if (++poor_passes_ >= kMostTroubles) status_.given_up = true;
  }

  std::string reason_at(Hook hook, int index) const {
    constexpr std::size_t kLongest = 200;
    if (lua_type(lua(), index) != LUA_TSTRING) return {};
    std::size_t length = 0;
    const char* const text = lua_tolstring(lua(), index, &length);
    return fmt::format("{}: {}", place(hook), printable({text, std::min(length, kLongest)}));
  }

  std::shared_ptr<const Source> source_;
  std::unique_ptr<Sandbox> sandbox_;
  Seen seen_;
  std::array<Function, kHooks> functions_;
  HookStatus status_;
  std::int64_t pass_steps_ = kPassSteps;
  int poor_passes_ = 0;
};

class LuaProgram : public qmanager::PolicyProgram {
 public:
  explicit LuaProgram(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  const std::string& base() const override { return source_->base; }
  std::unique_ptr<qmanager::PolicyHooks> hooks() const override {
    auto hooks = std::make_unique<LuaHooks>(source_);
    // It was opened before, and the same text does the same: only memory may lack.
    if (!hooks->open()) return nullptr;
    return hooks;
  }

 private:
  std::shared_ptr<const Source> source_;
};

}  // namespace

Result<Description> describe(const std::string& name, std::string_view text) {
  if (!is_utf8(text)) return fail(Errc::invalid_argument, "it is not UTF-8", name);
  const auto source = std::make_shared<const Source>(Source{name, std::string(text), "fcfs"});
  LuaHooks hooks(source);
  if (Status opened = hooks.open(); !opened) return tl::unexpected(opened.error());
  const Result<std::string> base = hooks.global_text("base");
  if (!base) return tl::unexpected(base.error());
  Description description{base->empty() ? source->base : *base, hooks.described()};
  if (const auto known = qmanager::parse_policy(description.base); !known)
    return fail(Errc::invalid_argument, "base: " + known.error().what, name);
  if (description.functions.empty() && base->empty())
    return fail(Errc::invalid_argument,
                "it says nothing; accepted: base, and functions admit, priority, may_reserve, "
                "may_backfill, on_event",
                name);
  return description;
}

Result<std::shared_ptr<const qmanager::PolicyProgram>> compile(const std::string& name,
                                                               std::string_view text) {
  const auto description = describe(name, text);
  if (!description) return tl::unexpected(description.error());
  return std::make_shared<const LuaProgram>(
      std::make_shared<const Source>(Source{name, std::string(text), description->base}));
}

}  // namespace holon::policy
