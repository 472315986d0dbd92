#include "transport/zmtp/out_buffer.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <utility>

namespace holon::transport {
namespace {

constexpr std::size_t kJoinBelow = 16 << 10;  // bytes; copying is cheaper than one more piece
constexpr std::size_t kPiecesAtOnce = 16;

}  // namespace

void OutBuffer::add(std::string header, std::string bytes) {
  size_ += header.size() + bytes.size();
  if (bytes.size() >= kJoinBelow) {
    pieces_.push_back(std::move(header));
    pieces_.push_back(std::move(bytes));
  } else if (!pieces_.empty() && pieces_.back().size() < kJoinBelow) {
    pieces_.back().append(header).append(bytes);
  } else {
    pieces_.push_back(std::move(header.append(bytes)));
  }
}

bool OutBuffer::write_to(int fd) {
  while (size_ > 0) {
    std::array<iovec, kPiecesAtOnce> pieces;
    std::size_t n = 0;
    for (auto piece = pieces_.begin(); piece != pieces_.end() && n < pieces.size(); ++piece, ++n) {
      const std::size_t skip = n == 0 ? written_ : 0;
      pieces[n] = {piece->data() + skip, piece->size() - skip};
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = n;
    const ssize_t written = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written >= 0)
      remove(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
  }
  return true;
}

void OutBuffer::remove(std::size_t bytes) {
  size_ -= bytes;
  while (bytes > 0) {
    const std::size_t here = pieces_.front().size() - written_;
    if (bytes < here) {
      written_ += bytes;
      return;
    }
    bytes -= here;
    written_ = 0;
    pieces_.pop_front();
  }
}

void OutBuffer::clear() {
  pieces_.clear();
  written_ = size_ = 0;
}

}  // namespace holon::transport
