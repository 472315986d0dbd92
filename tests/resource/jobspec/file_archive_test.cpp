// Files in a jobspec (RFC 37): what is read, what is refused, and bytes as text.
#include "resource/jobspec/file_archive.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/jobspec/base64.hpp"

namespace holon::resource {
namespace {

using ::testing::HasSubstr;

TEST(Base64, IsWhatTheRfcSays) {
  const std::pair<const char*, const char*> known[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : known) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zh==", "Z===", "====", "Zm9 ", "Zm9v\n", "Zg==Zg=="})
    EXPECT_FALSE(from_base64(wrong)) << wrong;
}

TEST(Base64, OfAnyBytesGivesThemBack) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes += static_cast<char>(i * 7919 >> 3);
  }
}

TEST(FileArchive, OfAnyFilesGivesThemBack) {
  const std::vector<AddedFile> files = {
      {"fit.toml", 0644, "a = 1\n"},
      {"empty", 0600, ""},
      {"a name=of:mine", 0755, "\xff\0\xfe" + std::string(2, '\0')},
      {"\xc3\xa9", 0, "\xc3\xa9"}};
  const auto read = read_file_archive(write_file_archive(files));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, files);
}

// The forms of the RFC.
TEST(FileArchive, IsAListOrAnObjectAndAValueIsItsText) {
  const auto list = read_file_archive(
      R"([{"path":"data.csv","mode":33204,"encoding":"utf-8","data":"a,b\n","size":4,"mtime":1},
          {"path":"v.dat","mode":33204,"encoding":"base64","data":"MzU=","size":2},
          {"path":"config.json","mode":33204,"data":{"b":[1,null],"a":"x"}}])");
  ASSERT_TRUE(list) << to_string(list.error());
  EXPECT_EQ(*list, (std::vector<AddedFile>{{"data.csv", 0664, "a,b\n"},
                                           {"v.dat", 0664, "35"},
                                           {"config.json", 0664, R"({"b":[1,null],"a":"x"})"}}));
}

TEST(FileArchive, WhatIsNoPlainFileIsRefusedWithItsPlace) {
  const auto one = [](const std::string& name, const std::string& object) {
    return "{\"" + name + "\":" + object + "}";
  };
  const std::string good = R"({"mode":33188,"encoding":"utf-8","data":"x"})";
  struct Case {
    std::string archive, where, what;
  };
  const Case cases[] = {
      {"3", "", "an object with a file a key"},
      {one("../x", good), "/..~1x", "'../x' is no name of a file in the job's folder"},
      {one("/etc/passwd", good), "/~1etc~1passwd", "is no name"},
      {one("a/b", good), "/a~1b", "is no name"},
      {one("..", good), "/..", "is no name"},
      {one(".", good), "/.", "is no name"},
      {one("", good), "/", "is no name"},
      {one("a\\u0000b", good), "/a", "is no name"},
      {one("a\\nb", good), "/a", "is no name"},
      {one(std::string(256, 'x'), good), "/xxx", "a name of 256 bytes; at most 255"},
      {one("l", R"({"mode":41471,"data":"/etc/passwd"})"), "/l/mode", "a link; regular files"},
      {one("d", R"({"mode":16893})"), "/d/mode", "a folder; regular files"},
      {one("p", R"({"mode":4516})"), "/p/mode", "a special file; regular files"},
      {one("s", R"({"mode":35309})"), "/s/mode", "permissions 04755; those up to 0777"},
      {one("n", R"({"mode":-1})"), "/n/mode", ""},
      {one("m", R"({"data":"x"})"), "/m/mode", "has a 'mode'"},
      {one("b", R"({"mode":33188,"encoding":"base64","data":"=="})"), "/b/data", "not base64"},
      {one("v", R"({"mode":33188,"encoding":"blobvec","data":[]})"), "/v/encoding",
       "blobvec; utf-8, base64 and none"},
      {one("t", R"({"mode":33188,"encoding":"utf-8","data":7})"), "/t/data", "it is a text"},
      {one("z", R"({"mode":33188,"encoding":"utf-8","data":"x","size":2})"), "/z/size",
       "says 2, and there are 1 bytes"},
      {R"([{"mode":33188}])", "/0", "has a 'path'"},
      {R"([{"path":"a","mode":33188},{"path":"a","mode":33188}])", "", "two files are called 'a'"},
  };
  for (const Case& wrong : cases) {
    const auto refused = read_file_archive(wrong.archive);
    ASSERT_FALSE(refused) << wrong.archive;
    EXPECT_EQ(refused.error().where.substr(0, wrong.where.size()), wrong.where) << wrong.archive;
    EXPECT_THAT(refused.error().what, HasSubstr(wrong.what)) << wrong.archive;
  }
}

TEST(FileArchive, HasABoundInAll) {
  std::vector<AddedFile> files = {{"a", 0600, std::string(kMostAddedBytes, 'x')}};
  EXPECT_TRUE(read_file_archive(write_file_archive(files)));
  files.push_back({"b", 0600, "x"});
  const auto refused = read_file_archive(write_file_archive(files));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_range);
  EXPECT_THAT(refused.error().what, HasSubstr("1048577 bytes in all; at most 1048576"));
  files.clear();
  for (std::size_t i = 0; i <= kMostAddedFiles; ++i) files.push_back({std::to_string(i), 0, ""});
  EXPECT_THAT(read_file_archive(write_file_archive(files)).error().what,
              HasSubstr("257 files; at most 256"));
}

}  // namespace
}  // namespace holon::resource
