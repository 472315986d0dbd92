// wire.hpp - what passes between an agent (or the supervisor) and the starter, and between an agent
// and the keeper of a task. Both ends are the same program on the same machine: structs as they
// are, one a message of a SOCK_SEQPACKET pair.
//
// To the starter: an Ask, with descriptors:
//   run   the keeper's connection, the request (request.hpp) in memory, what becomes 0, 1 and 2,
//         then what becomes 3 and 4 as far as `extras` says so
//   open  the connection for the answer, the request
//   sweep the same: what is left of an earlier run is ended (sweep.hpp), and how much that was
//         comes as the status of an end
//   count none; answered with a Count over the same connection
// What is not of this form is dropped, with the descriptors that came with it.
//
// Over the keeper's connection: Told to the agent (an opened file comes along with it), Order from
// the agent. Its end of file is an order to end everything; the keeper's own end closes it, and
// means that nothing is left.
#pragma once
#include <cstddef>
#include <cstdint>

namespace holon::starter {

inline constexpr std::uint32_t kMagic = 0x686f6c31;
inline constexpr std::size_t kMostDescriptors = 7;

enum class Kind : std::uint32_t { run = 1, open = 2, count = 3, sweep = 4 };
// Names of a starter (prctl(2)): while it may be asked, and then.
inline constexpr const char* kNameOfStarter = "holon-starter";
inline constexpr const char* kNameOfEndingStarter = "holon-ending";
inline constexpr std::uint32_t kSecrets = 1, kWireUp = 2;  // of Ask::extras

struct Ask {
  std::uint32_t magic = kMagic;
  Kind kind = Kind::run;
  std::uint32_t extras = 0;
  std::uint32_t reserved = 0;
};

struct Count {
  std::uint32_t processes = 0;  // requests that are being served, tasks that are kept
};

enum class What : std::uint32_t {
  started = 1,  // pid; it has still to become the user's program
  running,      // it has
  failed,       // step, error: it has not, and has ended or is about to
  ended,        // pid, status, times
  opened,       // the file comes along
};

// The steps on the way to a user's program.
enum class Step : std::uint32_t {
  request = 1,  // the message cannot be read
  account,      // nobody, or somebody who is refused: see text
  start,        // descriptors, processes
  bind,         // CPUs
  become,       // ids and groups
  enter,        // the working directory
  limit,        // a limit of processes; status: which
  find,         // the program along PATH
  run,          // the program itself
  file,         // the file to be opened
};

struct Told {
  std::uint32_t magic = kMagic;
  What what = What::started;
  std::int32_t pid = 0;
  std::int32_t status = 0;  // as in waitpid(2)
  Step step = Step::request;
  std::int32_t error = 0;  // errno
  std::int64_t user_us = 0, system_us = 0, max_rss_kb = 0;
  std::uint32_t nothing_left = 0;  // of ended: the keeper ends, too
  char text[220] = {};             // ends with a zero
};

enum class Do : std::uint32_t { signal = 1, end = 2 };
struct Order {
  std::uint32_t magic = kMagic;
  Do what = Do::signal;
  std::int32_t signal = 0;  // to the task's process group
  std::uint32_t reserved = 0;
};

}  // namespace holon::starter
