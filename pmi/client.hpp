// client.hpp - one of N tasks that Slurm, MPICH's mpiexec or a holon agent started: it exchanges a
// few keys with the others over the descriptor it inherited (PMI_FD).
//
// Blocking, with a deadline for each call: it is used before there is an event loop. After an error
// the connection is of no more use.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "pmi/message.hpp"

namespace holon::pmi {

enum class Version { one = 1, two = 2 };

class Client {
 public:
  struct Task {
    int fd = -1;  // stays the caller's
    std::uint64_t rank = 0, size = 1;
    std::string job;  // PMI_JOBID; only PMI-2 asks for it
  };

  // Says hello. `patience`: ms for each call. Errors: unsupported (the server does not speak this
  // version), timed_out, disconnected, protocol.
  static Result<Client> hello(Task task, Version version, Duration patience);

  // Puts a pair. Neither text is empty, nor has blanks, control characters or ';' in it. Errors:
  // out_of_range (longer than the server takes), invalid_argument, and those of hello().
  Status put(const std::string& key, const std::string& value);
  // Waits until all tasks have come here; pairs put before are seen by all after it.
  Status fence();
  // The value put by some task before the last fence. Errors: not_found, and those of hello().
  Result<std::string> get(const std::string& key);
  // Says the last word: a server may end all tasks if one leaves without it.
  Status finalize();

  std::uint64_t rank() const { return task_.rank; }
  std::uint64_t size() const { return task_.size; }

 private:
  Client(Task task, Version version, Duration patience)
      : task_(std::move(task)), version_(version), patience_(patience) {}
  Status begin();
  Status begin_one();
  Status begin_two();
  Result<Message> ask(const Message& question, const std::string& answer);
  Result<Message> ask_as(bool framed, const Message& question, const std::string& answer);
  Status send(const std::string& bytes, Time deadline);
  Result<Message> receive(bool framed, Time deadline);
  Status wait_for(short events, Time deadline) const;

  Task task_;
  Version version_;
  Duration patience_;
  std::string name_;  // of the key-value space
  std::size_t max_key_ = kMaxKey, max_value_ = kMaxValue;
  std::string buffer_;
};

}  // namespace holon::pmi
