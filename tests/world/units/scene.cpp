#include "tests/world/units/scene.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "resource/jobspec/jobspec.hpp"
#include "world/world.hpp"

namespace holon::world {

Peer::Peer(Machine& machine, const std::string& name, pid_t pid, const std::string& uri,
           const transport::Security& keys)
    : Process(machine, name, pid) {
  run([&] {
    transport::Options options;
    options.name = name;
    options.security = keys;
    client_ = std::move(*transport::Client::connect(reactor(), uri, options));
    client_->on_request([this](const transport::Request& request) {
      heard.emplace_back(request.topic(), request.payload());
      if (answers && answers(request)) return;
      request.reply(transport::pack(launch::msg::Empty{}));
    });
    client_->on_connected([this](const transport::PeerInfo&) {
      if (on_connected) on_connected();
    });
    client_->on_lost([this] { ++times_lost; });
  });
}

Peer::~Peer() {
  run([this] { client_.reset(); });
}

void Peer::ask_packed(const std::string& topic, std::string payload,
                      std::function<void(const Result<std::string>&)> done) {
  deliver([this, topic, payload = std::move(payload), done = std::move(done)] {
    client_->call({topic, payload, "", 0}, done);
  });
}

void Peer::later(Machine& machine, Micros delay, std::function<void()> action) {
  machine.timeline.after(
      delay, [this, there = std::weak_ptr<bool>(is_there_), action = std::move(action)] {
        if (!there.expired()) deliver(action);
      });
}

LoneBroker::LoneBroker(Machine& machine, instance::BrokerOptions options)
    : Process(machine, "broker", machine.new_pid()) {
  // What listens for other hosts: any descriptor, as the network is the world's.
  if (!options.hosts.empty()) options.socket = open("/dev/null", O_RDONLY | O_CLOEXEC);
  run([&] {
    const auto is_named = [](std::int64_t process,
                             const std::vector<instance::event::Process>& known) {
      return std::any_of(known.begin(), known.end(),
                         [&](const auto& one) { return one.pid == process; });
    };
    auto made = instance::Broker::create(reactor(), options, nullptr,
                                         {is_named, machine.hosts.topology(0)});
    ASSERT_TRUE(made) << to_string(made.error());
    broker_ = std::move(*made);
    broker_->on_end([this](int code) { exit(code); });
  });
}

LoneBroker::~LoneBroker() {
  run([this] { broker_.reset(); });
}

void LoneBroker::tell(const std::function<void(instance::Broker&)>& what) {
  deliver([this, what] { what(*broker_); });
}

Scene::Scene() {
  spdlog::set_level(spdlog::level::off);
  std::string name =
      (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir()) + "/holon-scene-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  dir_ = name;
  set(1);
}

Scene::~Scene() {
  Scene::strike();
  std::filesystem::remove_all(dir_);
}

void Scene::set(std::uint64_t seed) {
  strike();
  for (const char* part : {"/state", "/run"}) {
    std::filesystem::remove_all(dir_ + part);
    std::filesystem::create_directories(dir_ + part);
  }
  machine_ = std::make_unique<Machine>(seed, Plant::none, kEdition, dir_);
}

void Scene::strike() {
  peers_.clear();
  broker_.reset();
  machine_.reset();
}

bool Scene::until(const std::function<bool()>& done, Micros patience) {
  const Micros end = machine_->timeline.now() + patience;
  while (!done())
    if (machine_->timeline.now() >= end || !machine_->timeline.step()) return done();
  return true;
}

void Scene::pass(Micros time) {
  bool over = false;
  machine_->timeline.after(time, [&over] { over = true; });
  until([&over] { return over; }, 2 * time);
}

void Scene::begin_broker(std::vector<std::string> conf, const std::string& resources,
                         std::size_t agents, std::vector<std::string> hosts) {
  options_ = {};
  options_.start.conf = std::move(conf);
  options_.start.resources = resources;
  options_.start.state_dir = dir_ + "/state";
  options_.runtime_dir = dir_ + "/run";
  for (std::size_t rank = 0; rank < agents; ++rank)
    options_.secrets.agents.push_back("secret " + std::to_string(rank));
  auto& keys = options_.secrets.keys;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) keys.agents.push_back(key_of(rank));
  keys.server = {"public broker", "secret broker"};
  keys.join = {"public join", "secret join"};
  options_.hosts = std::move(hosts);
  restart_broker();
}

