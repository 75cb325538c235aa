// A reference to something that can be called, for the length of a call: std::function without an owner.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace tinygpu {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))), call_([](void* o, Arguments... a) {
          return (*static_cast<std::add_pointer_t<F>>(o))(std::forward<Arguments>(a)...);
        }) {}
  Result operator()(Arguments... a) const { return call_(object_, std::forward<Arguments>(a)...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace tinygpu
