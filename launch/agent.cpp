// agent.cpp - the conversation with the broker.
//
// Events are reported once per turn; a result is kept until the broker has acknowledged it, and
// repeated in the hello of every new connection. So neither side needs to know which of the two was
// restarted.
#include "launch/agent.hpp"

#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "launch/files/job_files.hpp"
#include "launch/files/place_files.hpp"
#include "launch/hardware/gpus.hpp"
#include "launch/tasks/known_machine.hpp"
#include "launch/jobs.hpp"
#include "launch/news/late_answers.hpp"
#include "launch/remote/output_note.hpp"
#include "launch/remote/output_sender.hpp"
#include "launch/remote/relay.hpp"
#include "launch/streams/capture.hpp"
#include "launch/tasks/starter_processes.hpp"
#include "launch/topology.hpp"
#include "launch/tracking/cores.hpp"
#include "launch/tracking/leftovers.hpp"
#include "launch/tracking/lineage.hpp"
#include "launch/tracking/taken_units.hpp"
#include "transport/codec/codec.hpp"
#include "transport/dispatcher.hpp"

namespace holon::launch {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

// A loss shorter than this is no news: an instance ends, or a broker is restarted.
constexpr Duration kQuietLoss = 1000;
// How long jobs have to heed SIGTERM after the supervisor's end.
constexpr Duration kHurriedGrace = 5'000;
constexpr Duration kBrokerFirst = 500;  // for the broker to begin the end
constexpr Duration kLastWord = 500;     // for the broker to acknowledge results
constexpr Duration kOrphansAgain = 10;  // ms between two looks whether they are gone
constexpr Duration kAnswerAfter = 20;   // ms after which a start is answered without a report
constexpr Duration kAgain =
    1000;  // ms until something the broker answered with an error is said again

std::int64_t since_boot_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000 + t.tv_nsec / 1'000'000;
}

std::string own_hostname() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::vector<std::string> split(const char* text) {
  std::vector<std::string> words;
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    const auto comma = rest.find(',');
    words.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return words;
}

// GPU number i is the i-th device shown to the root's agent; its children pass the root's list on.
NodeFrame frame_of(const Node& node, bool nested) {
  const char* const lineage = std::getenv(kLineage);
  auto devices = nested ? split(std::getenv("HOLON_GPU_DEVICES"))
                        : names_of_gpus(node.gpus_by_number(), visible_gpus(node.makers()));
  const bool amd = node.makers().contains(Maker::amd) && !node.makers().contains(Maker::nvidia);
  const bool has_some = node.gpus() > 0 || !devices.empty();
  const char* const files = std::getenv("HOLON_JOB_TMPDIR");
  return {node.cpuset(),
          std::move(devices),
          has_some,
          amd,
          lineage != nullptr ? lineage : "",
          files != nullptr ? files : ""};
}

std::shared_ptr<spdlog::logger> make_logger(const AgentOptions& options) {
  auto logger = std::make_shared<spdlog::logger>("agent " + std::to_string(options.rank),
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_level(spdlog::level::from_str(options.log_level));
  return logger;
}

}  // namespace

class Agent::Impl {
 public:
  Impl(transport::Reactor& reactor, AgentOptions options, Ground ground,
       std::unique_ptr<ProcessTracking> tracking)
      : reactor_(reactor),
        options_(std::move(options)),
        log_(make_logger(options_)),
        incarnation_((std::uint64_t{std::random_device()()} << 32) | std::random_device()()),
        topology_(portable_topology(ground.topology.empty() ? ground.node.xml() : ground.topology)),
        shown_(std::move(ground.shown)),
        processes_(*ground.processes),
        tracking_(*tracking),
        jobs_(JobContext{reactor, std::move(ground.processes), std::move(ground.node),
                         std::move(ground.frame), std::move(tracking),
                         std::make_shared<OutputSlots>(slots_of(options_.rank, incarnation_)),
                         [this](const msg::Start& start, std::function<void()> done) {
                           return keeper_ && keeper_->deliver(start, std::move(done));
                         }}),
        captures_(reactor, processes_, tracking_) {
    if (options_.lasts > 0) ends_ = saturating_add(reactor.now(), options_.lasts);
  }

