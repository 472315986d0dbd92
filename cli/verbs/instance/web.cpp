// holon web: the live page.
#include <fmt/format.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text/printable.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/top/observe.hpp"
#include "cli/verbs.hpp"
#include "instance/registry/registry.hpp"
#include "transport/unique_fd.hpp"
#include "web/address_file.hpp"
#include "web/server.hpp"

namespace holon::cli {
namespace {

constexpr std::int64_t kMostPorts = 65'535;

struct WebArgs {
  web::WebOptions options;
  std::int64_t port = 0;
  bool json = false;
  std::string address_file;
};

web::KeptAddress address_of(const web::WebServer& server, const web::WebOptions& options) {
  const bool at_port = server.port() != 0;
  const std::string base = fmt::format("http://{}:{}/?token=", at_port ? options.host : "127.0.0.1",
                                       at_port ? server.port() : 8080);
  web::KeptAddress address;
  address.look = server.look_token();
  address.write = server.write_token();
  address.address = base + address.look;
  if (options.write) address.write_address = base + address.write;
  address.socket = options.socket;
  address.host = instance::own_host_name();
  address.port = server.port();
  return address;
}

// Tells where the page is: to a person with a word about it, to a program as JSON.
void say_where(Invocation& call, const web::KeptAddress& at, bool json) {
  if (json) {
    call.io.out << pretty({{"address", at.address},
                           {"write_address", at.write_address},
                           {"socket", at.socket},
                           {"port", at.port}});
  } else {
    if (at.port == 0)
      call.io.out << fmt::format("ssh -L 8080:{} HOST, then\n", printable(at.socket));
    call.io.out << at.address << "\n";
    if (!at.write_address.empty())
      call.io.out << "to change things, too: " << at.write_address << "\n";
  }
  call.io.out << std::flush;
}

// Serves at the port that the page had before, with the same secrets; at another one where somebody
// else has that port now.
Result<std::unique_ptr<web::WebServer>> serve_as_before(Invocation& call, web::WebOptions options,
                                                        const web::KeptAddress& before) {
  const bool may_move = options.port == 0 && options.socket.empty();
  if (may_move) options.port = before.port;
  options.look_token = before.look;
  options.write_token = before.write;
  auto observer = connect_observer(call);
  if (!observer) return tl::unexpected(observer.error());
  auto server = web::WebServer::start(std::move(*observer), options);
  if (server || !may_move || options.port == 0 || server.error().code != Errc::exists)
    return server;
  options.port = 0;
  observer = connect_observer(call);
  if (!observer) return tl::unexpected(observer.error());
  return web::WebServer::start(std::move(*observer), std::move(options));
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
      .option("--address-file", args.address_file, "FILE",
              "keep the address in this file, which only you can read; a page that is served with "
              "it again has the same port and secret")
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
  web::AddressFile file;
  if (!args.address_file.empty()) {
    auto taken = web::AddressFile::take(args.address_file);
    if (!taken) return report(call, "web", taken.error());
    file = std::move(*taken);
  }
  transport::raise_descriptor_limit();
  auto server = serve_as_before(call, args.options, file.before());
  if (!server) return report(call, "web", server.error());
  const web::KeptAddress address = address_of(**server, args.options);
  if (!args.address_file.empty())
    if (auto kept = file.write(address); !kept) return report(call, "web", kept.error());
  std::vector<transport::Subscription> signals;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (transport::is_ignored(signal)) continue;
    auto caught = (*server)->reactor().on_signal(signal, [&server] { (*server)->stop(); });
    if (caught) signals.push_back(std::move(*caught));
  }
  say_where(call, address, args.json);
  const auto ended = (*server)->run();
  if (!ended && ended.error().code != Errc::disconnected) return report(call, "web", ended.error());
  if (!ended && call.io.err_terminal) call.io.err << "holon web: the instance has ended\n";
  return kOk;
}

}  // namespace holon::cli
