// runtime_files.hpp - an instance's runtime directory, made again where somebody clears up: what is
// old in /tmp is removed on many systems.
#pragma once
#include <map>
#include <string>

#include "base/result.hpp"

namespace holon::instance {

class RuntimeFiles {
 public:
  // Remembers the files that are there now, with what is in them.
  explicit RuntimeFiles(std::string dir);

  bool whole() const;
  // Makes what is missing. Errors: system.
  Status restore() const;
  // They are younger now than anything that is cleared up by age.
  void touch() const;

 private:
  std::string dir_;
  std::map<std::string, std::string> files_;  // by name
};

}  // namespace holon::instance
