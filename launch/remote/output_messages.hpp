// output_messages.hpp - what an agent on another node and its broker say to each other about the
// output of jobs, where the two do not see the same files. docs/protocol.md is the description for
// others.
#pragma once
#include <cstdint>
#include <string>

#include "transport/codec/fields.hpp"

namespace holon::launch::msg {

// "agent.files" (Empty): where the output of jobs goes that name no files of their own, as the
// broker sees it. An agent that does not find `mark` in the file of that name sees other files.
struct FilesReply {
  std::string folder;     // ".../output"
  std::string mark_file;  // absolute
  std::string mark;
  HOLON_FIELDS(folder, mark_file, mark)
};

// Bytes that one message brings at most.
inline constexpr std::size_t kMostKept = 256 << 10;

// "agent.keep": a piece of what the tasks of this agent's part of a job have written, which the
// broker puts into its own file. One that came before, by its offset, is the same again. The job is
// over for the agent once all of it was answered. not_found: it is not this attempt's any more.
struct KeepRequest {
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  bool error = false;        // standard error
  std::uint64_t offset = 0;  // in the broker's file
  std::string data;          // "": only asks for the size
  // It was written under an agent of this rank that is gone, with the attempt, which only the
  // broker knows.
  bool late = false;
  HOLON_FIELDS(job, attempt, error, offset, data, late)
};
struct KeepReply {
  std::uint64_t size = 0;  // bytes that the file has
  HOLON_FIELDS(size)
};

}  // namespace holon::launch::msg
