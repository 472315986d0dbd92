// The page of `holon start --web`: it comes and goes with the instance, and is found again.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/instance/live.hpp"
#include "tests/web/visitor.hpp"
#include "web/address_file.hpp"
#include "web/server.hpp"

namespace holon::web {
namespace {

using instance::testing::alive;
using instance::testing::eventually;
using instance::testing::Live;
using testing::get;
using testing::Visitor;

class StartedPage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_page()) GTEST_SKIP() << "there is no page in this build: npm or esbuild was missing";
  }
};

// What `holon uptime` says, once a page is served.
std::string uptime_with_page(const Live& live, const std::string& options = "") {
  std::string said;
  EXPECT_TRUE(eventually([&] {
    said.clear();
    FILE* out =
        popen(("HOLON_URI=" + live.uri() + " " HOLON_BINARY " uptime " + options).c_str(), "r");
    if (out == nullptr) return false;
    char line[4096];
    while (fgets(line, sizeof line, out) != nullptr) said += line;
    pclose(out);
    return said.find("token=") != std::string::npos;
  })) << said;
  return said;
}

std::string address_of(const Live& live) {
  return nlohmann::json::parse(uptime_with_page(live, "--json"))["web"];
}

// The page that an address leads to.
std::string look_at(const std::string& address) {
  const auto port = address.find("127.0.0.1:");
  const auto token = address.find("token=");
  if (port == std::string::npos || token == std::string::npos) return "no address: " + address;
  Visitor visitor(static_cast<std::uint16_t>(std::stoi(address.substr(port + 10))));
  visitor.say(get("/?" + address.substr(token)));
  return visitor.answer();
}

TEST_F(StartedPage, IsServedAndTold) {
  const Live live({"--resources", "node=1/core=2", "--web"});
  const std::string address = address_of(live);
  EXPECT_NE(look_at(address).find("Set-Cookie"), std::string::npos) << look_at(address);
  EXPECT_NE(uptime_with_page(live).find(", page at " + address), std::string::npos);
  std::string wrong = address;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  EXPECT_NE(look_at(wrong).find("403"), std::string::npos);
}

TEST_F(StartedPage, HasTheSameAddressAfterItWasKilledAndAfterTheInstanceEnded) {
  Live live({"--resources", "node=1/core=2", "--web"});
  const std::string address = address_of(live);
  const pid_t first = live.child_named("--address-file");
  ASSERT_GT(first, 0);
  instance::testing::signal_process(first, SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const pid_t next = live.child_named("--address-file");
    return next > 0 && next != first && served_address(live.dir() + "/state/web.json");
  }));
  EXPECT_EQ(address_of(live), address);
  const pid_t page = live.child_named("--address-file");
  live.stop();
  EXPECT_FALSE(alive(page)) << "it has outlived its instance";
  EXPECT_FALSE(served_address(live.dir() + "/state/web.json"));
  live.start();
  EXPECT_EQ(address_of(live), address);
}

TEST_F(StartedPage, GoesOnBesideABrokerThatIsStartedAgain) {
  const Live live({"--resources", "node=1/core=2", "--web"});
  const std::string address = address_of(live);
  const pid_t page = live.child_named("--address-file");
  live.kill_broker();
  EXPECT_EQ(address_of(live), address);
  EXPECT_EQ(live.child_named("--address-file"), page);
}

// The files below `dir` that others may read and that have `words` in them.
std::string readable_with(const std::string& dir, const std::string& words) {
  std::string found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    struct stat info {};
    if (::lstat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if ((info.st_mode & 077) != 0 &&
        instance::testing::read_file(entry.path()).find(words) != std::string::npos)
      found += entry.path().string() + " ";
  }
  return found;
}

// What an instance in front writes goes where its user sends it: in a batch script into the
// output of the job, which others may read.
TEST_F(StartedPage, WritesItsSecretNowhereElse) {
  std::string dir = ::testing::TempDir() + "holon-page-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  ASSERT_EQ(::chmod(dir.c_str(), 0755), 0);
  ASSERT_EQ(mkfifo((dir + "/gate").c_str(), 0600), 0);
  FILE* run =
      popen(("umask 022; XDG_STATE_HOME=" + dir +
             "/home " HOLON_BINARY " start --web --resources node=1/core=1 --state-dir " + dir +
             "/state sh -c 'read line < " + dir + "/gate' > " + dir + "/out 2> " + dir + "/err")
                .c_str(),
            "r");
  ASSERT_NE(run, nullptr);
  std::string secret;
  EXPECT_TRUE(eventually([&] {
    const auto served = served_address(dir + "/state/web.json");
    if (served) secret = served->look;
    return !secret.empty();
  }));
  std::ofstream(dir + "/gate") << "go\n";
  EXPECT_EQ(pclose(run), 0) << instance::testing::read_file(dir + "/err");
  EXPECT_EQ(readable_with(dir, "token="), "");
  ASSERT_FALSE(secret.empty());
  EXPECT_EQ(readable_with(dir, secret), "");
  std::filesystem::remove_all(dir);
}

TEST(PageAddress, AForeignFileIsRefusedAndStays) {
  std::string dir = ::testing::TempDir() + "holon-address-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  const std::string file = dir + "/file";
  const std::string key = "-----BEGIN PRIVATE KEY-----\n" + std::string(400, 'k') + "\n";
  for (const std::string& text :
       {key, std::string("{\"port\": 8080}\n"), std::string("{\"look\": 3}\n"), std::string("[]"),
        "{\"look\": \"" + std::string(5'000, 'a') + "\"}"}) {
    std::ofstream(file) << text;
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    const auto taken = AddressFile::take(file);
    ASSERT_FALSE(taken) << text;
    EXPECT_EQ(taken.error().code, Errc::invalid_argument);
    EXPECT_NE(taken.error().what.find("holds something else"), std::string::npos);
    EXPECT_EQ(instance::testing::read_file(file), text);
  }
  std::filesystem::remove_all(dir);
}

TEST(PageAddress, AnEmptyFileAndAnOldAddressAreTaken) {
  std::string dir = ::testing::TempDir() + "holon-address-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  {
    auto fresh = AddressFile::take(dir + "/file");
    ASSERT_TRUE(fresh) << to_string(fresh.error());
    KeptAddress address;
    address.look = "secret";
    address.port = 8'080;
    ASSERT_TRUE(fresh->write(address));
  }
  const auto again = AddressFile::take(dir + "/file");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->before().look, "secret");
  EXPECT_EQ(again->before().port, 8'080);
  std::filesystem::remove_all(dir);
}

// Who has the file has the page.
TEST_F(StartedPage, KeepsItsAddressToItself) {
  const Live live({"--resources", "node=1/core=2", "--web"});
  address_of(live);
  struct stat info {};
  const std::string file = live.dir() + "/state/web.json";
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(AddressFile::take(file).error().code, Errc::busy);
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(served_address(file).error().code, Errc::denied);
  EXPECT_EQ(AddressFile::take(file).error().code, Errc::denied);
}

}  // namespace
}  // namespace holon::web
