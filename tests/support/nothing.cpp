// nothing.cpp - a program that does nothing: the precompiled headers of the tests belong to it, because they must be
// compiled as for a program, and CMake takes them from one.
int main() {}