void Scene::restart_broker() {
  if (broker_ && broker_->alive()) broker_->kill("");
  broker_.reset();
  broker_ = std::make_unique<LoneBroker>(*machine_, options_);
}

Peer& Scene::peer(const std::string& name, pid_t pid) {
  peers_.push_back(
      std::make_unique<Peer>(*machine_, name, pid != 0 ? pid : machine_->new_pid(), uri()));
  return *peers_.back();
}

Peer& Scene::peer_with_key(std::uint32_t rank) {
  return peer_with("agent " + std::to_string(rank), key_of(rank));
}

Peer& Scene::peer_with(const std::string& name, const transport::KeyPair& key) {
  peers_.push_back(
      std::make_unique<Peer>(*machine_, name, machine_->new_pid(), Wires::address_for_keys(uri()),
                             transport::Security{options_.secrets.keys.server.public_key,
                                                 key.public_key, key.secret_key}));
  return *peers_.back();
}

transport::KeyPair Scene::key_of(std::size_t rank) {
  if (rank == 0) return {};
  return {"public " + std::to_string(rank), "secret " + std::to_string(rank)};
}

void Scene::lose(Peer& peer) {
  peer.kill("");
  std::erase_if(peers_, [&](const auto& one) { return one.get() == &peer; });
}

Result<std::string> Scene::answer_to(Peer& who, const std::string& topic,
                                     const std::string& payload) {
  for (int tries = 0; tries < 100; ++tries) {
    const auto heard = std::make_shared<std::optional<Result<std::string>>>();
    who.ask_packed(topic, payload, [heard](const Result<std::string>& answer) { *heard = answer; });
    if (!until([&] { return heard->has_value(); })) break;
    if (**heard || (*heard)->error().code != Errc::disconnected) return std::move(**heard);
    pass(100 * kMs);
  }
  return fail(Errc::timed_out, "no answer");
}

launch::msg::Hello Scene::hello_of(std::uint32_t rank, std::uint64_t incarnation) {
  launch::msg::Hello hello;
  hello.rank = rank;
  hello.hostname = "node" + std::to_string(rank);
  hello.incarnation = incarnation;
  hello.secret = "secret " + std::to_string(rank);
  return hello;
}

Peer& Scene::agent(const launch::msg::Hello& hello) {
  Peer& one = peer("agent " + std::to_string(hello.rank));
  const auto welcome = answer(one, "agent.hello", hello);
  EXPECT_TRUE(welcome) << welcome.error().what;
  return one;
}

std::uint64_t Scene::submit(Peer& user, std::int64_t tasks, bool is_instance, std::int64_t cores,
                            double limit) {
  resource::JobShape shape;
  shape.tasks = tasks;
  shape.cores_per_task = cores;
  shape.duration_seconds = limit;
  shape.command = {"/bin/true"};
  shape.cwd = "/";
  msg::SubmitRequest ask;
  ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
  ask.user = "ada";
  ask.is_instance = is_instance;
  const auto text = answer(user, "submit", ask);
  EXPECT_TRUE(text) << text.error().what;
  return text ? transport::unpack<msg::SubmitReply>(*text)->first_id : 0;
}

launch::msg::Report Scene::started(std::uint64_t job, std::int64_t pid) {
  launch::msg::Report report;
  report.started.emplace_back();
  report.started.back().job = job;
  report.started.back().processes = {{pid, 1}};
  return report;
}

launch::msg::Report Scene::finished(std::uint64_t job, int code) {
  launch::msg::Report report;
  report.finished.emplace_back();
  auto& end = report.finished.back();
  end.job = job;
  end.reason = "exit";
  end.exit_code = code;
  end.tasks = {{0, code << 8, true, 0, 0}};
  return report;
}

}  // namespace holon::world
