# What of the debugger looks at a machine that has stopped: for its agent, and for the machine in a browser (web/).
set(GEN5_DEBUG_VIEWS cells.cpp fragments.cpp lines.cpp registers.cpp stops.cpp tiles.cpp variable_bytes.cpp views.cpp)
