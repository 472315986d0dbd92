// input.hpp - the standard input of a job's tasks, from a client (docs/protocol.md).
#pragma once
#include <cstdint>
#include <string>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "job.input": a piece of the input, answered once the tasks have it in their pipes; one at a time.
// Without data and end it is answered as soon as the tasks run.
struct InputRequest {
  std::uint64_t id = 0;
  std::uint64_t offset = 0;  // bytes before this piece: one that came before is not written again
  std::string data;
  bool end = false;  // nothing comes after it
  HOLON_FIELDS(id, offset, data, end)
};
struct InputReply {
  bool open = false;  // a task still reads
  HOLON_FIELDS(open)
};

}  // namespace holon::msg
