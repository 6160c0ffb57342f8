#include "ckpt/pickle/value.h"

#include <array>
#include <cmath>

#include "support/catch.h"

namespace ckpt::pickle {

TEST_CASE("values: scalars come back as they went in", "[pickle]") {
  Values values;
  const Ref none = values.add_none();
  const Ref yes = values.add_boolean(true);
  const Ref no = values.add_boolean(false);
  const Ref least = values.add_integer(INT64_MIN);
  const Ref real = values.add_real(-0.5);
  CHECK(values.kind(none) == Kind::none);
  CHECK(values.boolean(yes));
  CHECK_FALSE(values.boolean(no));
  CHECK(values.integer(least) == INT64_MIN);
  CHECK(values.real(real) == -0.5);
  CHECK(values.size() == 5);
}

TEST_CASE("values: text is borrowed, owned text is kept when the arena moves", "[pickle]") {
  const std::string outside = "borrowed";
  Values first;
  const Ref borrowed = first.add_text(Kind::text, outside);
  const Ref owned = first.add_owned_text(Kind::string8, "short");
  CHECK(first.text(borrowed).data() == outside.data());
  const Values second = std::move(first);
  CHECK(second.text(borrowed) == "borrowed");
  CHECK(second.text(owned) == "short");
}

TEST_CASE("values: a container grows without losing order, another one in between", "[pickle]") {
  Values values;
  const Ref a = values.add_container(Kind::list);
  const Ref b = values.add_container(Kind::list);
  std::vector<Ref> expected;
  for (int i = 0; i < 1000; ++i) {
    const Ref item = values.add_integer(i);
    expected.push_back(item);
    values.append(a, {&item, 1});
    if (i % 7 == 0) values.append(b, {&item, 1});
  }
  const std::span<const Ref> items = values.items(a);
  CHECK(std::equal(items.begin(), items.end(), expected.begin(), expected.end()));
  CHECK(values.items(b).size() == 143);
}

TEST_CASE("values: a list may take its own items", "[pickle]") {
  Values values;
  const Ref list = values.add_container(Kind::list);
  const Ref item = values.add_none();
  values.append(list, {&item, 1});
  for (int i = 0; i < 5; ++i) values.append(list, values.items(list));
  CHECK(values.items(list).size() == 32);
  CHECK(values.items(list)[31] == item);
}

TEST_CASE("values: a call keeps arguments, items, pairs and states apart", "[pickle]") {
  Values values;
  const Ref callee = values.add_global("collections", "OrderedDict");
  const Ref arguments = values.add_tuple({});
  const Ref call = values.add_call(CallKind::reduce, callee, arguments);
  CHECK(values.items(call).empty());
  CHECK(values.pairs(call).empty());
  CHECK(values.states(call).empty());
  CHECK(values.keywords(call) == kNoRef);
  const std::array pair = {values.add_integer(1), values.add_integer(2)};
  values.set_pairs(call, pair);
  values.append(call, std::span(pair).first(1));
  values.add_state(call, pair[0]);
  values.add_state(call, pair[1]);
  CHECK(values.is_global(values.callee(call), "collections", "OrderedDict"));
  CHECK_FALSE(values.is_global(call, "collections", "OrderedDict"));
  CHECK(values.arguments(call) == arguments);
  CHECK(values.pairs(call).size() == 2);
  CHECK(values.items(call).size() == 1);
  CHECK(values.states(call)[1] == pair[1]);
  const Ref extended = values.add_call(CallKind::newobj_ex, callee, arguments, call);
  CHECK(values.keywords(extended) == call);
  CHECK(values.call_kind(extended) == CallKind::newobj_ex);
}

TEST_CASE("values: every kind of value can hold states", "[pickle]") {
  Values values;
  const Ref state = values.add_none();
  for (const Ref ref :
       {values.add_global("m", "C"), values.add_persistent(state), values.add_container(Kind::dict)}) {
    CHECK(values.states(ref).empty());
    values.add_state(ref, state);
    values.add_state(ref, state);
    CHECK(values.states(ref).size() == 2);
  }
}

TEST_CASE("values: depth counts containers, calls and persistent ids inside each other", "[pickle]") {
  Values values;
  const Ref number = values.add_integer(1);
  const Ref tuple = values.add_tuple({&number, 1});
  const Ref list = values.add_container(Kind::list);
  CHECK(values.depth(number) == 0);
  CHECK(values.depth(tuple) == 1);
  CHECK(values.depth(list) == 1);
  values.append(list, {&tuple, 1});
  CHECK(values.depth(list) == 2);
  CHECK(values.depth(values.add_call(CallKind::reduce, number, list)) == 3);
  CHECK(values.depth(values.add_persistent(list)) == 3);
  values.append(list, {&list, 1});
  CHECK(values.depth(list) == 2);
}

TEST_CASE("values: depth stops at 65,535", "[pickle]") {
  Values values;
  Ref inner = values.add_tuple({});
  for (int i = 0; i < 70'000; ++i) inner = values.add_tuple({&inner, 1});
  CHECK(values.depth(inner) == 65'535);
}

TEST_CASE("values: memory is counted by what is held", "[pickle]") {
  Values values;
  CHECK(values.memory() == 0);
  values.add_none();
  CHECK(values.memory() == 16);
  const Ref list = values.add_container(Kind::list);
  const std::vector<Ref> items(1000, 0);
  values.append(list, items);
  CHECK(values.memory() == 32 + 4 * 1024);
  values.add_owned_text(Kind::text, std::string(100'000, 'x'));
  CHECK(values.memory() > 104'000);
}

TEST_CASE("values: a million nodes keep their content", "[pickle]") {
  Values values;
  for (std::int64_t i = 0; i < 1'000'000; ++i) values.add_integer(i);
  bool all_equal = true;
  for (Ref ref = 0; ref < values.size(); ++ref)
    all_equal = all_equal && values.integer(ref) == std::int64_t{ref};
  CHECK(all_equal);
}

TEST_CASE("values: kinds have words and phrases", "[pickle]") {
  CHECK(kind_word(Kind::frozen_set) == "frozenset");
  CHECK(kind_phrase(Kind::integer) == "an int");
  CHECK(kind_phrase(Kind::list) == "a list");
  CHECK(kind_phrase(Kind::none) == "None");
  CHECK(kind_phrase(Kind::persistent) == "a persistent id");
}

}  // namespace ckpt::pickle
