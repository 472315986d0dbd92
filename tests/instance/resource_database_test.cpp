// RFC 16's database: what is saved is loaded, a save of changes writes what a whole one would, and
// a damaged file is told with its place.
#include "instance/resources/resource_database.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

using Extent = ResourceDatabase::Extent;
using Open = ResourceDatabase::Open;
using namespace holon::resource;  // NOLINT: everything here is about it
using ::testing::HasSubstr;

class TemporaryDirectory {
 public:
  TemporaryDirectory() : name_(::testing::TempDir() + "holon-resources-XXXXXX") {
    if (mkdtemp(name_.data()) == nullptr) std::abort();
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(name_); }
  std::string file(const char* name = "resources.db") const { return name_ + "/" + name; }

 private:
  std::string name_;
};

ResourceStore store_of(std::string_view shape) {
  return ResourceStore::load(read_shape(shape).value(), {}).value();
}

Jobspec asks(std::int64_t nodes, std::int64_t cores, std::int64_t memory, bool exclusive) {
  JobShape shape;
  shape.nodes = shape.tasks = nodes;
  shape.cores_per_task = cores;
  shape.memory_per_task = memory;
  shape.exclusive = exclusive;
  return jobspec_for(shape).value();
}

void match(ResourceStore& store, std::uint64_t job, const Jobspec& spec, Duration duration = 10) {
  ASSERT_TRUE(std::holds_alternative<Allocation>(
      store.match(JobId{job}, spec, MatchOp::allocate_orelse_reserve, 0, duration).value()));
}

std::vector<Holding> holdings(const ResourceStore& store) {
  std::vector<Holding> list;
  for (const JobId job : store.jobs()) list.push_back(*store.holding(job));
  return list;
}

void expect_same(const ResourceStore& a, const ResourceStore& b) {
  EXPECT_EQ(write_jgf(a.graph()), write_jgf(b.graph()));
  EXPECT_EQ(holdings(a), holdings(b));
  EXPECT_EQ(a.options().match_policy, b.options().match_policy);
  EXPECT_EQ(a.options().horizon, b.options().horizon);
  b.check_invariants();
}

ResourceStore loaded(const std::string& file) {
  auto store = ResourceDatabase::open(file, Open::existing).value().load();
  EXPECT_TRUE(store) << to_string(store.error());
  return std::move(*store);
}

TEST(ResourceDatabase, KeepsTheGraphWhatIsHeldAndWhatIsPlanned) {
  const TemporaryDirectory directory;
  ResourceStore store = store_of("rack=2/node=2{amd,speed=3}/core=4,memory=16");
  match(store, 1, asks(1, 2, 6, false), 100);
  match(store, 2, asks(3, 1, 0, true), 50);
  match(store, 3, asks(4, 1, 0, true), 20);
  ASSERT_TRUE(store.is_reserved(JobId{3}));
  ASSERT_TRUE(store.set_status("/cluster0/rack1/node3", false));
  ASSERT_TRUE(store.set_drained("/cluster0/rack0/node0", true));
  auto database = ResourceDatabase::open(directory.file(), Open::create).value();
  ASSERT_TRUE(database.save(store, Extent::all));
  const ResourceStore again = loaded(directory.file());
  expect_same(store, again);
  EXPECT_TRUE(again.is_reserved(JobId{3}));
  EXPECT_EQ(again.available("memory", 0), store.available("memory", 0));
}

TEST(ResourceDatabase, KeepsOtherSubsystemsAndExtensions) {
  const TemporaryDirectory directory;
  const char* jgf = R"({"graph": {"nodes": [
      {"id": "0", "metadata": {"type": "cluster", "id": 0, "paths": {"containment": "/cluster0"}}},
      {"id": "1", "metadata": {"type": "node", "id": 0, "rank": 0, "x-color": {"r": 1},
                               "paths": {"containment": "/cluster0/node0", "power": "/pdu0/node0"}}},
      {"id": "2", "metadata": {"type": "pdu", "id": 0, "size": 500, "unit": "W",
                               "paths": {"power": "/pdu0"}}}],
    "edges": [{"source": "0", "target": "1"},
              {"source": "2", "target": "1", "metadata": {"subsystem": "power"}}]}})";
  const auto spec = read_jgf(jgf);
  ASSERT_TRUE(spec) << to_string(spec.error());
  const ResourceStore store = ResourceStore::load(*spec, {}).value();
  auto database = ResourceDatabase::open(directory.file(), Open::create).value();
  ASSERT_TRUE(database.save(store, Extent::all));
  const ResourceStore again = loaded(directory.file());
  expect_same(store, again);
  EXPECT_THAT(write_jgf(again.graph()), HasSubstr("x-color"));
  EXPECT_EQ(again.graph().aux_edges().size(), 1U);
}

