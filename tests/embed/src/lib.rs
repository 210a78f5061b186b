//! Holds nothing: the examples of the engine are the code of this package, and that they build with so little is the test.
