// One userdata a kind and state, whose fields are found by number: no table is filled for a call.
#include "policy/views.hpp"

#include <array>
#include <cmath>
#include <lua.hpp>

#include "policy/library.hpp"
#include "policy/sandbox.hpp"
#include "qmanager/job.hpp"
#include "qmanager/machine/uniform.hpp"
#include "qmanager/slots.hpp"

namespace holon::policy {

using qmanager::JobView;

namespace {

// Keys in the registry: the address is the key.
const char kJob = 0;
const char kQueue = 0;
const char kAttributes = 0;
const char kUser = 0;
const char kWindow = 0;
const char kGrant = 0;
const char kPlace = 0;
const char kRunning = 0;
const char kNear = 0;

enum class JobField : std::uint8_t {
  none,
  id,
  name,
  user,
  group,
  account,
  qos,
  queue,
  urgency,
  submitted,
  waited,
  nodes,
  slots,
  cores,
  gpus,
  memory,
  limit,
  attributes,
  ran,
};
constexpr std::array kJobFields = {"id",    "name",    "user",      "group",  "account",    "qos",
                                   "queue", "urgency", "submitted", "waited", "nodes",      "slots",
                                   "cores", "gpus",    "memory",    "limit",  "attributes", "ran"};

enum class QueueField : std::uint8_t {
  none,
  now,
  cores,
  free,
  pending,
  reserved,
  name,
  user,
  window,
  grant,
  time_of_day,
};
constexpr std::array kQueueFields = {"now",  "cores", "free",   "pending", "reserved",
                                     "name", "user",  "window", "grant",   "time_of_day"};

enum class PlaceField : std::uint8_t { none, name, within, cores, free, running, near };
constexpr std::array kPlaceFields = {"name", "within", "cores", "free", "running", "near"};

// The Seen that is in the userdata.
Seen& seen_in(lua_State* lua, int index) {
  return **static_cast<Seen**>(lua_touserdata(lua, index));
}

const JobView& job_in(lua_State* lua, Seen& seen) {
  if (seen.job == nullptr)
    luaL_error(lua, "a job is there only while a function is asked about it");
  return *seen.job;
}

const qmanager::QueueView& queue_in(lua_State* lua, Seen& seen) {
  if (seen.queue == nullptr)
    luaL_error(lua, "the queue is there only while a function is asked about a job");
  seen.changing = true;
  return *seen.queue;
}

int give(lua_State* lua, const std::string& text) {
  Sandbox::of(lua).push_shown(text);
  return 1;
}

int give(lua_State* lua, std::int64_t number) {
  lua_pushinteger(lua, number);
  return 1;
}

// Pushes seconds, as a whole number if they are one.
int give_seconds(lua_State* lua, std::int64_t ticks, std::int64_t ticks_per_second) {
  if (ticks == kTimeMax)
    lua_pushnumber(lua, HUGE_VAL);
  else if (ticks % ticks_per_second == 0)
    lua_pushinteger(lua, ticks / ticks_per_second);
  else
    lua_pushnumber(lua, static_cast<double>(ticks) / static_cast<double>(ticks_per_second));
  return 1;
}

// The number of the requested field; raises an error for another key. Upvalue 1: the table of
// fields.
int field_of(lua_State* lua, const char* of_what) {
  Sandbox::of(lua).charge(lua, 3);
  lua_pushvalue(lua, 2);
  lua_rawget(lua, lua_upvalueindex(1));
  const auto field = static_cast<int>(lua_tointeger(lua, -1));
  if (field == 0) {
    const char* const key = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "that";
    luaL_error(lua, "%s has no '%s'", of_what, key);
  }
  return field;
}

int give_of_request(lua_State* lua, const JobView& view, JobField field) {
  using enum JobField;
  const qmanager::JobRequest& request = view.job.request;
  switch (field) {
    case id:
      return give(lua, static_cast<std::int64_t>(request.id.value()));
    case name:
      return give(lua, request.spec ? request.spec->name : std::string());
    case user:
      return give(lua, request.user);
    case group:
      return give(lua, request.group);
    case account:
      return give(lua, request.account);
    case qos:
      return give(lua, request.qos);
    case queue:
      return give(lua, request.queue);
    case urgency:
      return give(lua, static_cast<std::int64_t>(request.urgency));
    case nodes:
      return give(lua, view.job.demand.nodes);
   case slots:
      return give(lua, qmanager::least_slots(request));
    case cores:
      return give(lua, view.job.procs);
    case gpus:
      return give(lua, request.spec ? qmanager::least_units(*request.spec, "gpu") : 0);
    default:
      return give(lua, view.job.demand.memory);
  }
}

// Ticks since the job was started; 0 for one that waits.
Duration ran_for(const JobView& view) {
  const bool runs = view.job.place == qmanager::Job::Place::running;
  return runs ? distance(view.job.started, view.now) : 0;
}

int index_job(lua_State* lua) {
  Seen& seen = seen_in(lua, 1);
  const JobView& view = job_in(lua, seen);
  using enum JobField;
  const auto field = static_cast<JobField>(field_of(lua, "a job"));
  switch (field) {
    case waited:
      seen.changing = true;
      return give_seconds(lua, view.job.waited(view.now), view.ticks_per_second);
    case submitted:
      return give_seconds(lua, seen.queue->wall_time(view.job.request.submitted),
                          view.ticks_per_second);
    case limit:
      return give_seconds(lua, view.limit, view.ticks_per_second);
    case ran:
      seen.changing = true;
      return give_seconds(lua, ran_for(view), view.ticks_per_second);
    case attributes:
      lua_rawgetp(lua, LUA_REGISTRYINDEX, &kAttributes);
      return 1;
    default:
      return give_of_request(lua, view, field);
  }
}

int index_attributes(lua_State* lua) {
  const JobView& view = job_in(lua, seen_in(lua, 1));
  const auto& all = view.job.request.attributes;
  std::size_t length = 0;
  Sandbox::of(lua).charge(lua, lua_type(lua, 2) == LUA_TNUMBER ? kStepsPerNumberText : 10);
  const char* const key = luaL_checklstring(lua, 2, &length);
  if (all)
    if (const auto found = all->find(std::string(key, length)); found != all->end())
      return give(lua, found->second);
  lua_pushnil(lua);
  return 1;
}

// ---- the queue

int give_registered(lua_State* lua, const char* key) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, key);
  return 1;
}

