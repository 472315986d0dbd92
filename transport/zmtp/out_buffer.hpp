// out_buffer.hpp - bytes on their way to a descriptor that takes them piece by piece. Private to
// transport/.
#pragma once
#include <cstddef>
#include <deque>
#include <string>

namespace holon::transport {

class OutBuffer {
 public:
  std::size_t size() const { return size_; }
  // Adds `bytes` behind `header`. Large ones are not copied.
  void add(std::string header, std::string bytes = {});
  // Writes what the socket `fd` takes now. False: it takes nothing any more.
  bool write_to(int fd);
  void clear();

 private:
  void remove(std::size_t bytes);

  std::deque<std::string> pieces_;
  std::size_t written_ = 0;  // of the first piece
  std::size_t size_ = 0;     // bytes still to be written
};

}  // namespace holon::transport
