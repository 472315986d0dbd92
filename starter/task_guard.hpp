// task_guard.hpp - the process that has one request to serve: it keeps one task of somebody for as
// long as anything of that task is there, or opens one file.
//
// A keeper is a subreaper, and tasks cannot change whose child they become when their parents end:
// all that a task ever starts is below its keeper. It is root's, so that no task can signal it.
#pragma once
#include "starter/account.hpp"
#include "starter/become.hpp"

namespace holon::starter {

// The parts of a message, owned by this process.
struct Handed {
  int line = -1;  // the connection to the asker
  int body = -1;  // the request, in memory
  Streams streams;
};

// REQUIRES: a process of its own, root's, with SIGCHLD blocked and no children.
[[noreturn]] void serve_run(const Handed& handed, const Settings& settings);
[[noreturn]] void serve_open(const Handed& handed, const Settings& settings);

}  // namespace holon::starter
