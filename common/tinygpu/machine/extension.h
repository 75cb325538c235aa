// State that instruction families and engines keep with a warp, a CTA or an SM. Found by its type, owned by its holder.
#pragma once
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

namespace tinygpu {

class Cta;

/// Base of everything that is kept so.
class Extension {
 public:
  virtual ~Extension() = default;
  /// Of an SM's extensions: a CTA of the SM has exited.
  virtual void on_cta_exit(Cta&) {}
};

/// The extensions of one holder: at most one of each type. A holder has a handful, so a linear search is quickest.
class Extensions {
 public:
  /// The holder's T, made from `arguments` on first use.
  template <class T, class... Arguments>
  T& get(Arguments&&... arguments) {
    if (T* known = find<T>()) return *known;
    states_.push_back({&typeid(T), std::make_unique<T>(std::forward<Arguments>(arguments)...)});
    return static_cast<T&>(*states_.back().state);
  }
  /// The holder's T, or null if it has not been made.
  template <class T>
  T* find() const {
    for (const State& s : states_)
      if (s.type == &typeid(T)) return static_cast<T*>(s.state.get());
    return nullptr;
  }
  /// Calls `f` for each of them, in the order in which they were made.
  template <class F>
  void each(F&& f) {
    for (size_t i = 0; i < states_.size(); ++i) f(*states_[i].state);
  }

 private:
  struct State {
    const std::type_info* type;
    std::unique_ptr<Extension> state;
  };
  std::vector<State> states_;
};

}  // namespace tinygpu
