// views.hpp - the job, the queue and a node as a policy written in Lua sees them: values that look
// like tables, are read when they are asked for, and can be neither changed nor kept beyond the
// call. Private to policy/.
#pragma once
#include "qmanager/policy/hooks.hpp"

struct lua_State;

namespace holon::policy {

// The objects that a call looks at.
struct Seen {
  const qmanager::JobView* job = nullptr;  // null: no call is under way
  const qmanager::QueueView* queue = nullptr;
  const qmanager::PlaceView* place = nullptr;  // null: score is not asked
  bool changing = false;  // a fact was looked at that time or others may change
};

// Makes the values for the state; they show what `seen`, which outlives it, points to.
void make_views(lua_State* lua, Seen& seen);
// Push the values.
void push_job(lua_State* lua);
void push_queue(lua_State* lua);
void push_place(lua_State* lua);

}  // namespace holon::policy