int index_queue(lua_State* lua) {
  const qmanager::QueueView& view = queue_in(lua, seen_in(lua, 1));
  using enum QueueField;
  switch (static_cast<QueueField>(field_of(lua, "the view"))) {
    case now:
      return give_seconds(lua, view.wall_time(view.now()), view.ticks_per_second());
    case time_of_day:
      return give(lua, view.second_of_day());
    case cores:
      return give(lua, view.procs());
    case free:
      return give(lua, view.free_procs());
    case pending:
      return give(lua, view.pending());
    case reserved:
      return give(lua, view.reserved());
    case name:
      return give(lua, view.name());
    case user:
      return give_registered(lua, &kUser);
    case window:
      return give_registered(lua, &kWindow);
    default:
      return give_registered(lua, &kGrant);
  }
}

// view.user(NAME): {running = jobs, cores = N, used = core-seconds}. Upvalue 1: the queue.
int user_of(lua_State* lua) {
  constexpr std::int64_t kSteps = 100;
  const qmanager::QueueView& view = queue_in(lua, seen_in(lua, lua_upvalueindex(1)));
  Sandbox::of(lua).charge(lua, kSteps);
  const qmanager::UserUse use = view.user(luaL_checkstring(lua, 1));
  lua_createtable(lua, 0, 3);
  lua_pushinteger(lua, use.running);
  lua_setfield(lua, -2, "running");
  lua_pushinteger(lua, use.procs);
  lua_setfield(lua, -2, "cores");
  lua_pushnumber(lua, use.used);
  lua_setfield(lua, -2, "used");
  return 1;
}

int index_window(lua_State* lua) {
  constexpr std::int64_t kSteps = 500;
  const qmanager::QueueView& view = queue_in(lua, seen_in(lua, 1));
  Sandbox::of(lua).charge(lua, kSteps);
  const qmanager::Window widest = view.window();
  if (field_of(lua, "a window") == 1) return give(lua, widest.procs);
  return give_seconds(lua, widest.length, view.ticks_per_second());
}

