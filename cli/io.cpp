#include "cli/io.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace holon::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The first of the three that is set decides, as in setlocale(3).
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

int window_width() {
  const std::string columns = environment("COLUMNS");
  if (!columns.empty()) return std::atoi(columns.c_str());
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::plain:
      return "0";
    case Colour::bold:
      return "1";
    case Colour::dim:
      return "2";
    case Colour::red:
      return "31";
    case Colour::green:
      return "32";
    case Colour::yellow:
      return "33";
    case Colour::cyan:
      return "36";
  }
  return "0";
}

}  // namespace

Io standard_io() {
  Io io{std::cout, std::cerr};
  io.terminal = isatty(STDOUT_FILENO) == 1;
  io.err_terminal = isatty(STDERR_FILENO) == 1;
  io.input = STDIN_FILENO;
  const std::string kind = environment("TERM");
  io.dumb = kind.empty() || kind == "dumb";
  io.colour = io.terminal && !io.dumb && environment("NO_COLOR").empty();
  io.unicode = locale_is_utf8();
  io.width = io.terminal ? window_width() : 0;
  return io;
}

std::string paint(const Io& io, Colour colour, std::string_view text) {
  if (!io.colour || colour == Colour::plain) return std::string(text);
  return "\x1b[" + std::string(code_of(colour)) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace holon::cli
