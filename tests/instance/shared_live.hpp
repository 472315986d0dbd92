// shared_live.hpp - an instance for several tests of a suite, which each find it without active
// jobs and with an empty folder, whatever the one before has done; ids go on, and records stay.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "msg/instance.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance::testing {

class SharedLive : public ::testing::Test {
 public:
  static void TearDownTestSuite() { instances().clear(); }

 protected:
  // That of the suite with these options, from the first test that asks for it to the suite's end.
  const Live& shared(const std::vector<std::string>& options) {
    auto& one = instances()[options];
    if (one == nullptr || !alive(one->supervisor())) one = std::make_unique<Live>(options);
    used_ = one.get();
    return *one;
  }

  void TearDown() override {
    if (used_ == nullptr) return;
    msg::CancelRequest active;
    active.all = true;
    const auto reply = used_->call<msg::CancelReply>("cancel", active);
    EXPECT_TRUE(reply) << reply.error().what;
    used_->wait({});
    for (const auto& entry : std::filesystem::directory_iterator(used_->dir()))
      if (entry.path().filename() != "state") std::filesystem::remove_all(entry.path());
  }

 private:
  static std::map<std::vector<std::string>, std::unique_ptr<Live>>& instances() {
    static std::map<std::vector<std::string>, std::unique_ptr<Live>> all;
    return all;
  }

  const Live* used_ = nullptr;
};

}  // namespace holon::instance::testing
