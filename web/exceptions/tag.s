# The tag of C++ exceptions, by which the engine tells them from others.
.tagtype __cpp_exception i32
.globl __cpp_exception
__cpp_exception:
