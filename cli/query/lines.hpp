// lines.hpp - where a session's commands come from: a terminal with history and completion, or any
// file descriptor.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holon::cli::query {

class LineSource {
 public:
  virtual ~LineSource() = default;
  // The next line without its end; nullopt at the end of input. The view lives until the next call.
  virtual std::optional<std::string_view> next() = 0;
};

// Reads `fd` in large blocks. `before_wait` is called before each read, when all lines at hand have
// been given out: the place to flush what a program at the other end waits for. Does not close fd.
std::unique_ptr<LineSource> descriptor_lines(int fd, std::function<void()> before_wait);

// A terminal: `prompt`, editing, a history that is kept in a file of the user's between sessions,
// and completion of commands, their words and file names.
std::unique_ptr<LineSource> terminal_lines(std::string prompt);

}  // namespace holon::cli::query
