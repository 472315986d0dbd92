// The lifecycle against RFC 21's table, and as a property: replay gives the state, misfits change
// nothing.
#include "instance/job/job.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <functional>

namespace holon::instance {
namespace {

Lifecycle after(const std::vector<EventBody>& bodies) {
  Lifecycle job;
  Time now = 1000;
  for (const auto& body : bodies) {
    auto next = apply(job, {now++, body});
    EXPECT_TRUE(next) << (next ? "" : next.error().what);
    if (next) job = *next;
  }
  return job;
}

const std::vector<EventBody> kToSched = {event::Submit{20, "ada"}, event::Validate{},
                                         event::Depend{}, event::Priority{20}};

std::vector<EventBody> then(std::vector<EventBody> first, std::vector<EventBody> second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(Lifecycle, AJobThatSucceedsPassesEveryState) {
  const std::vector<std::pair<EventBody, JobState>> way = {
      {event::Submit{16, "ada"}, JobState::created},
      {event::Validate{}, JobState::depend},
      {event::Depend{}, JobState::priority},
      {event::Priority{16}, JobState::sched},
      {event::Alloc{"immediate", 5}, JobState::run},
      {event::Start{{{42, 1}}}, JobState::run},
      {event::Finish{0, 3, 100}, JobState::cleanup},
      {event::Release{}, JobState::cleanup},
      {event::Free{}, JobState::cleanup},
      {event::Clean{}, JobState::inactive}};
  Lifecycle job;
  for (const auto& [body, state] : way) {
    auto next = apply(job, {7, body});
    ASSERT_TRUE(next) << name_of(body);
    job = *next;
    EXPECT_EQ(job.state, state) << name_of(body);
  }
  EXPECT_EQ(result_of(job), "COMPLETED");
  EXPECT_EQ(exit_code_of(job), 0);
}

TEST(Lifecycle, AJobThatRunsAgainHasNothingOfTheAttemptBefore) {
  const auto failed = then(kToSched, {event::Alloc{"immediate", 5}, event::Start{{{42, 1}}},
                                      event::Exception{"node-failure", 0, "lost"},
                                      event::Finish{9, 3, 100}, event::Release{}, event::Free{}});
  const Lifecycle before = after(failed);
  const Lifecycle again = after(then(failed, {event::Requeue{1, 77, "lost"}}));
  Lifecycle want;
  want.state = JobState::depend;
  want.submitted = true;
  want.urgency = before.urgency;
  want.user = before.user;
  want.t_submit = before.t_submit;
  want.retries = 1;
  want.retry_begin = 77;
  want.retry_note = "lost";
  EXPECT_EQ(again, want);
  const auto second =
      then(failed, {event::Requeue{1, 77, "lost"}, event::Depend{}, event::Priority{20},
                    event::Alloc{"immediate", 5}, event::Start{{{43, 1}}}, event::Finish{0, 3, 100},
                    event::Release{}, event::Free{}, event::Clean{}});
  EXPECT_EQ(result_of(after(second)), "COMPLETED");
  EXPECT_FALSE(apply(after(kToSched), {7, event::Requeue{1, 8, ""}})) << "it has not run";
}

TEST(Lifecycle, ResultsFollowFromTheFirstFatalException) {
  const auto cleanup = [](const EventBody& why, int status) {
    return after(then(
        kToSched, {event::Alloc{"immediate", 0}, event::Start{{{1, 1}}}, why,
                   event::Finish{status, 0, 0}, event::Release{}, event::Free{}, event::Clean{}}));
  };
  EXPECT_EQ(result_of(cleanup(event::Exception{"cancel", 0, "by ada"}, 15)), "CANCELED");
  EXPECT_EQ(result_of(cleanup(event::Exception{"others-failed", 0, ""}, 15)), "CANCELED");
  EXPECT_EQ(result_of(cleanup(event::Exception{"timeout", 0, ""}, 15)), "TIMEOUT");
  EXPECT_EQ(result_of(cleanup(event::Exception{"node-failure", 0, ""}, 9)), "FAILED");
  EXPECT_EQ(result_of(cleanup(event::Exception{"memo", 5, "a remark"}, 0)), "COMPLETED");
  EXPECT_EQ(result_of(cleanup(event::Exception{"memo", 5, "a remark"}, 256)), "FAILED");
  EXPECT_EQ(exit_code_of(cleanup(event::Exception{"timeout", 0, ""}, 15)), 143);
  EXPECT_EQ(result_of(after({event::Submit{}, event::Invalidate{"too big"}})), "REJECTED");
  EXPECT_EQ(result_of(after(then(kToSched, {event::Exception{"cancel", 0, ""}, event::Clean{}}))),
            "CANCELED");
}

TEST(Lifecycle, TheStateAsksForTheNextStep) {
  const auto step = [](const std::vector<EventBody>& bodies) { return next_step(after(bodies)); };
  const event::Alloc alloc{"immediate", 0};
  const event::Exception cancel{"cancel", 0, ""};
  EXPECT_EQ(step({}), Step::none);
  EXPECT_EQ(step({event::Submit{}}), Step::validate);
  EXPECT_EQ(step({event::Submit{}, event::Validate{}}), Step::depend);
  EXPECT_EQ(step({event::Submit{}, event::Validate{}, event::Depend{}}), Step::priority);
  EXPECT_EQ(step(kToSched), Step::enqueue);
  EXPECT_EQ(step(then(kToSched, {alloc})), Step::start);
  EXPECT_EQ(step(then(kToSched, {alloc, event::Start{}})), Step::watch);
  EXPECT_EQ(step(then(kToSched, {alloc, cancel})), Step::kill);
  EXPECT_EQ(step(then(kToSched, {alloc, cancel, event::Start{}})), Step::kill);
  EXPECT_EQ(step(then(kToSched, {alloc, event::Start{}, event::Finish{}})), Step::release);
  EXPECT_EQ(step(then(kToSched, {alloc, event::Finish{}, event::Release{}})), Step::clean);
  EXPECT_EQ(step(then(kToSched, {cancel})), Step::clean);
  EXPECT_EQ(step(then(kToSched, {cancel, event::Clean{}})), Step::none);
}

event::Alloc on_ranks(std::vector<std::uint32_t> ranks) {
  event::Alloc alloc{"immediate", 0};
  alloc.ranks = std::move(ranks);
  return alloc;
}

TEST(Parts, AJobHasStartedWithTheFirstAndIsOverWithTheLast) {
  const auto job = [](const std::vector<EventBody>& bodies) {
    return after(then(then(kToSched, {on_ranks({0, 2})}), bodies));
  };
  const event::Start first{{{7, 1}}, 2};
  const event::RankStart second{{{8, 1}}, 0};
  const event::RankFinish ended{2, "exit", {256, 5, 10}};
  EXPECT_FALSE(job({}).started);
  EXPECT_EQ(next_step(job({first})), Step::start) << "one part is still to be started";
  EXPECT_EQ(next_step(job({first}), 0), Step::start);
  EXPECT_EQ(next_step(job({first}), 2), Step::watch);
  EXPECT_EQ(next_step(job({first}), 1), Step::none) << "there is no such part";
  EXPECT_EQ(next_step(job({first, second})), Step::watch);
  const auto half = job({first, second, ended});
  EXPECT_EQ(half.state, JobState::run);
  EXPECT_FALSE(half.finished);
  EXPECT_EQ(next_step(half, 2), Step::none);
  EXPECT_FALSE(others_are_over(half, 2));
  EXPECT_TRUE(others_are_over(half, 0));
  EXPECT_EQ(processes_of(half), (std::vector<event::Process>{{8, 1}, {7, 1}}));
  const auto cancelled = job({first, second, ended, event::Exception{"cancel", 0, ""}});
  EXPECT_EQ(next_step(cancelled), Step::kill);
  EXPECT_EQ(next_step(cancelled, 0), Step::kill);
  EXPECT_EQ(next_step(cancelled, 2), Step::none);
  EXPECT_EQ(next_step(job({first, second, ended, event::Finish{256, 9, 9}})), Step::release);
}

// The agents of a child instance, which it needs to end in order.
TEST(Parts, ThoseThatAreLedAreEndedWhenTheFirstIsOver) {
  auto alloc = on_ranks({1, 2});
  alloc.leads = true;
  const auto job = [&](std::vector<EventBody> bodies) {
    bodies.insert(bodies.begin(), alloc);
    return after(then(kToSched, bodies));
  };
  const event::Start led{{{8, 1}}, 2};
  const event::RankStart first{{{7, 1}}, 1};
  const event::Exception cancel{"cancel", 0, ""};
  EXPECT_TRUE(is_led(job({}), 2));
  EXPECT_FALSE(is_led(job({}), 1));
  const auto cancelled = job({led, first, cancel});
  EXPECT_EQ(next_step(cancelled, 1), Step::kill);
  EXPECT_EQ(next_step(cancelled, 2), Step::watch);
  EXPECT_EQ(next_step(job({cancel}), 2), Step::kill) << "it has not begun";
  const auto over = job({led, first, event::RankFinish{1, "exit", {}}});
  EXPECT_EQ(over.state, JobState::run);
  EXPECT_EQ(next_step(over), Step::kill);
  EXPECT_EQ(next_step(over, 2), Step::kill);
  const auto alone = job({led, first, event::RankFinish{2, "lost", {}}});
  EXPECT_EQ(next_step(alone), Step::watch) << "it goes on without that one";
  EXPECT_EQ(next_step(alone, 1), Step::watch);
}

TEST(Parts, EachStartsAndEndsOnce) {
  const auto running = after(then(kToSched, {on_ranks({0, 1}), event::Start{{}, 1}}));
  EXPECT_FALSE(apply(running, {9, event::RankStart{{}, 1}}));
  EXPECT_FALSE(apply(running, {9, event::RankStart{{}, 3}}));
  EXPECT_FALSE(apply(running, {9, event::Start{{}, 0}}));
  const auto over = apply(running, {9, event::RankFinish{1, "exit", {}}});
  ASSERT_TRUE(over);
  EXPECT_FALSE(apply(*over, {10, event::RankFinish{1, "exit", {}}}));
}

TEST(Parts, TheWholeHasTheHighestExitCodeAndAllThatWasUsed) {
  Part good{0, true, true, false, 5, {0, 10, 100}, {}};
  Part killed{1, true, true, false, 5, {9, 1, 50}, {}};
  Part failed{2, true, true, false, 5, {3 << 8, 2, 20}, {}};
  Part never{3, false, true, true, 5, {}, {}};
  EXPECT_EQ(whole_of({good, failed, never}), (event::Finish{3 << 8, 12, 120}));
  EXPECT_EQ(whole_of({failed, killed, good}), (event::Finish{9, 13, 170})) << "137 is more than 3";
  EXPECT_EQ(whole_of({never}), std::nullopt);
  failed.decisive = true;
  EXPECT_EQ(whole_of({failed, killed, good}), (event::Finish{3 << 8, 13, 170}))
      << "it has ended the others";
}

// What one agent runs is written as it was before there were several.
TEST(Parts, OfRankZeroAreNotNamed) {
  EXPECT_EQ(context_of(event::Start{{{42, 7}}}), R"({"processes":[[42,7]]})");
  EXPECT_EQ(context_of(event::Alloc{"immediate", 5}).find("ranks"), std::string::npos);
  const auto old =
      parse_event("alloc", R"({"annotations":{"selection":"backfill"},"expiration_ms":5})");
  ASSERT_TRUE(old);
  EXPECT_EQ(std::get<event::Alloc>(*old).ranks, std::vector<std::uint32_t>{0});
}

rc::Gen<EventBody> any_body() {
  const auto text = rc::gen::container<std::string>(rc::gen::inRange<char>(32, 126));
  return rc::gen::oneOf(
      rc::gen::map(text,
                   [](std::string t) -> EventBody {
                     return event::Submit{3, std::move(t)};
                   }),
      rc::gen::just<EventBody>(event::Validate{}),
      rc::gen::map(text,
                   [](std::string t) -> EventBody { return event::Invalidate{std::move(t)}; }),
      rc::gen::just<EventBody>(event::Depend{}),
      rc::gen::map(rc::gen::inRange(0, 1000),
                   [](int p) -> EventBody { return event::Priority{std::uint64_t(p)}; }),
      rc::gen::map(rc::gen::inRange(0, 31),
                   [](int u) -> EventBody { return event::Urgency{std::uint32_t(u)}; }),
      rc::gen::map(rc::gen::inRange(0, 9),
                   [](int e) -> EventBody {
                     event::Alloc alloc{"backfill", e};
                     if (e % 2 == 0) alloc.ranks = {0, 1, 2};
                     alloc.leads = e % 4 == 0;
                     return alloc;
                   }),
      rc::gen::map(rc::gen::inRange(0, 3),
                   [](int r) -> EventBody {
                     return event::RankStart{{{r + 20, 7}}, std::uint32_t(r)};
                   }),
      rc::gen::map(rc::gen::inRange(0, 3),
                   [](int r) -> EventBody {
                     return event::RankFinish{std::uint32_t(r), "exit", {r << 8, r, r}};
                   }),
      rc::gen::map(rc::gen::inRange(0, 9),
                   [](int e) -> EventBody { return event::ResourceUpdate{e}; }),
      rc::gen::map(text, [](std::string t) -> EventBody { return event::Instance{std::move(t)}; }),
      rc::gen::map(rc::gen::inRange(1, 9),
                   [](int p) -> EventBody {
                     return event::Start{{{p, 7}, {p + 1, 0}}};
                   }),
      rc::gen::map(rc::gen::inRange(0, 3),
                   [](int s) -> EventBody {
                     return event::Exception{"cancel", s, "\"n\""};
                   }),
      rc::gen::map(rc::gen::inRange(0, 300),
                   [](int s) -> EventBody {
                     return event::Finish{s, s, s};
                   }),
      rc::gen::map(text,
                   [](std::string t) -> EventBody {
                     return event::Requeue{2, 9, std::move(t)};
                   }),
      rc::gen::map(text,
                   [](std::string t) -> EventBody {
                     return event::JobspecUpdate{61'234, std::move(t), "night", 2, 8, 12};
                   }),
      rc::gen::just<EventBody>(event::JobspecUpdate{0, {}, {}, {}, {}, 0}),
      rc::gen::just<EventBody>(event::ArrayExtend{3}),
      rc::gen::just<EventBody>(event::ArrayClose{}), rc::gen::just<EventBody>(event::Suspend{}),
      rc::gen::just<EventBody>(event::Resume{}), rc::gen::just<EventBody>(event::Release{}),
      rc::gen::just<EventBody>(event::Free{}), rc::gen::just<EventBody>(event::Clean{}));
}

RC_GTEST_PROP(Event, TextRoundTrips, ()) {
  const EventBody body = *any_body();
  const auto back = parse_event(name_of(body), context_of(body));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == body);
}

// Random events, fitting or not: the accepted ones alone, replayed through their text, give the
// same state; the state never goes back (except CLEANUP's own bookkeeping), and resources are never
// held by an INACTIVE job.
RC_GTEST_PROP(Lifecycle, ReplayOfTheAcceptedEventsRebuildsTheState, ()) {
  const auto bodies = *rc::gen::container<std::vector<EventBody>>(60, any_body());
  Lifecycle job;
  std::vector<Event> accepted;
  Time now = 1;
  for (const auto& body : bodies) {
    const Lifecycle before = job;
    auto next = apply(job, {now, body});
    if (!next) {
      RC_ASSERT(job == before);
      continue;
    }
    RC_ASSERT(next->state >= before.state || std::holds_alternative<event::Requeue>(body));
    RC_ASSERT(!(next->state == JobState::inactive && next->holds_resources));
    job = *next;
    accepted.push_back({now++, body});
  }
  Lifecycle replayed;
  for (const auto& e : accepted) {
    auto body = parse_event(name_of(e.body), context_of(e.body));
    RC_ASSERT(body.has_value());
    auto next = apply(replayed, {e.time, *body});
    RC_ASSERT(next.has_value());
    replayed = *next;
  }
  RC_ASSERT(replayed == job);
}

EventBody start_of_next(const Lifecycle& job) {
  for (const Part& part : job.parts)
    if (next_step(job, part.rank) == Step::start && job.started)
      return event::RankStart{{{1, 1}}, part.rank};
    else if (next_step(job, part.rank) == Step::start)
      return event::Start{{{1, 1}}, part.rank};
  return event::Finish{};
}

// From every reachable state, doing what next_step asks for ends in INACTIVE.
RC_GTEST_PROP(Lifecycle, FollowingTheStepsEndsEveryJob, ()) {
  const auto bodies = *rc::gen::container<std::vector<EventBody>>(20, any_body());
  Lifecycle job = *apply({}, {1, event::Submit{}});
  for (const auto& body : bodies)
    if (auto next = apply(job, {2, body})) job = *next;
  const auto answer = [&job](Step step) -> EventBody {
    switch (step) {
      case Step::validate:
        return event::Validate{};
      case Step::depend:
        return event::Depend{};
      case Step::priority:
        return event::Priority{};
      case Step::enqueue:
        return event::Alloc{"immediate", 0};
      case Step::start:
        return start_of_next(job);
      case Step::watch:
      case Step::kill:
        return event::Finish{};
      case Step::release:
        return event::Release{};
      default:
        return event::Clean{};
    }
  };
  for (int turns = 0; next_step(job) != Step::none; ++turns) {
    RC_ASSERT(turns < 15);
    auto next = apply(job, {3, answer(next_step(job))});
    RC_ASSERT(next.has_value());
    job = *next;
  }
  RC_ASSERT(job.state == JobState::inactive);
}

TEST(Event, RubbishIsAnErrorWithItsName) {
  EXPECT_FALSE(parse_event("submitt", "{}"));
  EXPECT_FALSE(parse_event("finish", "{}"));
  EXPECT_FALSE(parse_event("finish", "{\"status\":"));
  EXPECT_FALSE(parse_event("finish", R"({"status":"zero","cpu_ms":0,"max_rss_kb":0})"));
}

TEST(Event, LogLineHasSecondsNameAndContext) {
  EXPECT_EQ(eventlog_line({1500, event::Priority{7}}),
            "{\"timestamp\":1.500,\"name\":\"priority\",\"context\":{\"priority\":7}}\n");
}

// The files and tasks of a part have its number: it is no other's as grants come and go.
TEST(PartsOfGrants, KeepTheirNumbers) {
  Lifecycle child;
  for (const std::uint32_t rank : {3, 4, 1, 2}) child.parts.emplace_back().rank = rank;
  child.extra = {{7, 2, 0, 0, {1}}, {8, 2, 0, 0, {2}}};
  EXPECT_EQ(place_of(child, 3), 0U);
  EXPECT_EQ(place_of(child, 4), 1U);
  const auto first = place_of(child, 1), second = place_of(child, 2);
  EXPECT_GT(first, 1U);
  EXPECT_GT(second, 1U);
  EXPECT_NE(first, second);
  child.extra.erase(child.extra.begin());
  child.parts.erase(child.parts.begin() + 2);
  EXPECT_EQ(place_of(child, 4), 1U);
  EXPECT_EQ(place_of(child, 2), second);
}

TEST(PartsOfGrants, LeaveWhatTheyHaveUsed) {
  const event::GrantExtend extend{7, 2, 0, 0, {1}};
  const auto child =
      after(then(kToSched, {on_ranks({0}), event::Start{{{8, 1}}, 0}, extend,
                            event::RankStart{{{9, 1}}, 1}, event::GrantLeave{7},
                            event::RankFinish{1, "exit", {0, 250, 10}}, event::GrantReturn{7}}));
  EXPECT_EQ(child.parts.size(), 1U);
  EXPECT_EQ(child.gone_cpu_ms, 250);
}

}  // namespace
}  // namespace holon::instance
