// What each thread has of its own, for as long as it can call: static destructors and exit handlers call, too, and run
// behind those of the main thread's thread_local objects.
#pragma once
#include <pthread.h>

namespace tinygpu {

/// Each thread's own T. Gone with the thread, but not when a thread ends the process.
template <class T>
class OfThread {
 public:
  OfThread() {
    pthread_key_create(&key_, [](void* mine) { delete static_cast<T*>(mine); });
  }
  T& get() const {
    if (void* mine = pthread_getspecific(key_)) return *static_cast<T*>(mine);
    T* const mine = new T();
    pthread_setspecific(key_, mine);
    return *mine;
  }

 private:
  pthread_key_t key_;  // never deleted: a thread may outlive every static object
};

}  // namespace tinygpu
