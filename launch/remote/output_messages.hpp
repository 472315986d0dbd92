// output_messages.hpp - messages between an agent on another node and its broker about the output
// of jobs, if the two do not see the same files. docs/protocol.md describes them for others.
#pragma once
#include <cstdint>
#include <string>

#include "transport/codec/fields.hpp"

namespace holon::launch::msg {

// "agent.files" (Empty): where the output of jobs without files of their own goes, as the broker
// sees it. An agent that does not find `mark` in the file `mark_file` sees other files.
struct FilesReply {
  std::string folder;     // ".../output"
  std::string mark_file;  // absolute
  std::string mark;
  HOLON_FIELDS(folder, mark_file, mark)
};

// The most bytes in one message.
inline constexpr std::size_t kMostKept = 256 << 10;

// "agent.keep": a piece of the output of this agent's part of a job, which the broker puts into its
// own file. A piece that came before, by its offset, changes nothing. The job is over for the agent
// once all of it was answered. not_found: it is not this attempt's any more.
struct KeepRequest {
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  bool error = false;        // standard error
  std::uint64_t offset = 0;  // in the broker's file
  std::string data;          // "": only asks for the size
  // Written under an earlier agent of this rank, in an attempt that only the broker knows.
  bool late = false;
  HOLON_FIELDS(job, attempt, error, offset, data, late)
};
struct KeepReply {
  std::uint64_t size = 0;  // of the file, in bytes
  HOLON_FIELDS(size)
};

}  // namespace holon::launch::msg
