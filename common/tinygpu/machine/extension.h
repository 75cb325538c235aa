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

/// The extensions of one holder: at most one of each type. A handful, so that looking through them is quickest.
class Extensions {
 public:
  /// The holder's T, made from `arguments` on first use.
  template <class T, class... Arguments>
  T& get(Arguments&&... arguments) {
    if (T* known = find<T>()) return *known;
    owned_.push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
    made(typeid(T), owned_.back().get());
    return static_cast<T&>(*owned_.back());
  }
  /// The holder's T, or null if nobody has asked for one yet.
  template <class T>
  T* find() {
    T* state = nullptr;
    return known(state) ? state : static_cast<T*>(find_alias(typeid(T)));
  }
  /// The same, quicker, if somebody has asked with this very type before; false if not.
  template <class T>
  bool known(T*& state) const {
    const auto here = [&](const Known& k) {
      if (k.type != &typeid(T)) return false;
      state = static_cast<T*>(k.state);
      return true;
    };
    for (const Known& k : first_)
      if (here(k)) return true;
    for (const Known& k : more_)
      if (here(k)) return true;
    return false;
  }
  /// Calls `f` for each of them, in the order in which they were made.
  template <class F>
  void each(F&& f) {
    for (size_t i = 0; i < owned_.size(); ++i) f(*owned_[i]);
  }

 private:
  struct Known {
    const std::type_info* type = nullptr;
    Extension* state = nullptr;  // null: asked for, but there is none
  };
  /// isa/ is compiled for several processors with symbols of its own, type_info among them: a type may have more than
  /// one, which compare equal. Each is known by address once it has been met, whether there is a state or not.
  Extension* find_alias(const std::type_info& type);
  void made(const std::type_info& type, Extension* state);

  std::vector<std::unique_ptr<Extension>> owned_;
  Known first_[4];  // at hand: most holders have no more
  std::vector<Known> more_;
};

}  // namespace tinygpu
