#include "cli/query/lines.hpp"

#include <unistd.h>

#include <cerrno>
#include <vector>

namespace holon::cli::query {
namespace {

constexpr std::size_t kBlock = 64 * 1024;

class DescriptorLines : public LineSource {
 public:
  DescriptorLines(int fd, std::function<void()> before_wait)
      : fd_(fd), before_wait_(std::move(before_wait)) {}

  std::optional<std::string_view> next() override {
    for (;;) {
      if (const auto end = buffer_.find('\n', searched_); end != buffer_.npos) return take(end);
      searched_ = buffer_.size();
      if (!at_end_) {
        fill();
        continue;
      }
      if (begin_ == buffer_.size()) return std::nullopt;
      return take(buffer_.size());  // a last line without its end
    }
  }

 private:
  std::string_view take(std::size_t end) {
    const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
    begin_ = std::min(end + 1, buffer_.size());
    searched_ = begin_;
    return line;
  }

  void fill() {
    before_wait_();
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    const std::size_t size = buffer_.size();
    buffer_.resize(size + kBlock);
    ssize_t count = 0;
    do count = ::read(fd_, buffer_.data() + size, kBlock);
    while (count < 0 && errno == EINTR);
    buffer_.resize(size + (count > 0 ? static_cast<std::size_t>(count) : 0));
    at_end_ = count <= 0;
  }

  int fd_;
  std::function<void()> before_wait_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line
  std::size_t searched_ = 0;  // no line ends before here
  bool at_end_ = false;
};

}  // namespace

std::unique_ptr<LineSource> descriptor_lines(int fd, std::function<void()> before_wait) {
  return std::make_unique<DescriptorLines>(fd, std::move(before_wait));
}

}  // namespace holon::cli::query
