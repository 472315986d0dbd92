// agents.cpp - what one broker decides and is told: a real broker, journal on, and agents that
// stand for nodes with 4 cores each, whose tasks are over as soon as they are to be started.
//
// Time is the wall's, of a broker and, in one process beside it, all agents and the client; `ready`
// is from the broker's start until all agents are taken, `run` the time of one job alone.
#include <benchmark/benchmark.h>
#include <hwloc.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "instance/basics/options.hpp"
#include "instance/process/spawn.hpp"
#include "launch/messages.hpp"
#include "launch/topology.hpp"
#include "msg/instance.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "transport/codec/codec.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"
#include "transport/secret.hpp"

namespace holon::instance {
namespace {

constexpr Duration kPatience = 60'000;  // ms

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "bench_agents: " << why << '\n';
  std::abort();
}

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().what);
  return std::move(*result);
}

// What the broker knows of its nodes before their agents come.
enum class Nodes { declared, machines };

std::string synthetic_topology(const char* description) {
  hwloc_topology_t topology = nullptr;
  char* buffer = nullptr;
  int length = 0;
  hwloc_topology_init(&topology);
  if (hwloc_topology_set_synthetic(topology, description) != 0 ||
      hwloc_topology_load(topology) != 0 ||
      hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0) != 0)
    give_up("no topology");
  std::string xml(buffer, static_cast<std::size_t>(length - 1));
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  return xml;
}

// `holon broker` as a supervisor starts it, in a folder of its own.
class Broker {
 public:
  explicit Broker(std::size_t agents, Nodes nodes = Nodes::declared) {
    std::string name = std::filesystem::temp_directory_path() / "holon-agents-XXXXXX";
    if (!mkdtemp(name.data())) give_up("no folder " + name);
    dir_ = name;
    if (nodes == Nodes::declared)
      options_.start.resources = "node=" + std::to_string(agents) + "/core=4";
    else
      for (std::size_t rank = 0; rank < agents; ++rank)
        options_.hosts.push_back("n" + std::to_string(rank));
    options_.start.state_dir = dir_ + "/state";
    options_.runtime_dir = dir_ + "/run";
    for (std::size_t rank = 0; rank < agents; ++rank)
      options_.secrets.agents.push_back(transport::new_secret());
    for (const auto& made : {options_.start.state_dir, options_.runtime_dir}) {
      std::filesystem::create_directory(made);
      std::filesystem::permissions(made, std::filesystem::perms::owner_all);
    }
    std::ofstream(options_.runtime_dir + "/instance.json") << must(write_options(options_));
    const auto holon = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "holon";
    const auto secrets = must(transport::secret_in_descriptor(write_secrets(options_.secrets)));
    pid_ = must(
        spawn({{holon, "broker", options_.runtime_dir, "--secrets", std::to_string(secrets.get())},
               {secrets.get()},
               true}));
  }
  ~Broker() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(dir_);
  }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  std::string uri() const { return "ipc://" + options_.runtime_dir + "/broker"; }
  const std::vector<std::string>& secrets() const { return options_.secrets.agents; }
  double memory_in_mib() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
    return 0;
  }

 private:
  std::string dir_;
  BrokerOptions options_;
  pid_t pid_ = 0;
};

// How agents say what their nodes are: not at all, each for itself, or when they are asked.
struct Topology {
  std::string xml;
  bool is_always_sent = false;
};

class Agents {
 public:
  explicit Agents(const Broker& broker, Topology topology = {})
      : reactor_(must(transport::Reactor::create())), topology_(std::move(topology)) {
    wait_for([&] { return std::filesystem::exists(broker.uri().substr(6)); }, "the broker");
    client_ = must(transport::Client::connect(*reactor_, broker.uri()));
    for (const std::string& secret : broker.secrets()) add(broker, secret);
    wait_for([&] { return taken_ == links_.size(); }, "the agents");
  }
  double said_in_mib() const { return static_cast<double>(said_) / (1 << 20); }

  // Until all of them are over, and the broker has said so of the reports.
  void run(std::uint64_t jobs) {
    const std::uint64_t end = over_ + jobs;
    msg::SubmitRequest ask;
    ask.jobspec = jobspec();
    ask.count = jobs;
    client_->call({"submit", transport::pack(ask)}, [](const Result<std::string>& answer) {
      if (!answer) give_up(answer.error().what);
    });
    wait_for([&] { return over_ >= end; }, "the jobs");
  }

 private:
  struct Link {
    std::unique_ptr<transport::Client> client;
    launch::msg::Report report;  // not said yet
  };

  static std::string jobspec() {
    resource::JobShape shape;
    shape.command = {"true"};
    shape.cwd = "/";
    return resource::write_jobspec(must(resource::jobspec_for(shape)));
  }