  Status connect() {
    transport::Options options;
    options.name = "agent " + std::to_string(options_.rank);
    options.security = options_.security;
    auto client = transport::Client::connect(reactor_, options_.broker_uri, options);
    if (!client) return tl::unexpected<Error>(client.error());
    client_ = std::move(*client);
    if (!options_.security.secret_key.empty()) {
      std::optional<msg::VouchRequest> users;
      if (options_.starter >= 0) users = {options_.rank, options_.secret, 0, 0};
      auto relay = Relay::open(reactor_, *client_, options_.broker_uri, options,
                               options_.runtime_dir, std::move(users));
      if (!relay) return tl::unexpected<Error>(relay.error());
      relay_ = std::move(*relay);
      if (options_.at_hand)
        std::fprintf(stderr, "holon join: here it is reached at HOLON_URI=%s\n",
                     relay_->uri().c_str());
    }
    client_->on_connected([this](const transport::PeerInfo& broker) {
      tell_of_loss_.cancel();
      log_->info(fmt::format("connected to broker {}", broker.pid));
      broker_pid_ = static_cast<pid_t>(broker.pid);
      jobs_.forget_programs();
      say_hello();
    });
    client_->on_lost([this] {
      tell_of_loss_ = reactor_.after(kQuietLoss, [this] {
        log_->warn(fmt::format("lost the broker; {} jobs run on", jobs_.running().size()));
      });
      hello_again_.cancel();
      given_up_.clear();  // the next hello has what is left of them
      is_welcome_ = false;
      early_.clear();
      starts_.drop();
      if (keeper_) keeper_->pause();
      if (relay_) relay_->refusals().pause();
      if (alone_) return end_alone();
      await_broker();
    });
    serve();
    jobs_.on_started([this](const msg::Started& started) { report_.started.push_back(started); });
    jobs_.on_finished([this](const msg::Finished& finished) {
      if (log_->should_log(spdlog::level::debug))
        log_->debug(
            fmt::format("job {} ended: {} {}", finished.job, finished.reason, finished.what));
      report_.finished.push_back(finished);
    });
    jobs_.on_fence([this](const msg::FenceRequest& fence) { say_fence(fence); });
    turn_end_ = reactor_.at_turn_end([this] {
      send_report();
      hello_when_clear();
      end_when_idle();
    });
    await_broker();
    return {};
  }

  void shut_down(Duration wait, const std::string& reason, int code) {
    if (ending_) return;
    ending_ = code;
    wait_ = wait;
    jobs_.kill_all(-1, reason);
  }

  // A live broker ends its jobs itself, and knows why.
  void lose_supervisor() {
    log_->error("the supervisor is gone: ending");
    alone_ = true;
    if (!client_->connected()) return end_alone();
    broker_first_ = reactor_.after(kBrokerFirst, [this] { end_alone(); });
  }

  void end_alone() {
    shut_down(kLastWord, "killed", kAgentDone);
    jobs_.kill_all(kHurriedGrace, "killed");
  }

  bool is_left_alone() const { return !client_->connected() && jobs_.idle(); }

  void remove_left_files() {
    left_files_.emplace(processes_, tracking_,
                        std::set<std::string>{files_base(), JobFolder::memory_base()});
  }

  std::optional<int> exit_code() const { return through_ ? ending_ : std::nullopt; }

 private:
  template <class Ask, class Act>
  static transport::RequestHandler answer_to(Act act) {
    return [act](const Request& request) {
      auto ask = unpack<Ask>(request.payload());
      if (!ask) return request.fail(ask.error());
      const Status done = act(*ask);
      done ? request.reply(pack(msg::Empty{})) : request.fail(done.error());
    };
  }

  template <class Ask, class Act>
  void on(transport::Dispatcher& table, const char* topic, Act act) {
    table.add(topic, answer_to<Ask>(act));
  }

  // Where a job's tasks write must be known before their start. Requests about the job come after
  // its start then, too: a kill that overtook it would be lost.
  void in_order(transport::Dispatcher& table, const char* topic,
                const transport::RequestHandler& act) {
    table.add(topic, [this, act](const Request& request) {
      if (relay_ && !knows_files_) return early_.push_back([act, request] { act(request); });
      act(request);
    });
  }

