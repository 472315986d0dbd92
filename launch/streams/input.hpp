// input.hpp - the standard input of tasks: nothing, a file, or what a client sends as they run.
//
// A client's input goes through one pipe a task. One piece at a time is taken and answered once
// every task that still reads has all of it: a task that does not read makes the client wait, and
// only one piece is ever kept here. Pieces carry their offset, so that a piece that is sent again
// after a lost connection is not read twice.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "launch/messages.hpp"
#include "launch/streams/output.hpp"
#include "transport/rpc.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

// The standard input of one job's tasks on this node.
class JobInput {
 public:
  JobInput(transport::Reactor& reactor, const msg::Start& start, std::string cwd,
           OpenFile open = open_here);
  // The descriptor 0 of task `rank`; -1: /dev/null. Valid until the next call or done_opening().
  // Errors: system, denied, invalid_argument; the text names the file.
  Result<int> open_for(std::uint32_t rank);
  void done_opening();  // closes the agent's own copies
  // Answers when the piece has been passed on, or with open = false once no task reads any more.
  void take(const transport::Request& request, const msg::InputRequest& piece);
  void finish();  // the job is over

 private:
  // The writing end of one task's pipe.
  struct Sink {
    UniqueFd fd;              // none: the task does not read any more
    std::size_t written = 0;  // of piece_
    transport::Subscription writable;
  };
  Result<int> open_file(std::uint32_t rank);
  Result<int> open_pipe();
  void begin(const msg::InputRequest& piece, std::uint64_t known);
  void pass_on(Sink& sink);
  void close(Sink& sink);
  void has_all(Sink& sink);
  void answer();

  transport::Reactor& reactor_;
  OpenFile open_file_;
  std::string file_, cwd_;
  bool to_all_ = false;
  Idset readers_;
  UniqueFd last_;            // the reading end for the task being started
  std::vector<Sink> sinks_;  // none is added once there is input
  std::size_t open_ = 0;     // how many of them have a reader
  std::size_t lacking_ = 0;  // how many of these lack some of the piece
  std::string piece_;
  std::uint64_t taken_over_ = 0;  // bytes, with the piece
  bool at_end_ = false;
  transport::Request client_;
};

}  // namespace holon::launch
