// output.hpp - the files that tasks write to, and reading them meanwhile.
//
// Tasks hold the files of their output themselves: it survives agent and broker, and costs the
// agent nothing. Labelled output, and that of several tasks into one file, passes through the agent
// line by line. Attached readers read the files.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/messages.hpp"
#include "launch/streams/output_slots.hpp"
#include "transport/rpc.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

using transport::UniqueFd;

// Like open(2): a descriptor or -errno. `own`: the instance has named the file; else the job's user
// has, and it is opened as that user.
using OpenFile = std::function<int(const std::string& path, int flags, bool own)>;
int open_here(const std::string& path, int flags, bool own);

// The file that `pattern` names for one task: "{{taskid}}" and "{{task.id}}" become its rank.
std::string file_of_task(std::string pattern, std::uint32_t rank);

// A file tasks write to, as a reader needs it.
struct OutputFile {
  std::string path;        // absolute
  std::int32_t task = -1;  // -1: shared by the job's tasks
  bool error = false;
  bool own = true;  // as in OpenFile
};

// Bounds how much output of one job's tasks on this node is kept. The rest is dropped, so that no
// task waits, and one line says so.
class OutputBudget {
 public:
  explicit OutputBudget(std::uint64_t bytes) : limit_(bytes), left_(bytes) {}
  // The part of `text` to be written, with that line where it ends.
  std::string take(std::string text);

 private:
  std::uint64_t limit_, left_;
  bool said_ = false;
};

// How a pipe is copied.
struct PumpHow {
  std::string label;                               // in front of each line
  bool whole_lines = true;                         // false: bytes as they come
  std::shared_ptr<OutputBudget> budget = nullptr;  // nullptr: all is kept
};

// Copies a pipe to a file, line by line, each with a label in front (which may be empty): the lines
// of several tasks that share a file do not mix. Lines longer than 64 KiB are cut; with a label the
// last line gets its end.
class LinePump {
 public:
  // Errors: system.
  static Result<std::unique_ptr<LinePump>> create(transport::Reactor& reactor,
                                                  std::shared_ptr<UniqueFd> file, PumpHow how);
  int write_end() const { return write_end_.get(); }
  void close_write_end() { write_end_ = UniqueFd(); }  // once the task has it
  // Takes only what is in the pipe now: a process that got away may hold its other end for ever.
  void finish();

 private:
  LinePump(std::shared_ptr<UniqueFd> file, PumpHow how)
      : file_(std::move(file)), how_(std::move(how)) {}
  bool copy_some();
  void write_lines(bool all);

  std::shared_ptr<UniqueFd> file_;
  PumpHow how_;
  std::string partial_;
  UniqueFd read_end_, write_end_;
  transport::Subscription readable_;
};

// The output of one job's tasks on this node.
class JobOutput {
 public:
  // The descriptors 1 and 2 of one task; -1: /dev/null. Valid until the next call or
  // done_opening().
  struct Ends {
    int out = -1;
    int err = -1;
  };

  // `slot`: written to instead of the files that `start` names; nullptr: the files. The slot must
  // outlive this object, and must not end before finish().
  JobOutput(transport::Reactor& reactor, const msg::Start& start, std::string cwd,
            OpenFile open = open_here, OutputSlot* slot = nullptr);
  // Opens (creates, truncates) the files of task `rank`. Errors: system, denied; the text names the
  // file.
  Result<Ends> open_for(std::uint32_t rank);
  void done_opening();  // closes the agent's own copies
  void finish();        // labelled output is complete
  const std::vector<OutputFile>& files() const { return files_; }

 private:
  using File = std::shared_ptr<UniqueFd>;
  Result<int> open_stream(const std::string& pattern, std::uint32_t rank, bool error);
  Result<File> open_file(const std::string& pattern, std::uint32_t rank, bool error);

  transport::Reactor& reactor_;
  std::string output_, error_, cwd_;
  bool own_output_ = true, own_error_ = true;
  OpenFile open_file_;
  OutputSlot* slot_;
  bool truncate_ = true, label_ = false, keep_lines_ = false;
  struct Open {
    std::string path;
    File file;
  };
  std::vector<Open> open_;
  std::vector<OutputFile> files_;
  std::vector<std::unique_ptr<LinePump>> pumps_;
  std::shared_ptr<OutputBudget> budget_;  // shared with the pumps; nullptr: all is kept
};

// Sends files to an attached reader, from the given offsets on, until the job has ended and all was
// sent.
class OutputFollower {
 public:
  OutputFollower(transport::Reactor& reactor, transport::Request request,
                 const std::vector<OutputFile>& files, const msg::OutputRequest& from,
                 const OpenFile& open = open_here);
  void job_ended();
  bool done() const { return request_.done(); }

 private:
  struct Source {
    OutputFile file;
    UniqueFd fd;
    std::uint64_t offset = 0;
  };
  void send_new();
  bool send_from(Source& source);

  transport::Request request_;
  std::vector<Source> sources_;
  bool ended_ = false;
  transport::Subscription poll_;
};

}  // namespace holon::launch
