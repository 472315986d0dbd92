// A policy that fails is no danger, only of no use: its call gets no answer, the base policy
// decides, and after so many failures in a row of one function it is not asked again.
#include "policy/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <lua.hpp>
#include <tuple>
#include <utility>

#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"
#include "policy/kept.hpp"
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

constexpr std::array<const char*, kHooks> kHookNames = {"admit",        "priority", "may_reserve",
                                                        "may_backfill", "on_event", "score"};
constexpr std::int64_t kStepsOfACall = 20;  // counted for each call, however short

// The letters to add, leave out or change to turn a text into the other (Wagner, Fischer, 1974).
std::size_t distance_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row[b.size()];
}

// The hook whose name is nearly this one; "": the name is a hook's, or near none.
std::string nearly(std::string_view name) {
  std::string lower;
  for (const char c : name)
    if (c != '_') lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  std::string found;
  for (const std::string_view hook : kHookNames) {
    if (name == hook) return {};
    std::string plain(hook);
    std::erase(plain, '_');
    const std::size_t allowed = plain.size() > 5 ? 2 : 1;
    if (distance_between(lower, plain) <= allowed) found = hook;
  }
  return found;
}

const char kStateKey = 0;  // of the table `state`, in the registry

struct Source {
  std::string name;
  std::string text;
  std::string base = "fcfs";
};

