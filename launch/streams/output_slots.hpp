// output_slots.hpp - files for the output of one job after the other.
//
// Most tasks of a campaign write little or nothing, and a file for each costs more than such a
// task. A *slot* is a pair of files in the folder of the instance's outputs, for one job at a time.
// A job's output in it is handed to the broker with the job's end, if it is little, or becomes
// files of the job's own name, if it is much. A table beside the slots says whose they are: after a
// killed agent the broker of the next one moves its tasks' output to the names of their jobs.
//
// A task may hand its descriptor to any process, which can write through it as long as the file is
// used. So a slot goes from one user's job to another's only with new files.
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

// One of the two files of a slot.
struct SlotFile {
  std::string path;
  transport::UniqueFd reading;    // and for emptying
  transport::UniqueFd appending;  // for tasks

  // Makes the file, empty. False: it cannot be made (errno).
  bool make();
};

struct SlotFiles {
  std::size_t number = 0;
  SlotFile output, error;
  std::string user;  // whose tasks have had descriptors of these files; as in Start

  // Replaces both files for this user. False: they cannot be made.
  bool renew_for(const std::string& whose);
};

// A slot in one job's use. A slot that is not released stays as it is: the table leads to its
// contents.
class OutputSlot {
 public:
  // The most bytes of both streams that a message carries.
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
  // Through this tasks append to one of these files. Valid until end().
  transport::UniqueFd& appending_to(const std::string& path) {
    return (path == output() ? files_.output : files_.error).appending;
  }

  struct Written {
    std::string output, error;
  };
  // No process of the job is left. Returns the output if it is little, and not `asked` for as
  // files; else it is in the files that `start` names.
  Written end(const msg::Start& start, bool asked);
  // The contents are kept elsewhere: the next job may have the slot.
  void release();
  // Moves the contents behind what is in the job's files, and the next job may have the slot; if
  // that fails, too, the next agent tries again.
  void become_files();

 private:
  std::shared_ptr<OutputSlots> all_;
  SlotFiles files_;
  std::string output_of_job_, error_of_job_;  // as Start names them
  bool is_empty_ = false;                     // nothing was written; known since end()
};

class OutputSlots : public std::enable_shared_from_this<OutputSlots> {
 public:
  // `name`: of this agent's slots in the folder; no other agent has it.
  explicit OutputSlots(std::string name) : name_(std::move(name)) {}
  ~OutputSlots();
  OutputSlots(const OutputSlots&) = delete;
  OutputSlots& operator=(const OutputSlots&) = delete;

  // A slot in the folder of the files that `start` names. nullptr: no slot can be there.
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
// Moves the output that tasks of agents of this rank left in slots to the files of their jobs,
// behind what is there; those agents, and their tasks, are gone. `spare`: the name of a live
// agent's slots.
void rescue_slots(const std::string& folder, std::uint32_t rank, const std::string& spare);

}  // namespace holon::launch
