// private_munge.hpp - a real munged for one test, with a key of the test's own.
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace holon::system_test {

// Why there can be none here: GTEST_SKIP() << that. "": there can.
inline std::string no_munged() {
  return access("/usr/sbin/munged", X_OK) == 0 ? "" : "munge is not installed";
}

// Of all daemons of a test. `folder`: the sandbox's.
inline std::string write_munge_key(const std::string& folder) {
  const std::string file = folder + "/munge.key";
  std::ofstream(file) << std::string(64, 'k') << folder;
  chmod(file.c_str(), 0600);
  return file;
}

// A daemon in the foreground that listens at `socket` and has its own files in `folder`.
inline std::vector<std::string> munged_words(const std::string& key, const std::string& folder,
                                             const std::string& socket) {
  return {"/usr/sbin/munged",
          "-F",
          "--force",
          "--key-file=" + key,
          "--socket=" + socket,
          "--pid-file=" + folder + "/munged.pid",
          "--log-file=" + folder + "/munged.log",
          "--seed-file=" + folder + "/munged.seed"};
}

}  // namespace holon::system_test