// The record of one function of the file so far.
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

  // Opens the text. `state`: what was kept, "" for nothing yet; it is there before the text runs.
  Status open(const std::string& state = {}) {
    auto sandbox = Sandbox::create();
    if (!sandbox) return tl::unexpected(sandbox.error());
    sandbox_ = std::move(*sandbox);
    make_views(lua(), seen_);
    const std::string filled = "state = " + (state.empty() ? "{}" : state);
    if (Status ran = sandbox_->run_once(filled, "state"); !ran) return ran;
    if (lua_getglobal(lua(), "state") != LUA_TTABLE)
      return fail(Errc::invalid_argument, "what was kept is no table", "state");
    lua_rawsetp(lua(), LUA_REGISTRYINDEX, &kStateKey);
    if (Status ran = sandbox_->run(source_->text, source_->name); !ran) return ran;
    if (!has_its_state())
      return fail(Errc::invalid_argument,
                  "'state' is a table that is kept: fill it, as in state.n = state.n or 0, and do "
                  "not replace it",
                  source_->name);
    for (std::size_t i = 0; i < kHooks; ++i)
      if (Status found = find_function(i); !found) return found;
    kept_ = state;
    state_as_of_ = status_.calls;
    return {};
  }

  Status restore(const std::string& state) override {
    LuaHooks other(source_);
    if (Status opened = other.open(state); !opened) return opened;
    return open(state);
  }

  std::string state() const override {
    Result<std::string> text = state_text();
    if (!text) return kept_;
    return *text == "{}" ? std::string() : std::move(*text);
  }

  // Only a call can have changed the state.
  std::optional<std::string> take_state() override {
    if (std::exchange(state_as_of_, status_.calls) == status_.calls) return std::nullopt;
    Result<std::string> text = state_text();
    if (!text) {
      if (std::exchange(unkept_, true)) return std::nullopt;
      ++status_.troubles;
      status_.trouble =
          fmt::format("{}: {}; it stays as it was kept last", source_->name, text.error().what);
      return std::nullopt;
    }
    unkept_ = false;
    if (*text == "{}") text->clear();
    if (*text == kept_) return std::nullopt;
    return kept_ = std::move(*text);
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

  std::vector<Description::NearMiss> near_misses() const {
    std::vector<Description::NearMiss> all;
    lua_pushglobaltable(lua());
    lua_pushnil(lua());
    while (lua_next(lua(), -2) != 0) {
      if (lua_type(lua(), -2) == LUA_TSTRING && lua_isfunction(lua(), -1) &&
          !lua_iscfunction(lua(), -1)) {
        const std::string name = lua_tostring(lua(), -2);
        if (const std::string meant = nearly(name); !meant.empty())
          all.push_back({name, line_of_top(), meant});
      }
      lua_pop(lua(), 1);
    }
    lua_pop(lua(), 1);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::tie(a.line, a.name) < std::tie(b.line, b.name);
    });
    return all;
  }

  // Places are not even listed for a `score` that the pass no longer asks for.
  bool has(Hook hook) const override {
    if (hook == Hook::score && (scores_left_ == 0 || pass_steps_ < 0)) return false;
    return !status_.given_up && function_of(hook).reference != LUA_NOREF;
  }

  void begin_pass(Time now, std::size_t pending) override {
    sandbox_->begin_pass(static_cast<std::uint64_t>(now));
    if (pass_steps_ < 0 || admit_steps_ < 0)
      count_poor_pass();
    else if (calls_in_pass_ > 0 && calls_in_pass_ >= waiting_at_begin_ / 2)
      poor_passes_ = 0;
    calls_in_pass_ = 0;
    waiting_at_begin_ = static_cast<std::int64_t>(pending);
    pass_steps_ = kPassSteps + kPassStepsEach * static_cast<std::int64_t>(pending);
    admit_steps_ = kAdmitSteps;
    scores_left_ = kPassScores;
    free_steps_ = 0;
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
    if (kind == LUA_TBOOLEAN || kind == LUA_TNIL) function_of(hook).troubles = 0;
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
    rank.priority = number_at(Hook::priority, -2);
    if (rank.priority) {
      rank.reason = reason_at(Hook::priority, -1);
      rank.lasts = !seen_.changing && !sandbox_->used_random;
    }
    lua_pop(lua(), 2);
    return rank;
  }

  std::optional<double> score(const JobView& job, const qmanager::PlaceView& place,
                              const QueueView& queue) override {
    if (!start_call(Hook::score, job, queue)) return std::nullopt;
    --scores_left_;
    seen_.place = &place;
    push_place(lua());
    lua_insert(lua(), -2);
    if (!finish_call(Hook::score, 1, 3)) return std::nullopt;
    const std::optional<double> score = number_at(Hook::score, -1);
    lua_pop(lua(), 1);
    return score;
  }

  void on_event(std::string_view kind, const JobView& job, const QueueView& queue) override {
    if (!start_call(Hook::on_event, job, queue)) return;
    lua_pushlstring(lua(), kind.data(), kind.size());
    lua_insert(lua(), -3);
    if (finish_call(Hook::on_event, 0, 3)) function_of(Hook::on_event).troubles = 0;
  }

  std::unique_ptr<PolicyHooks> twin() const override {
    auto twin = std::make_unique<LuaHooks>(source_);
    if (!twin->open(state())) twin->status_.given_up = true;
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

  bool has_its_state() const {
    lua_getglobal(lua(), "state");
    lua_rawgetp(lua(), LUA_REGISTRYINDEX, &kStateKey);
    const bool same = lua_rawequal(lua(), -1, -2) != 0;
    lua_pop(lua(), 2);
    return same;
  }

  Result<std::string> state_text() const {
    if (!has_its_state())
      return fail(Errc::invalid_argument, "'state' was replaced by something else");
    lua_rawgetp(lua(), LUA_REGISTRYINDEX, &kStateKey);
    Result<std::string> text = kept_text(lua());
    lua_pop(lua(), 1);
    return text;
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
    functions_[hook].line = line_of_top();
    functions_[hook].reference = luaL_ref(lua(), LUA_REGISTRYINDEX);
    return {};
  }

  // The line where the function on top of the stack is defined.
  int line_of_top() const {
    lua_Debug about{};
    lua_pushvalue(lua(), -1);
    lua_getinfo(lua(), ">S", &about);
    return about.linedefined;
  }

  // Steps that are left. A submission is answered whatever passes have cost.
  std::int64_t& left_for(Hook hook) { return hook == Hook::admit ? admit_steps_ : pass_steps_; }

  // Pushes the function and the two values it gets. False: it is not to be asked.
  bool start_call(Hook hook, const JobView& job, const QueueView& queue) {
    if (!has(hook) || left_for(hook) < 0) return false;
    seen_.job = &job;
    seen_.queue = &queue;
    lua_rawgeti(lua(), LUA_REGISTRYINDEX, function_of(hook).reference);
    push_job(lua());
    push_queue(lua());
    return true;
  }

  // Calls the function. True: its results are on the stack.
  bool finish_call(Hook hook, int results, int arguments = 2) {
    ++status_.calls;
    const Status called = sandbox_->call(arguments, results, kCallSteps);
    seen_.job = nullptr;
    seen_.queue = nullptr;
    seen_.place = nullptr;
    if (hook != Hook::admit) ++calls_in_pass_;
    if (hook == Hook::score) free_steps_ += kScoreSteps;
    std::int64_t& left = left_for(hook);
    const std::int64_t taken = kStepsOfACall + sandbox_->steps_taken();
    const std::int64_t free = hook == Hook::score ? std::min(free_steps_, taken) : 0;
    free_steps_ -= free;
    left -= taken - free;
    if (left < 0 && called) status_.trouble = too_slow(hook);
    if (!called) trouble(hook, called.error().what);
    return called.has_value();
  }

  // The number at `index`; nullopt: nil, or no valid answer.
  std::optional<double> number_at(Hook hook, int index) {
    const int kind = lua_type(lua(), index);
    const double value = kind == LUA_TNUMBER ? lua_tonumber(lua(), index) : 0;  // no text is read
    const bool is_number = kind == LUA_TNUMBER && !std::isnan(value);
    if (is_number || kind == LUA_TNIL) {
      function_of(hook).troubles = 0;
      return is_number ? std::optional(value) : std::nullopt;
    }
    trouble(hook,
            fmt::format("it answered with {}; accepted: a number, nil",
                        kind == LUA_TNUMBER ? "what is no number (NaN)"
                                            : fmt::format("a {}", lua_typename(lua(), kind))));
    return std::nullopt;
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

  std::string too_slow(Hook hook) const {
    if (hook == Hook::admit)
      return fmt::format("{}: admit: it takes more than {} steps between two passes", place(hook),
                         kAdmitSteps);
    return fmt::format("{}: it takes more steps in a pass than {} and {} for each waiting job",
                       source_->name, kPassSteps, kPassStepsEach);
  }

  // Counts that the last pass, or submissions before it, ran out of steps.
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
  std::int64_t admit_steps_ = kAdmitSteps;
  std::int64_t scores_left_ = kPassScores;
  std::int64_t free_steps_ = 0;   // steps of `score` calls that the pass does not pay for
  std::string kept_;              // `state` as it was taken last
  std::int64_t state_as_of_ = 0;  // the calls there were then
  bool unkept_ = false;           // it cannot be kept as it is
  // Poor passes in a row, among those that asked for a good part of the queue: a pass that asks for
  // the one submitted job says nothing about the policy's cost.
  int poor_passes_ = 0;
  std::int64_t calls_in_pass_ = 0;     // of the pass that is under way
  std::int64_t waiting_at_begin_ = 0;  // jobs that waited as it began
};

class LuaProgram : public qmanager::PolicyProgram {
 public:
  explicit LuaProgram(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  const std::string& base() const override { return source_->base; }
  std::unique_ptr<qmanager::PolicyHooks> hooks() const override {
    auto hooks = std::make_unique<LuaHooks>(source_);
    // The text was opened before, and does the same again: only memory may lack.
    if (!hooks->open()) return nullptr;
    return hooks;
  }

 private:
  std::shared_ptr<const Source> source_;
};

}  // namespace

Result<Description> describe(const std::string& name, std::string_view text) {
  if (text.size() > kMostText)
    return fail(Errc::invalid_argument,
                fmt::format("{} bytes; a policy has {} at most", text.size(), kMostText), name);
  if (text.starts_with(LUA_SIGNATURE))
    return fail(Errc::invalid_argument, "it is compiled; accepted is the text", name);
  if (!is_utf8(text)) return fail(Errc::invalid_argument, "it is not UTF-8", name);
  const auto source = std::make_shared<const Source>(Source{name, std::string(text), "fcfs"});
  LuaHooks hooks(source);
  if (Status opened = hooks.open(); !opened) return tl::unexpected(opened.error());
  const Result<std::string> base = hooks.global_text("base");
  if (!base) return tl::unexpected(base.error());
  Description description{base->empty() ? source->base : *base, hooks.described(),
                          hooks.near_misses()};
  if (const auto known = qmanager::parse_policy(description.base); !known)
    return fail(Errc::invalid_argument, "base: " + known.error().what, name);
  if (description.functions.empty() && base->empty())
    return fail(Errc::invalid_argument,
                "it says nothing; accepted: base, and functions admit, priority, may_reserve, "
                "may_backfill, on_event, score",
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
