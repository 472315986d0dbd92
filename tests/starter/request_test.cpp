#include "starter/request.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>

namespace holon::starter {
namespace {

using testing::HasSubstr;

Request example() {
  return {"ann",
          {"sh", "-c", "true", ""},
          {"A=b", ""},
          "/home/ann",
          {5, 0},
          1024,
          {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, UINT64_MAX}},
          "",
          0,
          027};
}

TEST(StarterRequest, ComesBackAsItWas) {
  const auto back = decode(encode(example()));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(*back, example());
}

TEST(StarterRequest, CutOffAnywhereItIsNone) {
  const std::string bytes = encode(example());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(decode(bytes + "x"));
}

// A length that claims more than there is takes no memory.
TEST(StarterRequest, AnyBytesAreARequestOrAnError) {
  std::mt19937 random(7);
  const std::string whole = encode(example());
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 4 == 0) bytes.resize(random() % bytes.size());
    const auto read = decode(bytes);
    if (read) {
      EXPECT_LE(read->argv.size(), kMostWords);
    }
  }
  EXPECT_FALSE(decode(std::string(kMostBytes + 1, '\0')));
  EXPECT_FALSE(decode(std::string(4096, '\xff')));
}

TEST(StarterRequest, AMaskIsOneOfPermissions) {
  Request request = example();
  for (const std::uint32_t mask : {01000U, 07777U, ~0U - 1}) {
    request.file_mask = mask;
    EXPECT_FALSE(decode(encode(request))) << mask;
  }
  request.file_mask = kUsualMask;
  EXPECT_TRUE(decode(encode(request)));
}

TEST(StarterRequest, LimitsThatNoSystemHasAreNone) {
  Request request = example();
  request.limits = {{RLIM_NLIMITS, 1}};
  EXPECT_FALSE(decode(encode(request)));
  request.limits.assign(kMostLimits, {RLIMIT_CORE, 1});
  EXPECT_TRUE(decode(encode(request)));
  request.limits.push_back({RLIMIT_CORE, 1});
  EXPECT_FALSE(decode(encode(request)));
}

TEST(StarterRequest, WhatCannotBeRunIsRefused) {
  EXPECT_TRUE(check_run(example()));
  Request none = example();
  none.argv.clear();
  EXPECT_FALSE(check_run(none));
  Request zero = example();
  zero.env.push_back(std::string("A=b\0LD_PRELOAD=x", 16));
  EXPECT_THAT(check_run(zero).error().what, HasSubstr("zero byte"));
  Request relative = example();
  relative.cwd = "home";
  EXPECT_FALSE(check_run(relative));
  Request both = example();
  both.path = "/tmp/x";
  EXPECT_FALSE(check_run(both));
  EXPECT_FALSE(check_open(both));
}

TEST(StarterRequest, WhatCannotBeOpenedIsRefused) {
  Request request;
  request.user = "ann";
  request.path = "/tmp/x";
  request.flags = O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
  EXPECT_TRUE(check_open(request));
  request.flags |= O_PATH;
  EXPECT_FALSE(check_open(request));
  request.flags = O_RDWR;
  EXPECT_FALSE(check_open(request));
  request.flags = 0;
  request.path = "tmp/x";
  EXPECT_FALSE(check_open(request));
  request.path = std::string("/tmp/x\0y", 8);
  EXPECT_FALSE(check_open(request));
}

}  // namespace
}  // namespace holon::starter
