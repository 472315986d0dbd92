// pmix_messages.hpp - messages between an agent and the PMIx server of one of its jobs, a process
// beside the tasks (pmix_server.hpp), over a pair of sockets: msgpack, each message after its
// length in four bytes, the least one first.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/codec/fields.hpp"

namespace holon::launch::pmix {

// ---- agent to server ----

// The first message.
struct Setup {
  std::string space;                              // PMIx's name of the job
  std::vector<std::vector<std::uint32_t>> ranks;  // of the tasks of each part
  std::uint32_t part = 0;                         // the place of this part among them
  std::string folder;                             // for sockets; removed with the job
  HOLON_FIELDS(space, ranks, part, folder)
};
// All later messages: a fence is over; the tasks of each part have put this.
struct FenceOver {
  std::vector<std::string> parts;
  HOLON_FIELDS(parts)
};

// ---- server to agent ----

struct Told {
  std::string kind;        // ready: `environments`, each of a task of this part, "KEY=VALUE"
                           // failed: it serves nothing, because of `text`
                           // connected, finalized: task `rank` says hello, goodbye
                           // abort: task `rank` ends the job with `code` and `text`
                           // fence: the tasks of this part have come to one and put `data`
  std::uint32_t rank = 0;  // within the job
  std::int32_t code = 0;
  std::string text, data;
  std::vector<std::vector<std::string>> environments;
  HOLON_FIELDS(kind, rank, code, text, data, environments)
};

std::string framed(const std::string& message);
// Takes one message from the front of `buffer`. nullopt: it is not complete yet. Errors: protocol
// (it is longer than `most` bytes).
Result<std::optional<std::string>> take_framed(std::string& buffer, std::size_t most);

}  // namespace holon::launch::pmix
