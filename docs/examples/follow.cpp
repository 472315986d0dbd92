// A client of a running instance: submits jobs, follows what happens to them, and goes on where it
// was when the broker is started again. Here the broker is killed in the middle, to show it.
//
//   holon start --resources node=1/core=2 ./follow
#include <signal.h>

#include <cstdio>
#include <set>
#include <string>

#include "client/client.hpp"

using namespace holon;

namespace {

// A jobspec (RFC 14): one task on one core, a minute at most.
constexpr const char* kJobspec = R"({
  "version": 1,
  "resources": [{"type": "slot", "count": 1, "label": "task", "with": [{"type": "core", "count": 1}]}],
  "tasks": [{"command": ["sleep", "0.3"], "slot": "task", "count": {"per_slot": 1}}],
  "attributes": {"system": {"duration": 60, "cwd": "/"}}
})";
constexpr std::uint64_t kJobs = 6;

int failed(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, to_string(error).c_str());
  return 1;
}

}  // namespace

int main() {
  auto client = client::Client::connect();  // HOLON_URI, or the only instance that runs here
  if (!client) return failed("connect", client.error());
  const auto before = client->status();
  if (!before) return failed("status", before.error());

  // Without a cursor the first parts say how everything stands; then there is one.
  std::string cursor;
  const auto snapshot = client->follow({}, [&cursor](const msg::EventsPart& part) {
    cursor = part.cursor;
    return cursor.empty();  // enough: the rest is followed below
  });
  if (!snapshot) return failed("follow", snapshot.error());

  msg::SubmitRequest request;
  request.jobspec = kJobspec;
  request.count = kJobs;
  const auto jobs = client->submit(request);
  if (!jobs) return failed("submit", jobs.error());

  bool killed = false;
  std::set<std::uint64_t> over;
  msg::EventsRequest rest;
  rest.cursor = cursor;  // kept in a file, it would do for another process, too
  const auto followed = client->follow(rest, [&](const msg::EventsPart& part) {
    for (const auto& event : part.events) {
      const bool is_ours = event.id >= jobs->first_id && event.id < jobs->first_id + jobs->count;
      if (!is_ours || (event.name != "start" && event.name != "finish" && event.name != "clean"))
        continue;
      std::printf("job %llu: %s\n", static_cast<unsigned long long>(event.id), event.name.c_str());
      if (event.name == "clean" && !over.insert(event.id).second) return false;  // told twice
    }
    if (over.size() >= 2 && !killed) killed = kill(static_cast<pid_t>(before->pid), SIGKILL) == 0;
    return over.size() < jobs->count;
  });
  if (!followed) return failed("follow", followed.error());
  const auto after = client->status();
  if (!after || over.size() != kJobs || after->pid == before->pid) return 1;
  std::printf("%zu jobs over; the broker was process %lld and is %lld\n", over.size(),
              static_cast<long long>(before->pid), static_cast<long long>(after->pid));
}