TEST(ResourceDatabase, AJobThatOverrunsHoldsOnAfterALoad) {
  const TemporaryDirectory directory;
  ResourceStore store = store_of("node=1/core=2");
  match(store, 1, asks(1, 2, 0, false), 10);
  ASSERT_TRUE(std::holds_alternative<NotNow>(
      store.match(JobId{2}, asks(1, 1, 0, false), MatchOp::allocate, 15, 10).value()));
  auto database = ResourceDatabase::open(directory.file(), Open::create).value();
  ASSERT_TRUE(database.save(store, Extent::all));
  expect_same(store, loaded(directory.file()));
}

// The first thing in `table`, changed behind the database's back.
void execute(const std::string& file, const char* sql) {
  SQLite::Database(file, SQLite::OPEN_READWRITE).exec(sql);
}

std::string error_after(const TemporaryDirectory& directory, const char* sql) {
  ResourceStore store = store_of("node=2/core=2,memory=4");
  match(store, 1, asks(1, 1, 2, false));
  {
    auto database = ResourceDatabase::open(directory.file(), Open::create).value();
    EXPECT_TRUE(database.save(store, Extent::all));
  }
  execute(directory.file(), sql);
  const auto database = ResourceDatabase::open(directory.file(), Open::existing);
  if (!database) return to_string(database.error());
  const auto again = database->load();
  EXPECT_FALSE(again) << sql;
  return again ? "" : to_string(again.error());
}

TEST(ResourceDatabase, SaysWhereItIsDamaged) {
  const struct {
    const char* sql;
    const char* said;
  } cases[] = {
      {"DROP TABLE shares", "no such table: shares"},
      {"UPDATE vertices SET parent=99 WHERE uniq_id=1", "uniq_id 1: its parent 99"},
      {"DELETE FROM vertices WHERE uniq_id IN (SELECT uniq_id FROM shares WHERE amount=1)",
       "table allocations, job 1"},
      {"DELETE FROM vertices", "root"},
      {"UPDATE vertices SET size=-1 WHERE uniq_id=3", "size"},
      {"UPDATE vertices SET rank=-7 WHERE uniq_id=3", "uniq_id 3: a rank is not -7"},
      {"UPDATE vertices SET extensions='[' WHERE uniq_id=3", "no JSON object"},
      {"UPDATE shares SET amount=100", "table allocations, job 1"},
      {"UPDATE allocations SET end=begin", "table allocations, job 1"},
      {"UPDATE meta SET value='x' WHERE key='horizon_end'", "table meta: the horizon"},
      {"UPDATE meta SET value='best' WHERE key='match_policy'", "best"},
      {"INSERT INTO properties VALUES(77,'a','b')", "table properties: there is no vertex 77"},
      {"INSERT INTO edges VALUES(0,5,1,2)", "table edges: there is no subsystem 5"},
      {"PRAGMA user_version=9", "version 9"},
      {"PRAGMA application_id=1", "not a holon resource database"},
  };
  for (const auto& one : cases) {
    const TemporaryDirectory directory;
    const std::string said = error_after(directory, one.sql);
    EXPECT_THAT(said, HasSubstr(one.said)) << one.sql;
    EXPECT_THAT(said, HasSubstr(directory.file())) << one.sql;
  }
}