  template <class Ask>
  void pass_on(transport::Dispatcher& table, const char* topic, void (Jobs::*act)(const Ask&)) {
    in_order(table, topic, answer_to<Ask>([this, act](const Ask& ask) -> Status {
               (jobs_.*act)(ask);
               return {};
             }));
  }

  void serve() {
    transport::Dispatcher table;
    in_order(table, "agent.start", [this](const Request& request) { start(request); });
    pass_on(table, "agent.signal", &Jobs::signal);
    pass_on(table, "agent.checkpoint", &Jobs::checkpoint);
    pass_on(table, "agent.kill", &Jobs::kill);
    pass_on(table, "agent.limit", &Jobs::limit);
    pass_on(table, "agent.suspend", &Jobs::suspend);
    pass_on(table, "agent.sure", &Jobs::renew);
    on<msg::ShutdownRequest>(table, "agent.shutdown",
                             [this](const msg::ShutdownRequest& ask) -> Status {
                               shut_down(ask.wait, "killed", kAgentDone);
                               return {};
                             });
    table.add("agent.output", [this](const Request& request) { jobs_.follow(request); });
    table.add("agent.input", [this](const Request& request) { jobs_.take_input(request); });
    table.add("agent.cores", [this](const Request& request) { find_on_cores(request); });
    table.add("agent.take", [this](const Request& request) { take_units(request); });
    table.add("agent.capture", [this](const Request& request) { captures_.run(request); });
    client_->on_request(table);
  }

  void find_on_cores(const Request& request) {
    const auto ask = unpack<msg::CoresRequest>(request.payload());
    const auto cores = ask ? Idset::parse(ask->cores) : tl::unexpected<Error>(ask.error());
    if (!cores) return request.fail(cores.error());
    const auto found = processes_on_cores(jobs_.node(), jobs_.prefix(), *ask, *cores);
    found ? request.reply(pack(msg::CoresReply{*found})) : request.fail(found.error());
  }

  void take_units(const Request& request) {
    const auto ask = unpack<msg::TakeRequest>(request.payload());
    const auto taken = ask ? taken_units(*ask) : tl::unexpected<Error>(ask.error());
    if (!taken) return request.fail(taken.error());
    const auto found = processes_.end_on_taken_units(jobs_.node(), jobs_.prefix(), *taken);
    found ? request.reply(pack(msg::TakeReply{*found})) : request.fail(found.error());
  }

  void start(const Request& request) {
    auto ask = unpack<msg::StartRequest>(request.payload());
    if (!ask) return request.fail(ask.error());
    if (ending_) return request.fail({Errc::busy, "this agent is shutting down", {}});
    const Status done = jobs_.start(relay_ ? with_own_address(std::move(*ask)) : std::move(*ask));
    done ? starts_.add(request) : request.fail(done.error());
  }

  // Does this node see the broker's files? A broker that does not say takes it for granted.
  void ask_for_files() {
    if (!relay_ || knows_files_) return;
    client_->call(
        {"agent.files", pack(msg::Empty{}), "", 0}, [this](const Result<std::string>& answer) {
          if (!answer && answer.error().code == Errc::disconnected) return;
          knows_files_ = true;
          auto files =
              answer ? unpack<msg::FilesReply>(*answer) : tl::unexpected<Error>(answer.error());
          if (files && !OutputSender::sees(*files)) keep_output(std::move(files->folder));
          for (const auto& act : std::exchange(early_, {})) act();
        });
  }

  void keep_output(std::string folder) {
    const std::string former =
        options_.runtime_dir.empty() ? "" : noted_output_folder(options_.runtime_dir);
    if (!former.empty()) rescue_slots(former, options_.rank, slots_of(options_.rank, incarnation_));
    auto keeper = OutputSender::create(reactor_, *client_, std::move(folder), former);
    if (!keeper)
      return log_->error(
          fmt::format("no place for the output of jobs, which the broker's folder is not "
                      "on this node: {}",
                      to_string(keeper.error())));
    keeper_ = std::move(*keeper);
    if (!options_.runtime_dir.empty())
      note_output_folder(options_.runtime_dir, keeper_->own_folder());
    keeper_->resume();
    log_->info("the broker's files are not seen here: output is handed over");
  }

