// gen5_web: answers requests, one a line, as the module does: what a test compares it with.
#include <iostream>
#include <string>

#include "web/machine/request.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << tinygpu::web::answer(line) << std::endl;
}