TEST(ResourceDatabase, RefusesWhatIsNoDatabaseAndWhatIsNotThere) {
  const TemporaryDirectory directory;
  const auto missing = ResourceDatabase::open(directory.file("no.db"), Open::existing);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  std::ofstream(directory.file()) << std::string(5000, 'x');
  const auto text = ResourceDatabase::open(directory.file(), Open::existing);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Errc::invalid_argument);
  EXPECT_EQ(text.error().where, directory.file());
}

// A flipped byte is found, or was in no place that matters: never a crash, never a half store.
TEST(ResourceDatabase, SurvivesFlippedBytes) {
  const TemporaryDirectory directory;
  ResourceStore store = store_of("node=20/core=4,memory=4");
  match(store, 1, asks(2, 1, 2, false));
  {
    auto database = ResourceDatabase::open(directory.file(), Open::create).value();
    ASSERT_TRUE(database.save(store, Extent::all));
  }
  std::string good(std::filesystem::file_size(directory.file()), '\0');
  std::ifstream(directory.file()).read(good.data(), static_cast<std::streamsize>(good.size()));
  std::mt19937 random(1);
  int found = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bad = good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    const std::string file = directory.file("bad.db");
    std::ofstream(file) << bad;
    const auto database = ResourceDatabase::open(file, Open::existing);
    if (!database) {
      EXPECT_THAT(database.error().where, HasSubstr(file));
      ++found;
      continue;
    }
    const auto again = database->load();
    if (again) {
      again->check_invariants();
    } else {
      EXPECT_THAT(again.error().where, HasSubstr(file));
      ++found;
    }
  }
  EXPECT_GT(found, 20);
}

// Saves of changes, one after the other, leave the file as one save of everything would.
RC_GTEST_PROP(ResourceDatabase, SavesOfChangesComeToAWholeOne, ()) {
  const TemporaryDirectory directory;
  const GraphSpec whole = read_shape("rack=2/node=2/core=3,memory=4").value();
  ResourceStore store = ResourceStore::load(whole, {}).value();
  auto database = ResourceDatabase::open(directory.file(), Open::create).value();
  const int steps = *rc::gen::inRange(1, 15);
  for (int step = 1; step <= steps; ++step) {
    const auto jobs = store.jobs();
    const auto nodes = store.graph().by_type("node");
    const VertexId node = nodes[*rc::gen::inRange<std::size_t>(0, nodes.size())];
    switch (*rc::gen::inRange(0, 9)) {
      case 0:
        store.set_status(node, *rc::gen::arbitrary<bool>());
        store.set_drained(node, *rc::gen::arbitrary<bool>());
        break;
      case 1:
        store.set_property(node, *rc::gen::element<std::string>("a", "b"), "1");
        break;
      case 2:
        if (nodes.size() > 1) RC_ASSERT(store.shrink(store.graph().path(node)).has_value());
        break;
      case 3:
        RC_ASSERT(store.grow(whole).has_value());
        break;
      case 4:
        if (!jobs.empty()) RC_ASSERT(store.release(*rc::gen::elementOf(jobs)).has_value());
        break;
      case 5:
        if (!jobs.empty()) {
          const JobId job = *rc::gen::elementOf(jobs);
          const Time end = store.holding(job)->held.end;
          static_cast<void>(store.set_end(job, end + *rc::gen::inRange(-3, 4)));
        }
        break;
      default:
        RC_ASSERT(store
                      .match(JobId{static_cast<std::uint64_t>(step)},
                             asks(*rc::gen::inRange(1, 3), 1, *rc::gen::inRange(0, 4),
                                  *rc::gen::arbitrary<bool>()),
                             MatchOp::allocate_orelse_reserve, 0, *rc::gen::inRange(1, 9))
                      .has_value());
    }
    if (*rc::gen::arbitrary<bool>() && step != steps) continue;
    const auto saved = database.save(store, Extent::changed);
    RC_ASSERT(saved.has_value());
    auto again = ResourceDatabase::open(directory.file(), Open::existing).value().load();
    if (!again) RC_LOG() << to_string(again.error());
    RC_ASSERT(again.has_value());
    RC_ASSERT(write_jgf(again->graph()) == write_jgf(store.graph()));
    RC_ASSERT(holdings(*again) == holdings(store));
    again->check_invariants();
  }
}

}  // namespace
}  // namespace holon::instance
