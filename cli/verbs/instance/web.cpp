// holon web: the live page.
#include <fmt/format.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/verbs.hpp"
#include "transport/unique_fd.hpp"
#include "web/server.hpp"

namespace holon::cli {
namespace {

constexpr std::int64_t kMostPorts = 65'535;

struct WebArgs {
  web::WebOptions options;
  std::int64_t port = 0;
  bool json = false;
};

Result<client::Observer> connect_observer(const Invocation& call) {
  const auto uri = client::find_instance(describe);
  if (!uri) return tl::unexpected(uri.error());
  client::Address address;
  address.uri = *uri;
  address.path = call.instance;
  address.on_wait = [&call](const std::string& notice) {
    call.io.err << "holon: " << printable(notice) << "\n" << std::flush;
  };
  return client::Observer::connect(address);
}

// Tells where the page is: to a person with a word about it, to a program as JSON.
void say_where(Invocation& call, const web::WebServer& server, const WebArgs& args) {
  const bool at_port = server.port() != 0;
  const std::string host = at_port ? args.options.host : "127.0.0.1";
  const std::string base = fmt::format("http://{}:{}/", host, at_port ? server.port() : 8080);
  const std::string look = base + "?token=" + server.look_token();
  const std::string write = args.options.write ? base + "?token=" + server.write_token() : "";
  if (args.json) {
    call.io.out << pretty({{"address", look},
                           {"write_address", write},
                           {"socket", args.options.socket},
                           {"port", server.port()}});
  } else {
    if (!at_port)
      call.io.out << fmt::format("ssh -L 8080:{} HOST, then\n", printable(args.options.socket));
    call.io.out << look << "\n";
    if (!write.empty()) call.io.out << "to change things, too: " << write << "\n";
  }
  call.io.out << std::flush;
}

}  // namespace

int verb_web(Invocation& call) {
  WebArgs args;
  Parser parser("web", "a live page about an instance, for a browser");
  parser.group("Options")
      .option("--port", number_up_to(kMostPorts, args.port), "N",
              "where to listen; a free port unless given")
      .option("--host", args.options.host, "ADDRESS",
              "listen at this address of the machine, or 0.0.0.0, and not at 127.0.0.1: other "
              "machines reach it, by a connection that is not encrypted")
      .option("--socket", args.options.socket, "FILE",
              "listen at this unix socket, which only you can open, and at no port")
      .flag("--write", args.options.write,
            "print a second address, by which jobs can be cancelled and retried and nodes drained")
      .instance(call)
      .json(args.json)
      .note(
          "Prints the address of the page, and serves it until Ctrl-C or the end of the instance. "
          "The "
          "page shows the instance and all below it: what runs, what waits and why, what failed, "
          "who "
          "has which nodes, over time. It sees what you see with `holon jobs`. The secret in the "
          "address is all that it takes to look: other users of this machine can reach the port. "
          "From "
          "another machine: ssh -L 8080:127.0.0.1:PORT HOST. /metrics is for Prometheus.")
      .example("holon web", "then open the address in a browser")
      .example("holon web -i /3 --write", "of a child, with buttons")
      .example("holon web --socket /run/user/1000/page",
               "for ssh -L 8080:/run/user/1000/page HOST");
  if (const auto code = parser.parse(call)) return *code;
  if (!web::has_page())
    return report(call, "web",
                  {Errc::unsupported,
                   "this holon was built without the page: npm or esbuild was missing "
                   "(scripts/install-deps installs them)",
                   ""});
  args.options.port = static_cast<std::uint16_t>(args.port);
  args.options.program = "/proc/self/exe";
  auto observer = connect_observer(call);
  if (!observer) return report(call, "web", observer.error());
  transport::raise_descriptor_limit();
  auto server = web::WebServer::start(std::move(*observer), args.options);
  if (!server) return report(call, "web", server.error());
  std::vector<transport::Subscription> signals;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (transport::is_ignored(signal)) continue;
    auto caught = (*server)->reactor().on_signal(signal, [&server] { (*server)->stop(); });
    if (caught) signals.push_back(std::move(*caught));
  }
  say_where(call, **server, args);
  const auto ended = (*server)->run();
  if (!ended && ended.error().code != Errc::disconnected) return report(call, "web", ended.error());
  if (!ended && call.io.err_terminal) call.io.err << "holon web: the instance has ended\n";
  return kOk;
}

}  // namespace holon::cli