  // The broker's socket is on another node, and its files may be.
  msg::StartRequest with_own_address(msg::StartRequest ask) const {
    for (auto& job : ask.jobs) {
      if (keeper_) keeper_->take_over(job);
      job.env["HOLON_URI"] = relay_->uri();
      if (const auto above = job.secrets.find("HOLON_PARENT_URI"); above != job.secrets.end())
        above->second = relay_->uri();
    }
    return ask;
  }

  void say_hello() {
    msg::Hello hello;
    hello.rank = options_.rank;
    hello.hostname = options_.hostname;
    hello.pid = getpid();
    hello.incarnation = incarnation_;
    hello.began = began_;
    if (std::exchange(shows_topology_, false)) hello.topology = topology_;
    if (!topology_.empty()) hello.topology_digest = topology_digest(topology_);
    hello.running = jobs_.running();
    hello.waiting = jobs_.waiting();
    hello.finished = jobs_.unacknowledged();
    hello.clock = reactor_.now();
    hello.swept = swept_;
    hello.secret = options_.secret;
    if (ends_) hello.lasts = std::max<Duration>(1, *ends_ - reactor_.now());
    hello.batch_system = options_.batch_system;
    hello.batch_job = options_.batch_job;
    report_ = {};                       // all of it is in the hello
    std::string payload = pack(hello);  // before `finished` is moved from
    client_->call({"agent.hello", std::move(payload), "", 0},
                  [this, told = std::move(hello.finished)](const Result<std::string>& answer) {
                    on_welcome(told, answer);
                  });
  }

  void on_welcome(const std::vector<msg::Finished>& told, const Result<std::string>& answer) {
    const auto welcome =
        answer ? unpack<msg::Welcome>(*answer) : tl::unexpected<Error>(answer.error());
    if (!welcome) {
      if (welcome.error().code == Errc::disconnected)
        return;  // the next connection says hello itself
      if (welcome.error().code == Errc::denied) return refused(welcome.error().what);
      log_->error(fmt::format("the broker did not take the hello: {}", to_string(welcome.error())));
      hello_again_ = reactor_.after(kAgain, [this] { say_hello(); });
      return;
    }
    if (!welcome->accepted) return refused(welcome->refusal);
    orphaned_.cancel();
    shows_topology_ = welcome->wants_topology;
    if (shows_topology_) return say_hello();
    if (!welcome->orphans.empty() || !welcome->given_up.empty()) return clear_up(*welcome);
    swept_ = false;  // holds for this hello: jobs given up later leave something again
    jobs_.acknowledge(told, welcome->told);
    jobs_.kill({welcome->kill, -1});
    is_welcome_ = true;
    ask_for_files();
    if (keeper_) keeper_->resume();
    if (relay_) relay_->refusals().resume();
    say_fences_again();
  }

  void say_fences_again() {
    for (const msg::FenceRequest& fence : jobs_.fences()) say_fence(fence);
  }

  // Before the broker knows this agent it takes no fences; after that they are sent again.
  void say_fence(const msg::FenceRequest& fence) {
    if (!is_welcome_) return;
    client_->call({"agent.fence", pack(fence), "", 0},
                  [this, job = fence.job, round = fence.round](const Result<std::string>& answer) {
                    const auto reply = answer ? unpack<msg::FenceReply>(*answer)
                                              : tl::unexpected<Error>(answer.error());
                    const Errc code = reply ? Errc() : reply.error().code;
                    if (!reply && code == Errc::disconnected) return;
                    if (!reply && (code == Errc::denied || code == Errc::busy))
                      fences_again_ = reactor_.after(kAgain, [this] { say_fences_again(); });
                    else
                      jobs_.end_fence(job, round, reply);
                  });
  }

  // The broker gives this agent nothing before the agent says that all of this is gone.
  void clear_up(const msg::Welcome& welcome) {
    given_up_ = welcome.given_up;
    if (!given_up_.empty())
      log_->warn(fmt::format("ending {} jobs that the broker has given up", given_up_.size()));
    jobs_.kill({given_up_, -1});
    if (!welcome.orphans.empty()) end_orphans(welcome.orphans);
  }

