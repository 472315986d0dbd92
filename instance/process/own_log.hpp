// own_log.hpp - the file that this process has as standard output and error, made again if somebody
// removes it.
#pragma once
#include <string>

namespace holon::instance {

class OwnLog {
 public:
  // If standard error is anything else now, a terminal or a pipe, it is left alone.
  explicit OwnLog(std::string file);

  // Call now and then. If the file cannot be made, the next call tries again.
  void keep() const;

 private:
  std::string file_;
  bool is_ours_ = false;
};

}  // namespace holon::instance
