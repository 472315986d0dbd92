// request.hpp - what the starter is asked to run or to open. The agent writes it, and the starter
// believes nothing of it: every length is bounded before it is used, and what is left over is an
// error.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::starter {

inline constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // of all of it
inline constexpr std::size_t kMostWords = 200'000;               // of argv, of env
inline constexpr std::size_t kMostCpus = 1 << 16;
inline constexpr std::size_t kMostLimits = 64;

inline constexpr std::uint32_t kUsualMask = ~0U;  // as of Settings

// Spares processes below a starter that still starts tasks.
inline constexpr std::uint32_t kSpareStarted = 1;

// A limit of setrlimit(2).
struct Limit {
  std::uint32_t resource = 0;  // RLIMIT_NOFILE, ...
  std::uint64_t value = 0;

  bool operator==(const Limit&) const = default;
};

struct Request {
  std::string user;                 // a name of the system's
  std::vector<std::string> argv;    // run; argv[0] is looked for along the PATH of `env`
  std::vector<std::string> env;     // run: "KEY=VALUE"
  std::string cwd;                  // run; "": the user's home
  std::vector<std::uint64_t> cpus;  // run: mask; empty: the starter's
  std::uint64_t descriptors = 0;    // run: soft limit of open files; 0: the starter's
  std::vector<Limit> limits;        // run: set last, with the user's rights
  // open; absolute. sweep: the folder in whose output/ the instance's jobs write; "": none
  std::string path;
  std::uint32_t flags = 0;  // open: as in open(2), of those in kOpenFlags; sweep: kSpareStarted
  std::uint32_t file_mask = kUsualMask;  // umask(2), at most 0777
  std::string lineage = {};              // sweep: the beginning of those of its jobs, "MARK/"

  bool operator==(const Request&) const = default;
};

std::string encode(const Request& request);
// Reads a request. Errors: invalid_argument.
Result<Request> decode(std::string_view bytes);

// Can the request be run, opened, or looked for? No words with zero bytes, an absolute path, known
// flags and limits. Errors: invalid_argument.
Status check_run(const Request& request);
Status check_open(const Request& request);
// Is the lineage that of an instance, not a part of every instance's?
Status check_sweep(const Request& request);

}  // namespace holon::starter