  void hello_when_clear() {
    const auto is_here = [this](std::uint64_t job) { return jobs_.has(job); };
    if (given_up_.empty() || orphans_again_ ||
        std::any_of(given_up_.begin(), given_up_.end(), is_here))
      return;
    given_up_.clear();
    if (client_->connected()) say_hello();
  }

  void end_orphans(const std::vector<msg::ProcessId>& orphans) {
    if (const std::size_t alive = processes_.kill_sessions(orphans, jobs_.prefix())) {
      if (!orphans_again_)
        log_->warn(fmt::format("ending {} processes of an earlier agent", alive));
      orphans_again_ = reactor_.after(kOrphansAgain, [this, orphans] { end_orphans(orphans); });
      return;
    }
    orphans_again_.cancel();
    swept_ = true;
    if (client_->connected() && given_up_.empty()) say_hello();
  }

  // Not, or no longer, this instance's agent: what it runs is nobody's.
  void refused(const std::string& why) {
    log_->error(fmt::format("refused by the broker: {}", why));
    shut_down(0, "killed", kAgentRefused);
  }

  void send_report() {
    if (report_.started.empty() && report_.finished.empty()) return;
    if (!is_welcome_) return;  // the next hello has it, or the turn in which that is accepted
    msg::Report report = std::exchange(report_, {});
    report.clock = reactor_.now();
    std::string payload = pack(report);
    starts_.give();
    client_->call({"agent.report", std::move(payload), "", 0},
                  [this, told = std::move(report.finished)](const Result<std::string>& answer) {
                    const auto reply = answer ? unpack<msg::Reported>(*answer)
                                              : tl::unexpected<Error>(answer.error());
                    if (reply) return jobs_.acknowledge(told, *reply);
                    if (reply.error().code == Errc::disconnected) return;
                    log_->error(fmt::format("the broker did not take a report: {}",
                                            to_string(reply.error())));
                    // An agent that is not accepted has to learn where it stands.
                    report_again_ = reactor_.after(kAgain, [this, code = reply.error().code] {
                      if (code == Errc::denied) return say_hello();
                      // All of it, although the broker knows some: a start that it does not hear of
                      // leaves a child waiting for ever.
                      report_.started = jobs_.running();
                      report_.finished = jobs_.unacknowledged();
                    });
                  });
  }

  void await_broker() {
    if (options_.orphan_timeout <= 0) return;
    orphaned_ = reactor_.after(options_.orphan_timeout, [this] {
      log_->error(fmt::format("no broker for {} ms: ending", options_.orphan_timeout));
      shut_down(0, "orphaned", kAgentOrphaned);
    });
  }

  void tell_trouble() {
    if (jobs_.trouble_with_cgroups().empty() || std::exchange(told_trouble_, true)) return;
    log_->warn(fmt::format("jobs are told apart by their processes, not by cgroups: {}",
                           jobs_.trouble_with_cgroups()));
  }

  void end_when_idle() {
    tell_trouble();
    if (ending_ && keeper_ && !client_->connected()) keeper_->give_up();
    if (!ending_ || through_ || !jobs_.idle()) return;
    if (alone_ && !ended_all_) return end_all_of_instance();
    if (!last_wait_) last_wait_ = reactor_.after(wait_, [this] { waited_ = true; });
    through_ = waited_ || jobs_.unacknowledged().empty() || !client_->connected();
    if (through_) reactor_.stop();
  }

  // Without its supervisor nobody else ends the initial program, or what that has started. The
  // broker ends by itself.
  void end_all_of_instance() {
    if (look_again_) return;
    if (!rest_) {
      Leftovers::What what;
      what.prefix = jobs_.prefix();
      what.of_instance = true;
      what.spare = [this] { return std::vector<pid_t>{broker_pid_}; };
      rest_ = std::make_unique<Leftovers>(std::move(what));
    }
    ended_all_ = processes_.end_leftovers(*rest_);
    if (!ended_all_) look_again_ = reactor_.after(kOrphansAgain, [this] { look_again_.cancel(); });
  }

