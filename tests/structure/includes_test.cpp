// Who may use whom (docs/decisions/0001), and what the pure folders must not touch.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/structure/source_tree.hpp"

namespace holon::structure {
namespace {

const std::vector<std::string> kCode = {".hpp", ".cpp"};

// A folder may include its own headers and those of the folders named here.
const std::map<std::string, std::set<std::string>> kMayUse = {
    {"base", {}},
    {"standalone", {"base"}},
    {"resource", {"base"}},
    {"qmanager", {"base", "resource"}},
    {"policy", {"base", "resource", "qmanager"}},
    {"holdings", {"base", "resource"}},
    {"sim", {"base", "resource", "qmanager", "holdings"}},
    {"config", {"base", "qmanager", "policy"}},
    {"transport", {"base"}},
    {"batch", {"base"}},
    {"pmi", {"base"}},
    {"launch", {"base", "msg", "pmi", "starter", "transport"}},
    {"starter", {"base"}},
    {"msg", {"base", "transport"}},
    {"client", {"base", "transport", "msg"}},
    {"web", {"base", "transport", "msg", "client"}},
    {"instance",
     {"base", "batch", "pmi", "resource", "qmanager", "policy", "holdings", "config", "starter",
      "transport", "launch", "msg"}},
    {"cli",
     {"base", "batch", "pmi", "resource", "qmanager", "policy", "holdings", "sim", "config",
      "transport", "launch", "msg", "client", "web", "instance"}},
    {"world",
     {"base", "batch", "resource", "holdings", "config", "transport", "launch", "msg", "instance"}},
};

struct Include {
  std::string name;
  bool quoted = false;
};

std::optional<Include> include_on(const std::string& line) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::smatch match;
  if (!std::regex_search(line, match, kInclude)) return std::nullopt;
  return Include{match[2], match[1] == "\""};
}

TEST(Includes, FollowTheDirectionOfTheFolders) {
  for (const auto& [folder, may_use] : kMayUse) {
    for (const auto& file : files_in(folder, kCode)) {
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const auto include = include_on(file.lines[i]);
        if (!include || !include->quoted) continue;
        const std::string used = include->name.substr(0, include->name.find('/'));
        EXPECT_TRUE(kMayUse.contains(used))
            << place(file, i) << ": write the path from the root: " << include->name;
        EXPECT_TRUE(used == folder || may_use.contains(used))
            << place(file, i) << ": " << folder << "/ may not use " << used << "/";
      }
    }
  }
}

// A room is a folder right below a top-level folder; the files beside the rooms are none.
std::string room_of(const std::string& path) {
  const auto first = path.find('/');
  const auto second = path.find('/', first + 1);
  return second == std::string::npos ? "" : path.substr(first + 1, second - first - 1);
}

// Which room of `folder` includes which other, and a place where it does.
std::map<std::pair<std::string, std::string>, std::string> rooms_used(const std::string& folder) {
  std::map<std::pair<std::string, std::string>, std::string> used;
  for (const auto& file : files_in(folder, kCode))
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      if (const auto include = include_on(file.lines[i]);
          include && include->quoted && include->name.starts_with(folder + "/"))
        used.emplace(std::pair{room_of(file.path), room_of(include->name)}, place(file, i));
  return used;
}

// From the ground up, as instance/README.md lists them.
const std::vector<std::string> kRoomsOfInstance = {
    "basics",  "request", "job",     "journal",   "manager",  "resources", "output",     "agents",
    "process", "policy",  "config",  "registry",  "assembly", "users",     "membership", "shape",
    "tree",    "grants",  "streams", "provision", "listing",  "per_user",  "service",    "broker"};

TEST(Includes, FollowTheDirectionOfTheRoomsOfInstance) {
  const auto height = [](const std::string& room) {
    return std::find(kRoomsOfInstance.begin(), kRoomsOfInstance.end(), room);
  };
  for (const auto& [rooms, where] : rooms_used("instance")) {
    for (const std::string& room : {rooms.first, rooms.second})
      EXPECT_NE(height(room), kRoomsOfInstance.end())
          << where << ": \"" << room << "\" is not in the order of the rooms";
    EXPECT_LE(height(rooms.second), height(rooms.first))
        << where << ": " << rooms.first << "/ may not use " << rooms.second
        << "/, which is above it";
  }
}

