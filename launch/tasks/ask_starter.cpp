#include "launch/tasks/ask_starter.hpp"

#include <sys/socket.h>

#include <span>
#include <string>

#include "base/descriptors/passing.hpp"
#include "launch/tasks/in_memory.hpp"

namespace holon::launch {

using transport::UniqueFd;

Result<UniqueFd> ask_starter(int starter, starter::Kind kind, const starter::Request& request,
                             const std::vector<int>& streams, std::uint32_t extras) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("a connection to a keeper");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const std::string bytes = starter::encode(request);
  if (bytes.size() > starter::kMostBytes)
    return fail(Errc::out_of_range, "the command and its environment have more than 8 MiB");
  const auto body = in_memory("holon request", bytes);
  if (!body) return tl::unexpected<Error>(body.error());
  std::vector<int> descriptors = {theirs.get(), body->get()};
  descriptors.insert(descriptors.end(), streams.begin(), streams.end());
  starter::Ask what;
  what.kind = kind;
  what.extras = extras;
  if (!send_with_descriptors(starter, std::as_bytes(std::span(&what, 1)), descriptors))
    return system_error("the starter cannot be asked");
  return ours;
}

}  // namespace holon::launch