  transport::Reactor& reactor_;
  AgentOptions options_;
  std::shared_ptr<spdlog::logger> log_;
  std::uint64_t incarnation_;  // of this start of the agent; no other agent has it
  const std::int64_t began_ = since_boot_ms();
  std::optional<Time> ends_;  // when its node does
  std::string topology_;      // a portable one
  const KnownMachine shown_;
  bool shows_topology_ = false;  // in the next hello, as the broker has asked for it
  Processes& processes_;         // of jobs_
  ProcessTracking& tracking_;    // of jobs_
  Jobs jobs_;
  Captures captures_;
  std::unique_ptr<transport::Client> client_;
  std::unique_ptr<Relay> relay_;  // on another node than the broker's; uses client_
  // Set on a node that does not see the broker's files; uses client_.
  std::unique_ptr<OutputSender> keeper_;
  bool knows_files_ = false;                    // whether this node sees them
  std::vector<std::function<void()>> early_;    // requests about jobs before that, in order
  LateAnswers starts_{reactor_, kAnswerAfter};  // to requests for starts
  msg::Report report_;
  std::optional<int> ending_;  // the exit code, once decided
  Duration wait_ = 0;
  bool waited_ = false;
  bool through_ = false;
  bool alone_ = false;  // the supervisor is gone
  pid_t broker_pid_ = 0;
  std::unique_ptr<Leftovers> rest_;  // once the agent is alone and its own jobs are over
  bool ended_all_ = false;           // nothing is left but the broker
  std::optional<LeftFiles> left_files_;
  bool swept_ = false;  // what earlier agents left, as far as the broker knows, is gone
  bool told_trouble_ = false;
  bool is_welcome_ = false;              // on this connection
  std::vector<std::uint64_t> given_up_;  // jobs that have to end before the next hello
  transport::Subscription broker_first_, orphans_again_, turn_end_, orphaned_, tell_of_loss_,
      hello_again_, report_again_, fences_again_, last_wait_, look_again_;
};

Result<std::unique_ptr<Agent>> Agent::create(transport::Reactor& reactor, AgentOptions options) {
  if (options.hostname.empty()) options.hostname = own_hostname();
  const bool is_nested = !options.cpuset.empty();
  const char* const known = is_nested ? std::getenv(kKnownMachine) : nullptr;
  auto node = Node::discover(options.cpuset, known != nullptr ? shown_machine(known) : "");
  if (!node) return tl::unexpected<Error>(node.error());
  auto processes =
      options.starter >= 0 ? starter_processes(reactor, options.starter) : own_processes(reactor);
  if (!processes) return tl::unexpected<Error>(processes.error());
  NodeFrame frame = frame_of(*node, is_nested);
  Result<KnownMachine> shown;
  if (!node->machine().empty()) shown = show_machine(node->machine());
  if (shown) frame.machine = shown->path;
  Result<std::string> topology;
  if (options.most_memory > 0) topology = topology_xml(options.cpuset, options.most_memory);
  if (!topology) return tl::unexpected<Error>(topology.error());
  auto agent = create(reactor, std::move(options),
                      {std::move(*node), std::move(frame), std::move(*processes),
                       std::move(*topology), shown ? std::move(*shown) : KnownMachine()});
  if (agent) (*agent)->impl_->remove_left_files();
  return agent;
}

Result<std::unique_ptr<Agent>> Agent::create(transport::Reactor& reactor, AgentOptions options,
                                             Ground ground) {
  NodeFrame& frame = ground.frame;
  if (frame.lineage.empty()) frame.lineage = lineage_of_root("", random_mark());
  auto tracking = std::make_unique<ProcessTracking>(frame.lineage, options.cgroup);
  auto impl =
      std::make_unique<Impl>(reactor, std::move(options), std::move(ground), std::move(tracking));
  if (const Status connected = impl->connect(); !connected)
    return tl::unexpected<Error>(connected.error());
  return std::unique_ptr<Agent>(new Agent(std::move(impl)));
}

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Agent::~Agent() = default;
void Agent::shut_down(Duration wait) {
  impl_->shut_down(wait, "killed", kAgentDone);
}
void Agent::lose_supervisor() {
  impl_->lose_supervisor();
}
bool Agent::is_left_alone() const {
  return impl_->is_left_alone();
}
std::optional<int> Agent::exit_code() const {
  return impl_->exit_code();
}

}  // namespace holon::launch