int index_grant(lua_State* lua) {
  const qmanager::QueueView& view = queue_in(lua, seen_in(lua, 1));
  field_of(lua, "the grant");
  return give_seconds(lua, view.wall_time(view.grant_ends()), view.ticks_per_second());
}

// ---- the place

const qmanager::PlaceView& place_in(lua_State* lua, Seen& seen) {
  if (seen.place == nullptr) luaL_error(lua, "a place is there only while score is asked about it");
  return *seen.place;
}

int index_place(lua_State* lua) {
  const qmanager::PlaceView& view = place_in(lua, seen_in(lua, 1));
  using enum PlaceField;
  switch (static_cast<PlaceField>(field_of(lua, "a place"))) {
    case name:
      return give(lua, view.name());
    case within:
      return give(lua, view.within());
    case cores:
      return give(lua, view.procs());
    case free:
      return give(lua, view.free_procs());
    case running:
      return give_registered(lua, &kRunning);
    default:
      return give_registered(lua, &kNear);
  }
}

// place.running(KEY, VALUE), place.near(KEY, VALUE): jobs. Upvalues: the place, which of the two.
int jobs_with(lua_State* lua) {
  constexpr std::int64_t kSteps = 20;
  const qmanager::PlaceView& view = place_in(lua, seen_in(lua, lua_upvalueindex(1)));
  Sandbox::of(lua).charge(lua, kSteps);
  const auto text_at = [&](int index) {
    if (lua_type(lua, index) == LUA_TNUMBER) Sandbox::of(lua).charge(lua, kStepsPerNumberText);
    std::size_t length = 0;
    const char* const text = luaL_checklstring(lua, index, &length);
    return std::string_view(text, length);
  };
  const std::string_view key = text_at(1), value = text_at(2);
  const bool near = lua_toboolean(lua, lua_upvalueindex(2)) != 0;
  return give(lua, near ? view.near(std::string(key), std::string(value))
                        : view.running(std::string(key), std::string(value)));
}

int refuse_change(lua_State* lua) {
  return luaL_error(lua, "what a policy is shown cannot be changed; 'state' can");
}

template <std::size_t N>
void push_numbers(lua_State* lua, const std::array<const char*, N>& fields) {
  lua_createtable(lua, 0, static_cast<int>(N));
  for (std::size_t i = 0; i < N; ++i) {
    lua_pushinteger(lua, static_cast<lua_Integer>(i) + 1);
    lua_setfield(lua, -2, fields[i]);
  }
}

// Registers a userdata with the function for its fields, and leaves it on the stack.
template <std::size_t N>
void make_view(lua_State* lua, Seen& seen, const char* key, lua_CFunction index,
               const std::array<const char*, N>& fields) {
  *static_cast<Seen**>(lua_newuserdatauv(lua, sizeof(Seen*), 0)) = &seen;
  lua_createtable(lua, 0, 2);
  push_numbers(lua, fields);
  lua_pushcclosure(lua, index, 1);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, &refuse_change);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  lua_pushvalue(lua, -1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, key);
}

}  // namespace

void make_views(lua_State* lua, Seen& seen) {
  constexpr std::array kWindowFields = {"cores", "seconds"};
  constexpr std::array kGrantFields = {"ends"};
  make_view(lua, seen, &kJob, &index_job, kJobFields);
  make_view(lua, seen, &kAttributes, &index_attributes, std::array<const char*, 0>{});
  make_view(lua, seen, &kWindow, &index_window, kWindowFields);
  make_view(lua, seen, &kGrant, &index_grant, kGrantFields);
  lua_pop(lua, 4);
  make_view(lua, seen, &kPlace, &index_place, kPlaceFields);
  for (const char* const key : {&kRunning, &kNear}) {
    lua_pushvalue(lua, -1);
    lua_pushboolean(lua, key == &kNear);
    lua_pushcclosure(lua, &jobs_with, 2);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, key);
  }
  lua_pop(lua, 1);
  make_view(lua, seen, &kQueue, &index_queue, kQueueFields);
  lua_pushcclosure(lua, &user_of, 1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kUser);
}

void push_job(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kJob);
}

void push_place(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kPlace);
}

void push_queue(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kQueue);
}

}  // namespace holon::policy
