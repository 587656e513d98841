//! The command `longrun`, built for the tests that drive it.

fn main() -> std::process::ExitCode {
    longrun_tokio::cli::main()
}
