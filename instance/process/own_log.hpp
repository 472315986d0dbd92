// own_log.hpp - the file that the standard output and error of this process are, made again where
// somebody removes it.
#pragma once
#include <string>

namespace holon::instance {

class OwnLog {
 public:
  // Whatever else the standard error is now, a terminal or a pipe, is left alone.
  explicit OwnLog(std::string file);

  // To be called now and then. Where the file cannot be made it is tried again the next time.
  void keep() const;

 private:
  std::string file_;
  bool is_ours_ = false;
};

}  // namespace holon::instance
