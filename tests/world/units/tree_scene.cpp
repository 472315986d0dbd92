#include "tests/world/units/tree_scene.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>

#include "resource/jobspec/jobspec.hpp"
#include "world/seams/hosts.hpp"

namespace holon::world {

TreeScene::~TreeScene() {
  TreeScene::strike();
}

void TreeScene::strike() {
  for (const auto& instance : instances_)
    if (!instance->over()) instance->vanish();
  loose_.clear();
  instances_.clear();
  user_.reset();
  Scene::strike();
}

void TreeScene::TearDown() {
  EXPECT_EQ(machine_->history.violation(), "");
  if (!HasFailure()) return;
  for (const auto& line : machine_->history.lines()) std::printf("%s\n", line.c_str());
}

Instance& TreeScene::begin_root(std::vector<std::string> conf, std::size_t hosts,
                                const std::string& resources, Duration limit) {
  std::signal(SIGPIPE, SIG_IGN);  // as in an agent
  Instance::Begin begin;
  begin.state_dir = dir_ + "/root";
  begin.conf = std::move(conf);
  begin.resources = resources;
  begin.limit = limit;
  begin.agents = static_cast<std::uint32_t>(hosts);
  for (std::size_t host = 0; hosts > 1 && host < hosts; ++host)
    begin.hosts.push_back(Hosts::name_of(static_cast<int>(host)));
  add(std::make_unique<Instance>(*machine_, *this, std::move(begin)));
  EXPECT_TRUE(until([this] { return is_up("/"); }));
  return instance();
}

User& TreeScene::user() {
  if (!user_) user_ = std::make_unique<User>(*machine_);
  return *user_;
}

Result<std::string> TreeScene::answer_of_root(const std::string& topic, const std::string& payload,
                                              const std::string& path) {
  for (int tries = 0; tries < 100; ++tries) {
    const auto heard = std::make_shared<std::optional<Result<std::string>>>();
    user().ask(
        instance().uri(), topic, payload,
        [heard](const Result<std::string>& answer) { *heard = answer; }, path);
    if (!until([&] { return heard->has_value(); })) break;
    if (**heard || (*heard)->error().code != Errc::disconnected) return std::move(**heard);
    pass(100 * kMs);
  }
  return fail(Errc::timed_out, "no answer");
}

Result<msg::SubmitReply> TreeScene::submit_words(std::vector<std::string> words,
                                                 const Wanted& wanted, const std::string& path) {
  resource::JobShape shape;
  shape.tasks = wanted.tasks;
  shape.duration_seconds = wanted.limit;
  shape.command = std::move(words);
  shape.cwd = "/";
  auto spec = *resource::jobspec_for(shape);
  if (!wanted.system.empty()) spec.other_attributes = "{\"system\":" + wanted.system + "}";
  msg::SubmitRequest ask;
  ask.jobspec = resource::write_jobspec(spec);
  ask.user = "ada";
  ask.is_instance = wanted.is_instance;
  return call<msg::SubmitReply>("submit", ask, path);
}

Result<msg::SubmitReply> TreeScene::submit_work(Micros time, const Wanted& wanted,
                                                const std::string& path) {
  return submit_words({"work", std::to_string(time / kMs), "0", wanted.ignores_term ? "-1" : "100"},
                      wanted, path);
}

std::uint64_t TreeScene::work(Micros time, const Wanted& wanted, const std::string& path) {
  const auto reply = submit_work(time, wanted, path);
  EXPECT_TRUE(reply) << to_string(reply.error());
  return reply ? reply->first_id : 0;
}

std::uint64_t TreeScene::submit_child(std::int64_t tasks, const std::vector<std::string>& conf,
                                      const std::string& path, double limit) {
  std::vector<std::string> words = {"instance", "0", "1"};
  words.insert(words.end(), conf.begin(), conf.end());
  const auto reply =
      submit_words(std::move(words), {.tasks = tasks, .is_instance = true, .limit = limit}, path);
  EXPECT_TRUE(reply) << to_string(reply.error());
  return reply ? reply->first_id : 0;
}

std::uint64_t TreeScene::child(std::int64_t tasks, const std::vector<std::string>& conf,
                               const std::string& path, double limit) {
  const auto id = submit_child(tasks, conf, path, limit);
  const std::string its = path + "/" + std::to_string(id);
  EXPECT_TRUE(until([&] { return is_up(its); })) << its;
  return id;
}

std::uint64_t TreeScene::child_that_goes_on(std::int64_t tasks,
                                            const std::vector<std::string>& conf) {
  Wanted wanted{.tasks = tasks, .is_instance = true};
  wanted.system = R"({"holon": {"goes_on": true, "requeue": 1000}})";
  std::vector<std::string> words = {"instance", "0", "1"};
  words.insert(words.end(), conf.begin(), conf.end());
  const auto reply = submit_words(std::move(words), wanted, "");
  EXPECT_TRUE(reply) << to_string(reply.error());
  if (!reply) return 0;
  const std::string its = "/" + std::to_string(reply->first_id);
  EXPECT_TRUE(until([&] { return is_up(its); })) << its;
  return reply->first_id;
}

msg::JobRecord TreeScene::record(std::uint64_t id, const std::string& path) {
  msg::JobsRequest ask;
  ask.ids = {id};
  ask.all = true;  // of an instance that has ended, too
  const auto reply = call<msg::JobsReply>("jobs", ask, path);
  EXPECT_TRUE(reply) << to_string(reply.error());
  return reply && reply->jobs.size() == 1 ? reply->jobs.front() : msg::JobRecord();
}

msg::JobRecord TreeScene::when_over(std::uint64_t id, const std::string& path) {
  msg::JobRecord last;
  for (int looks = 0; looks < 6'000 && last.state != "INACTIVE"; ++looks) {
    pass(100 * kMs);
    last = record(id, path);
  }
  EXPECT_EQ(last.state, "INACTIVE") << last.reason;
  return last;
}

msg::JobRecord TreeScene::when_running(std::uint64_t id, const std::string& path) {
  msg::JobRecord last;
  for (int looks = 0; looks < 1'200 && last.t_start == 0; ++looks) {
    pass(100 * kMs);
    last = record(id, path);
  }
  EXPECT_NE(last.t_start, 0) << last.state << ": " << last.reason;
  return last;
}

std::size_t TreeScene::tasks_on(int host, std::uint64_t id, const std::string& path) const {
  const auto& live = machine_->tasks.live();
  return static_cast<std::size_t>(std::count_if(live.begin(), live.end(), [&](const auto& one) {
    return one.second->host == host && one.second->path == path + "/" + std::to_string(id);
  }));
}

void TreeScene::lose_for_good(int host) {
  machine_->hosts.die(host);
  machine_->tasks.host_died(host);
  if (AgentProcess* const agent = instance().agent_on(host)) agent->kill("for good");
}

void TreeScene::add(std::unique_ptr<Instance> instance) {
  instances_.push_back(std::move(instance));
}

void TreeScene::add(std::unique_ptr<AgentProcess> agent) {
  loose_.push_back(std::move(agent));
}

void TreeScene::remove(const AgentProcess& agent) {
  std::erase_if(loose_, [&](const auto& one) { return one.get() == &agent; });
}

bool TreeScene::is_added_by_hand(int host) const {
  return std::any_of(loose_.begin(), loose_.end(), [&](const auto& agent) {
    return agent->host() == host && agent->name().starts_with("agent by hand");
  });
}

Instance* TreeScene::find(const std::string& path) const {
  for (const auto& instance : instances_)
    if (instance->path() == path && !instance->over()) return instance.get();
  return nullptr;
}

}  // namespace holon::world
