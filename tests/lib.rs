//! Holds nothing: the contract's tests are the integration test `it`.