TEST(Includes, NoTwoRoomsOfAFolderUseEachOther) {
  for (const auto& [folder, may_use] : kMayUse) {
    const auto used = rooms_used(folder);
    for (const auto& [rooms, where] : used) {
      const auto back = used.find({rooms.second, rooms.first});
      const bool are_rooms = !rooms.first.empty() && !rooms.second.empty();
      if (!are_rooms || rooms.first >= rooms.second || back == used.end()) continue;
      ADD_FAILURE() << folder << "/: " << rooms.first << " uses " << rooms.second << " (" << where
                    << "), which uses it (" << back->second << ")";
    }
  }
}

// The scheduler is a function of its arguments: bytes, events and `now` in, values out.
TEST(Includes, PureFoldersHaveNoInputOutputThreadOrClock) {
  const std::set<std::string> forbidden = {"chrono",     "condition_variable",
                                           "cstdio",     "ctime",
                                           "fcntl.h",    "filesystem",
                                           "fstream",    "future",
                                           "iostream",   "mutex",
                                           "poll.h",     "pthread.h",
                                           "random",     "semaphore",
                                           "signal.h",   "shared_mutex",
                                           "stdio.h",    "stop_token",
                                           "thread",     "time.h",
                                           "unistd.h",   "sys/socket.h",
                                           "sys/stat.h", "sys/time.h",
                                           "zmq.hpp",    "zmq.h",
                                           "sqlite3.h",  "msgpack.hpp"};
  const std::regex forbidden_call(
      R"(::now\(|\bstd::time\(|\bgetenv\(|\bgettimeofday\(|\bclock_gettime\(|\bstd::rand\(|\bsleep)");
  for (const std::string folder : {"resource", "qmanager", "policy", "holdings"}) {
    for (const auto& file : files_in(folder, kCode)) {
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const std::string code = file.lines[i].substr(0, file.lines[i].find("//"));
        const auto include = include_on(file.lines[i]);
        const std::string name = include ? include->name : "";
        EXPECT_FALSE(forbidden.contains(name)) << place(file, i) << ": " << name;
        EXPECT_FALSE(name.starts_with("spdlog/")) << place(file, i) << ": " << name;
        EXPECT_FALSE(std::regex_search(code, forbidden_call)) << place(file, i) << ": " << code;
      }
    }
  }
}

TEST(Includes, OnlyTheDriversReadAClock) {
  const std::regex reads_clock(R"((system_clock|steady_clock|high_resolution_clock)::now\()");
  const std::set<std::string> drivers = {"sim",        "transport", "launch", "instance",
                                         "standalone", "client",    "cli",    "web"};
  for (const auto& [folder, may_use] : kMayUse) {
    if (drivers.contains(folder)) continue;
    for (const auto& file : files_in(folder, kCode))
      for (std::size_t i = 0; i < file.lines.size(); ++i)
        EXPECT_FALSE(std::regex_search(file.lines[i], reads_clock)) << place(file, i);
  }
}

// Then a header that compiles only after others is found by its own .cpp. The headers without a
// .cpp are compiled alone by the build (cmake/HolonModule.cmake).
TEST(Includes, ASourceFileIncludesItsOwnHeaderFirst) {
  for (const auto& [folder, may_use] : kMayUse) {
    for (const auto& file : files_in(folder, {".cpp"})) {
      const std::string header = file.path.substr(0, file.path.size() - 4) + ".hpp";
      if (!std::filesystem::exists(root() / header)) continue;
      std::string first;
      for (const auto& line : file.lines) {
        if (const auto include = include_on(line)) {
          first = include->name;
          break;
        }
      }
      EXPECT_EQ(first, header) << file.path;
    }
  }
}

// Of the Instance everything hangs. It is put together and taken apart in one place each: what a
// service or a part of the broker uses stands in its Uses.
TEST(Includes, OnlyWhoPutsServicesTogetherKnowsTheWholeCore) {
  const std::set<std::string> known = {"instance/service/instance.cpp",
                                       "instance/broker/broker.hpp",
                                       "instance/service/service.hpp"};
  for (const auto& file : files_in("instance", kCode))
    for (const auto& line : file.lines)
      if (const auto include = include_on(line);
          include && include->name == "instance/service/instance.hpp") {
        EXPECT_TRUE(known.contains(file.path)) << file.path;
      }
}

TEST(Includes, HeadersAreGuardedAndDoNotOpenNamespaces) {
  for (const auto& [folder, may_use] : kMayUse) {
    for (const auto& file : files_in(folder, {".hpp"})) {
      EXPECT_NE(std::find(file.lines.begin(), file.lines.end(), "#pragma once"), file.lines.end())
          << file.path;
      for (std::size_t i = 0; i < file.lines.size(); ++i)
        EXPECT_FALSE(file.lines[i].starts_with("using namespace")) << place(file, i);
    }
  }
}

}  // namespace
}  // namespace holon::structure
