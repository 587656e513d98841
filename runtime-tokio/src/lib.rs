//! tokio adapter
