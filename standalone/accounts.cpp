#include "standalone/accounts.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "standalone/remembered.hpp"

namespace holon::standalone {
namespace {

constexpr std::size_t kMostOfFile = std::size_t{256} << 20;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

template <typename Number>
bool read_number(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty();
}

// Lines of NIS (+, -) and comments are no entries.
bool is_entry(const std::string& line) {
  return !line.empty() && std::string_view("#+-").find(line[0]) == std::string_view::npos;
}

// The entry of `lines` that is meant.
template <typename Entry>
std::optional<Entry> entry_in(const std::string& lines,
                              std::optional<Entry> (*read)(const std::string&),
                              const std::function<bool(const Entry&)>& is_meant) {
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);)
    if (auto entry = read(line); entry && is_meant(*entry)) return entry;
  return std::nullopt;
}

GetentAnswer ask(const Sources& sources, const std::string& database, const std::string& key) {
  return sources.remembered != nullptr ? sources.remembered->ask(sources, database, key)
                                       : ask_getent(sources, database, key);
}

// getent takes digits for a number, where a name may be meant: its answer is looked at, too.
template <typename Entry>
Result<std::optional<Entry>> find_entry(const Sources& sources, const char* database,
                                        const std::string& key,
                                        std::optional<Entry> (*read)(const std::string&),
                                        const std::function<bool(const Entry&)>& is_meant) {
  const auto lines = text_of_file(sources, database, kMostOfFile);
  if (!lines) return tl::unexpected(lines.error());
  if (auto found = entry_in(*lines, read, is_meant)) return found;
  const auto more = has_services(sources, database);
  if (!more) return tl::unexpected(more.error());
  if (!*more) return std::nullopt;
  const auto answer = ask(sources, database, key);
  if (!answer) return tl::unexpected(answer.error());
  return *answer ? entry_in(**answer, read, is_meant) : std::nullopt;
}

// The groups that the user is a member of beside those of the file; empty where there is only that.
Result<std::vector<gid_t>> groups_of_services(const Sources& sources, const std::string& user) {
  std::vector<gid_t> ids;
  const auto groups = has_services(sources, "group");
  if (!groups) return tl::unexpected(groups.error());
  const auto own = has_services(sources, "initgroups");
  if (!own) return tl::unexpected(own.error());
  if (!*groups && !*own) return ids;
  const auto answer = ask(sources, "initgroups", user);
  if (!answer) return tl::unexpected(answer.error());
  std::istringstream words(answer->value_or(""));
  std::string word;
  if (!(words >> word) || word != user) return ids;
  for (gid_t id = 0; words >> word;)
    if (read_number(word, id)) ids.push_back(id);
  return ids;
}

}  // namespace

std::optional<User> read_user(const std::string& line) {
  const auto fields = split(line, ':');
  User user;
  if (!is_entry(line) || fields.size() != 7 || !read_number(fields[2], user.uid) ||
      !read_number(fields[3], user.gid))
    return std::nullopt;
  user.name = fields[0];
  user.password = fields[1];
  user.comment = fields[4];
  user.home = fields[5];
  user.shell = fields[6];
  return user;
}

std::optional<Group> read_group(const std::string& line) {
  const auto fields = split(line, ':');
  Group group;
  if (!is_entry(line) || fields.size() != 4 || !read_number(fields[2], group.gid))
    return std::nullopt;
  group.name = fields[0];
  group.password = fields[1];
  for (auto& member : split(fields[3], ','))
    if (!member.empty()) group.members.push_back(std::move(member));
  return group;
}

FoundUser user_named(const Sources& sources, const std::string& name) {
  return find_entry<User>(sources, "passwd", name, read_user,
                          [&](const User& user) { return user.name == name; });
}

FoundUser user_numbered(const Sources& sources, uid_t uid) {
  return find_entry<User>(sources, "passwd", std::to_string(uid), read_user,
                          [&](const User& user) { return user.uid == uid; });
}

FoundGroup group_named(const Sources& sources, const std::string& name) {
  return find_entry<Group>(sources, "group", name, read_group,
                           [&](const Group& group) { return group.name == name; });
}

FoundGroup group_numbered(const Sources& sources, gid_t gid) {
  return find_entry<Group>(sources, "group", std::to_string(gid), read_group,
                           [&](const Group& group) { return group.gid == gid; });
}

Result<std::vector<gid_t>> groups_of(const Sources& sources, const std::string& user,
                                     gid_t primary) {
  std::vector<gid_t> ids = {primary};
  const auto add = [&ids](gid_t id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  const auto text = text_of_file(sources, "group", kMostOfFile);
  if (!text) return tl::unexpected(text.error());
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const auto group = read_group(line);
    if (group &&
        std::find(group->members.begin(), group->members.end(), user) != group->members.end())
      add(group->gid);
  }
  const auto others = groups_of_services(sources, user);
  if (!others) return tl::unexpected(others.error());
  for (const gid_t id : *others) add(id);
  return ids;
}

Result<std::vector<User>> users_of_file(const Sources& sources) {
  std::vector<User> users;
  const auto text = text_of_file(sources, "passwd", kMostOfFile);
  if (!text) return tl::unexpected(text.error());
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);)
    if (auto user = read_user(line)) users.push_back(std::move(*user));
  return users;
}

}  // namespace holon::standalone
