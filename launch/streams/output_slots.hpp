// output_slots.hpp - files in which tasks leave their output and which are used again and again.
//
// Most tasks of a campaign write little or nothing, and a file for each of them costs more than
// such a task. A *slot* is a pair of files in the folder of the instance's outputs, for one job at
// a time. What a job wrote into it is handed to the broker with its end, where it is little, and
// becomes files of the job's own name where it is much. A table beside the slots says whose they
// are: of an agent that was killed the next one's broker gives what its tasks have written the
// names of their jobs.
//
// A task hands its descriptor to whom it likes, who can write through it for as long as the file
// has a use. So a slot goes from one user's job to another's with new files only.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/messages.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

class OutputSlots;

// One of both files of a slot.
struct SlotFile {
  std::string path;
  transport::UniqueFd reading;    // and to be emptied
  transport::UniqueFd appending;  // for tasks

  // Makes it, empty. False: it cannot be made (errno).
  bool make();
};

struct SlotFiles {
  std::size_t number = 0;
  SlotFile output, error;
  std::string user;  // whose tasks have had descriptors of these files; as in Start

  // New ones in their place, for this user. False: they cannot be made.
  bool renew_for(const std::string& whose);
};

// A slot as one job has it. One that is not released stays as it is: what it holds is found by its
// table.
class OutputSlot {
 public:
  // What a message takes along of both streams together.
  static constexpr std::size_t kLittle = 16 << 10;  // bytes

  OutputSlot(std::shared_ptr<OutputSlots> all, SlotFiles files, const msg::Start& start)
      : all_(std::move(all)),
        files_(std::move(files)),
        output_of_job_(start.output),
        error_of_job_(start.error) {}
  OutputSlot(const OutputSlot&) = delete;
  OutputSlot& operator=(const OutputSlot&) = delete;

  const std::string& output() const { return files_.output.path; }
  const std::string& error() const { return files_.error.path; }
  // Through which tasks append to one of these files. Until end().
  transport::UniqueFd& appending_to(const std::string& path) {
    return (path == output() ? files_.output : files_.error).appending;
  }

  struct Written {
    std::string output, error;
  };
  // No process of the job is left. What they wrote is returned where it is little, and not `asked`
  // for as files; else it is in those that `start` names.
  Written end(const msg::Start& start, bool asked);
  // What it holds is kept elsewhere: the next job may have it.
  void release();
  // What it holds goes behind what is in the job's files, and the next job may have it; where that
  // fails, too, the next agent tries again.
  void become_files();

 private:
  std::shared_ptr<OutputSlots> all_;
  SlotFiles files_;
  std::string output_of_job_, error_of_job_;  // as Start names them
  bool is_empty_ = false;                     // nothing was written: known since end()
};

class OutputSlots : public std::enable_shared_from_this<OutputSlots> {
 public:
  // `name`: of this agent's slots in the folder; no other agent has the same.
  explicit OutputSlots(std::string name) : name_(std::move(name)) {}
  ~OutputSlots();
  OutputSlots(const OutputSlots&) = delete;
  OutputSlots& operator=(const OutputSlots&) = delete;

  // In the folder of the files that `start` names. nullptr: there can be none there.
  std::unique_ptr<OutputSlot> take(const msg::Start& start);

 private:
  friend class OutputSlot;
  bool use(const std::string& folder);
  std::optional<SlotFiles> take_free(const std::string& user);
  Result<SlotFiles> make(const std::string& user);
  bool note(const SlotFiles& files, const msg::Start* start) const;
  void give_back(SlotFiles files);

  std::string name_, folder_;
  transport::UniqueFd table_;
  std::size_t made_ = 0;
  std::vector<SlotFiles> free_;
};

// The name of an agent's slots.
std::string slots_of(std::uint32_t rank, std::uint64_t incarnation);
// What tasks of agents of this rank have left in slots becomes files of their jobs' names, behind
// what is there of these; those agents, and their tasks, are gone. `spare`: the name of one that is
// not.
void rescue_slots(const std::string& folder, std::uint32_t rank, const std::string& spare);

}  // namespace holon::launch