  void add(const Broker& broker, const std::string& secret) {
    Link& link = *links_.emplace_back(std::make_unique<Link>());
    link.client = must(transport::Client::connect(*reactor_, broker.uri()));
    link.client->on_request([&link](const transport::Request& request) {
      if (request.topic() == "agent.start")
        finish(must(transport::unpack<launch::msg::StartRequest>(request.payload())), link.report);
      request.reply(transport::pack(launch::msg::Empty{}));
    });
    launch::msg::Hello hello;
    hello.rank = static_cast<std::uint32_t>(links_.size() - 1);
    hello.incarnation = links_.size();
    hello.hostname = "n" + std::to_string(hello.rank);
    hello.secret = secret;
    hello.topology_digest = launch::topology_digest(topology_.xml);
    say_hello(link, std::move(hello), topology_.is_always_sent);
  }

  void say_hello(Link& link, launch::msg::Hello hello, bool with_topology) {
    if (with_topology) hello.topology = topology_.xml;
    std::string packed = transport::pack(hello);
    said_ += packed.size();
    link.client->call({"agent.hello", std::move(packed)},
                      [this, &link, hello = std::move(hello)](const Result<std::string>& answer) {
                        const auto welcome =
                            must(transport::unpack<launch::msg::Welcome>(must(answer)));
                        if (welcome.wants_topology) return say_hello(link, hello, true);
                        if (!welcome.accepted) give_up("an agent was not taken");
                        ++taken_;
                      });
  }

  static void finish(const launch::msg::StartRequest& start, launch::msg::Report& report) {
    for (const auto& job : start.jobs) {
      report.started.push_back({job.job, 0, {{1, 0}}});
      launch::msg::Finished finished;
      finished.job = job.job;
      finished.reason = "exit";
      finished.in_slot =
          job.in_slot;  // as an agent says it of tasks that have no file of their own
      finished.tasks = {{.rank = 0, .status = 0, .started = true}};
      report.finished.push_back(std::move(finished));
    }
  }

  void say(Link& link) {
    if (link.report.finished.empty()) return;
    const auto said = link.report.finished.size();
    link.client->call({"agent.report", transport::pack(std::exchange(link.report, {}))},
                      [this, said](const Result<std::string>& answer) {
                        must(answer);
                        over_ += said;
                      });
  }

  template <class Done>
  void wait_for(const Done& done, const char* what) {
    const auto begin = std::chrono::steady_clock::now();
    while (!done()) {
      reactor_->turn(10);
      for (const auto& link : links_) say(*link);
      if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(kPatience))
        give_up(std::string("waited in vain for ") + what);
    }
  }

  std::unique_ptr<transport::Reactor> reactor_;
  std::unique_ptr<transport::Client> client_;
  std::vector<std::unique_ptr<Link>> links_;
  Topology topology_;
  std::size_t taken_ = 0, said_ = 0;
  std::uint64_t over_ = 0;
};

double seconds_of(const std::function<void()>& what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Agents; jobs of one request.
void BM_StubbedTasks(benchmark::State& state) {
  std::unique_ptr<Broker> broker;
  std::unique_ptr<Agents> agents;
  state.counters["ready_ms"] =
      1000 * seconds_of([&] {
        broker = std::make_unique<Broker>(static_cast<std::size_t>(state.range(0)));
        agents = std::make_unique<Agents>(*broker);
      });
  state.counters["broker_MiB"] = broker->memory_in_mib();
  const int alone = 100;
  state.counters["run_ms"] = 1000 / double{alone} * seconds_of([&] {
                               for (int i = 0; i < alone; ++i) agents->run(1);
                             });
  const auto jobs = static_cast<std::uint64_t>(state.range(1));
  for (auto _ : state) agents->run(jobs);
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(BM_StubbedTasks)
    ->ArgsProduct({{1, 4, 16, 64, 256}, {20'000}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);

// Agents of equal nodes that are not the broker's equal, with 128 cores each; 1: each sends its
// topology.
void BM_Gather(benchmark::State& state) {
  constexpr const char* kNode = "pack:2 numa:4 l3:2 core:8 pu:2";
  const Topology topology{launch::portable_topology(synthetic_topology(kNode)),
                          state.range(1) == 1};
  for (auto _ : state) {
    Broker broker(static_cast<std::size_t>(state.range(0)), Nodes::machines);
    const Agents agents(broker, topology);
    state.counters["broker_MiB"] = broker.memory_in_mib();
    state.counters["said_MiB"] = agents.said_in_mib();
  }
}
BENCHMARK(BM_Gather)
    ->ArgsProduct({{4, 64, 256}, {1, 0}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace holon::instance
