#include "cli/cli.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <string_view>

#include "cli/io.hpp"
#include "cli/parser/help.hpp"
#include "cli/show/table.hpp"
#include "cli/slurm/tools.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

bool takes_path(const std::string& word) {
  return word == "-i" || word == "--instance";
}

int run_verb(Invocation& call) {
  Io& io = call.io;
  if (call.args.empty()) {
    io.err << render_overview(io, verbs());
    return kUsage;
  }
  if (call.args[0] == "--help" || call.args[0] == "-h" || call.args[0] == "help") {
    if (call.args.size() == 1) {
      io.out << render_overview(io, verbs());
      return kOk;
    }
    call.args.erase(call.args.begin());  // holon help VERB
    call.args.push_back("--help");
  }
  if (call.args[0] == "--version" || call.args[0] == "-V") call.args[0] = "version";
  return dispatch(verbs(), "holon", call);
}

// Fails, and says so, where the verb's output could not be written; not if the reader has closed
// its end of the pipe (EPIPE), nor after a failure that the verb has told already.
int written(Io& io, const std::string& verb, int code) {
  errno = 0;
  const bool was_bad = !io.out.flush();
  if (was_bad && errno == 0) {  // it went wrong earlier: the system says why at the next byte
    io.out.clear();
    io.out << '\n' << std::flush;
  }
  const int why = errno;
  if (!was_bad || code != kOk || why == EPIPE) return code;
  io.err << fmt::format("holon {}: its output cannot be written{}{}\n", printable(verb),
                        why == 0 ? "" : ": ", why == 0 ? "" : std::strerror(why));
  return kFailed;
}

// Opens those of descriptors 0 to 2 that were closed when this process started, lest a socket gets
// one of them. Standard output is opened for reading only, so that writes fail as they would have;
// not for an instance, which is to live without a reader.
void take_closed_descriptors(bool starts_instance) {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool fails = fd == STDOUT_FILENO && !starts_instance;
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fails ? O_RDONLY : O_RDWR) < 0) return;
  }
}

}  // namespace

int run(Io& io, std::vector<std::string> args) {
  Invocation call{io, std::move(args), "", false};
  if (call.args.size() == 1 && takes_path(call.args[0])) {
    io.err << fmt::format("holon: {}: a value is missing; / is the root, /3/7 a path\n",
                          call.args[0]);
    return kUsage;
  }
  if (call.args.size() >= 2 && takes_path(call.args[0])) {
    call.instance = call.args[1];
    if (call.instance.empty()) {
      io.err << fmt::format("holon: {}: its value is empty\n", call.args[0]);
      return kUsage;
    }
    call.args.erase(call.args.begin(), call.args.begin() + 2);
  }
  const std::string verb = call.args.empty() ? "" : call.args[0];
  return written(io, verb, run_verb(call));
}

int run(int argc, char** argv) {
  take_closed_descriptors(argc > 1 && std::string_view(argv[1]) == "start");
  Io io = standard_io();
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (const auto command = argc > 0 ? slurm::command_called(argv[0]) : nullptr) {
    slurm::Call call{argv[0], slurm::name_called(argv[0]), words, io};
    return written(io, call.name, command(call));
  }
  return run(io, words);
}

}  // namespace holon::cli
