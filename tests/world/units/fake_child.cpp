#include "tests/world/units/fake_child.hpp"

namespace holon::world {
namespace {

constexpr pid_t kChildProcess = 4711;

}  // namespace

void WithFakeChild::SetUp() {
  begin_broker({});
  agent_ = &agent(hello_of(0, 42));
  agent_->answers = [this](const transport::Request& request) {
    if (request.topic() != "agent.capture") return false;
    launch::msg::CaptureReply reply;
    reply.output = transport::pack(leftovers_);
    request.reply(transport::pack(reply));
    return true;
  };
  user_ = &peer("user");
  hello_.job = submit(*user_, 1, true);
  ASSERT_EQ(hello_.job, 1U);
  ASSERT_TRUE(until([&] { return !agent_->heard.empty(); }));
  const auto started_jobs = agent_->all<launch::msg::StartRequest>("agent.start");
  ASSERT_FALSE(started_jobs.empty());
  hello_.uri = "ipc:///nowhere";
  hello_.token = started_jobs.front().jobs.front().secrets.at("HOLON_TOKEN");
  ASSERT_TRUE(answer(*agent_, "agent.report", started(1, kChildProcess)));
}

std::uint64_t WithFakeChild::connect_child() {
  child_ = &peer("child", kChildProcess);
  child_->answers = [this](const transport::Request& request) {
    ++asked_[request.topic()];
    if (silent_) {
      kept_.push_back(request);
      return true;
    }
    if (request.topic() != "jobs") return false;
    msg::JobsReply reply;
    reply.jobs = knows_;
    request.reply(transport::pack(reply));
    return true;
  };
  const auto grant = call<msg::Grant>(*child_, "hello", hello_);
  if (!grant) return 0;
  return hello_.epoch = grant->epoch;
}

void WithFakeChild::lose_child() {
  lose(*std::exchange(child_, nullptr));
  kept_.clear();  // nobody is left who could be told that they were not answered
}

msg::JobRecord WithFakeChild::end_child(const msg::DeadChild& remains, const std::string& path) {
  leftovers_ = remains;
  if (child_ != nullptr) lose_child();
  EXPECT_TRUE(answer(*agent_, "agent.report", finished(1)));
  EXPECT_TRUE(until([&] { return state(1) == "INACTIVE"; }));
  return listed()[path];
}

msg::JobRecord WithFakeChild::record_at(const std::string& path, const std::string& state) {
  static const std::map<std::string, int> kHow = {{"SCHED", 0}, {"RUN", 2}, {"INACTIVE", 3}};
  msg::JobRecord record;
  record.path = path;
  record.id = std::stoull(path.substr(path.rfind('/') + 1));
  record.state = state;
  record.t_submit = 1'000;
  if (kHow.at(state) > 0) record.t_alloc = 1'100;
  if (kHow.at(state) > 1) record.t_start = 1'200;
  if (kHow.at(state) > 2) record.t_finish = record.t_inactive = 1'300;
  if (state == "INACTIVE") record.result = "COMPLETED";
  return record;
}

WithFakeChild::Listing::Listing(WithFakeChild& test) : test_(test) {
  test_.status();  // a connection to a broker before this one would be lost with the question
  msg::JobsRequest ask;
  ask.all = ask.recursive = true;
  test_.user_->ask("jobs", ask,
                   [heard = answer_](const Result<std::string>& answer) { *heard = answer; });
}

bool WithFakeChild::Listing::is_answered(Micros patience) const {
  return test_.until([this] { return answer_->has_value(); }, patience);
}

std::map<std::string, msg::JobRecord> WithFakeChild::Listing::records() const {
  std::map<std::string, msg::JobRecord> found;
  const auto reply = *answer_ && **answer_ ? transport::unpack<msg::JobsReply>(***answer_)
                                           : tl::unexpected<Error>(Error{});
  EXPECT_TRUE(reply);
  if (reply)
    for (const auto& record : reply->jobs) found[record.path] = record;
  return found;
}

std::map<std::string, msg::JobRecord> WithFakeChild::listed() {
  const Listing listing(*this);
  EXPECT_TRUE(listing.is_answered());
  return listing.records();
}

}  // namespace holon::world
