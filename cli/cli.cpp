#include "cli/cli.hpp"

#include <fmt/core.h>

#include <ostream>

#include "cli/io.hpp"
#include "cli/options/help.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

bool takes_path(const std::string& word) {
  return word == "-i" || word == "--instance";
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
    call.args.erase(call.args.begin(), call.args.begin() + 2);
  }
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
  if (call.args[0] == "--version") call.args[0] = "version";
  return dispatch(verbs(), "holon", call);
}

int run(int argc, char** argv) {
  Io io = standard_io();
  return run(io, std::vector<std::string>(argv + 1, argv + argc));
}

}  // namespace holon::cli
