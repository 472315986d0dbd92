// io.hpp - where a verb reads and writes, and what the reader at the other end can show.
//
// Verbs write to `out` what was asked for and to `err` what went wrong, never to the process's own
// streams, so that tests run them in-process and look at both.
#pragma once
#include <iosfwd>
#include <string>
#include <string_view>

namespace holon::cli {

struct Io {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;      // `out` is a person's terminal
  bool err_terminal = false;  // `err` is one
  bool dumb = false;          // the terminal cannot draw a line over itself: TERM is dumb or unset
  bool colour = false;        // on a terminal that is not dumb, unless NO_COLOR is set
  bool unicode = false;       // the locale is UTF-8, so box characters are safe
  int width = 0;              // columns of the terminal; 0: as wide as the text is
  int input = -1;             // descriptor of standard input; -1: there is none to be passed on
};

// The process's own streams. Reads isatty, the window size, TERM, NO_COLOR, COLUMNS and the
// locale variables.
Io standard_io();

enum class Colour { plain, bold, dim, red, green, yellow, cyan };

// `text` between the escape codes of `colour`, or just `text` where io.colour is off.
std::string paint(const Io& io, Colour colour, std::string_view text);

}  // namespace holon::cli
