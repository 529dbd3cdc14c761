// The executor of the device tests: what src/cli does for its hidden command, and nothing else.
#include "device/cuda/executor.h"

int main() { return cutegen::run_executor(3); }
